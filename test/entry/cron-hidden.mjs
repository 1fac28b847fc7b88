/** For `node --import`: from here on the cron library is there for @nestjs/schedule alone, as with pnpm. */
import { register } from 'node:module';

const hooks = `
export async function resolve(specifier, context, next) {
  if (specifier === 'cron' && !/node_modules.@nestjs/.test(context.parentURL)) {
    throw Object.assign(new Error("Cannot find package '" + specifier + "'"), { code: 'ERR_MODULE_NOT_FOUND' });
  }
  return next(specifier, context);
}`;

register(`data:text/javascript,${encodeURIComponent(hooks)}`);
