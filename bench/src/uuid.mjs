import { pathToFileURL } from 'node:url';
import { libraryCopy } from './library-copy.mjs';

const { v7 } = await import(pathToFileURL(libraryCopy.resolve('uuid')).href);

/** Time-ordered keys, made as the library makes them. */
export const uuidv7 = v7;
