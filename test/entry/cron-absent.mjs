/** For `node --import`: from here on @nestjs/schedule and its cron library count as not installed. */
import { register } from 'node:module';

const hooks = `
export async function resolve(specifier, context, next) {
  if (/^(cron|@nestjs\\/schedule)$/.test(specifier)) {
    throw Object.assign(new Error("Cannot find package '" + specifier + "'"), { code: 'ERR_MODULE_NOT_FOUND' });
  }
  return next(specifier, context);
}`;

register(`data:text/javascript,${encodeURIComponent(hooks)}`);
