/**
 * Lets Node run TypeScript files of this project without a build:
 *
 *     node --import ./scripts/typescript.mjs test/support/some-app.ts
 *
 * Node 20 strips no types by itself, and no version of it writes the decorator metadata that Nest's injection needs.
 */
import { register } from 'node:module';

register('./typescript-hooks.mjs', import.meta.url);
