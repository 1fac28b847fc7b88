/** For `node --import`: from here on TypeORM counts as not installed. */
import { register } from 'node:module';

const hooks = `
export async function resolve(specifier, context, nextResolve) {
  if (!/^(@nestjs\\/)?typeorm(\\/|$)/.test(specifier)) return nextResolve(specifier, context);
  throw Object.assign(new Error("Cannot find package '" + specifier + "'"), { code: 'ERR_MODULE_NOT_FOUND' });
}`;

register(`data:text/javascript,${encodeURIComponent(hooks)}`);
