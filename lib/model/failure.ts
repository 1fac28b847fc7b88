import { types } from 'node:util';

/** Longest error text that is kept, in characters. */
const longestError = 4_000;
/** Longest stack that is logged, in characters. Its beginning is the message, its end are the lines that say where. */
const longestStack = 8_000;
const untold = 'an error that has no text';

/** The text of whatever a handler threw: bounded, and free of what some database refuses in text. Never throws. */
export function describeError(error: unknown): string {
  return textOf(error).replaceAll('\0', '').slice(0, longestError).toWellFormed();
}

/** The stack of whatever a handler threw, bounded, where it has one. Never throws: it may be anything, or throw when it is read. */
export function describeStack(error: unknown): string | undefined {
  try {
    const stack: unknown = error instanceof Error || types.isNativeError(error) ? error.stack : undefined;
    return typeof stack === 'string' ? cutMiddle(stack) : undefined;
  } catch {
    return undefined;
  }
}

function cutMiddle(stack: string): string {
  if (stack.length <= longestStack) return stack;
  const half = longestStack / 2;
  return `${stack.slice(0, half).toWellFormed()}\n…\n${stack.slice(-half).toWellFormed()}`;
}

function textOf(error: unknown): string {
  try {
    const text = types.isNativeError(error) || error instanceof Error ? messageOf(error) : plainTextOf(error);
    // Whoever throws an error may have put anything where its text belongs.
    return typeof text === 'string' ? text : untold;
  } catch {
    return untold;
  }
}

function messageOf({ message, name }: { readonly message: unknown; readonly name: unknown }): unknown {
  return message === '' || message === undefined ? name : plainTextOf(message);
}

function plainTextOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null ? JSON.stringify(error) : String(error);
}
