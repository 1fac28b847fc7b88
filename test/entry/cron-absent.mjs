/** For `node --import`: from here on @nestjs/schedule and its cron library count as not installed. */
import Module, { register } from 'node:module';

const hooks = `
export async function resolve(specifier, context, next) {
  if (/^(cron|@nestjs\\/schedule)$/.test(specifier)) {
    throw Object.assign(new Error("Cannot find package '" + specifier + "'"), { code: 'ERR_MODULE_NOT_FOUND' });
  }
  return next(specifier, context);
}`;

register(`data:text/javascript,${encodeURIComponent(hooks)}`);

// The hooks above do not see what is required.
const find = '_resolveFilename';
const { [find]: real } = Module;
Module[find] = (name, ...rest) => {
  if (/^(cron|@nestjs\/schedule)$/.test(name)) throw new Error(`Cannot find module '${name}'`);
  return real(name, ...rest);
};
