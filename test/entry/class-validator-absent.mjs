/** For `node --import`: from here on class-validator counts as not installed. */
import { register } from 'node:module';

const hooks = `
export async function resolve(specifier, context, next) {
  if (specifier === 'class-validator') {
    throw Object.assign(new Error("Cannot find package 'class-validator'"), { code: 'ERR_MODULE_NOT_FOUND' });
  }
  return next(specifier, context);
}`;

register(`data:text/javascript,${encodeURIComponent(hooks)}`);
