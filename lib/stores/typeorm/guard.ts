/** Tells an object with these methods from anything else; how the store recognizes what drivers hand out. */
export function hasFunctions(value: unknown, names: readonly string[]): boolean {
  return (
    typeof value === 'object' && value !== null && names.every((name) => typeof Reflect.get(value, name) === 'function')
  );
}
