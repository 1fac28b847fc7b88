import { types } from 'node:util';

/** Longest error text that is kept, in characters. */
const longestError = 4_000;
const untold = 'an error that has no text';

/** The text of whatever a handler threw: bounded, and free of what some database refuses in text. Never throws. */
export function describeError(error: unknown): string {
  return textOf(error).replaceAll('\0', '').slice(0, longestError).toWellFormed();
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
