/** @param {readonly number[]} values */
export function median(values) {
  return percentile(values, 50);
}

/**
 * The value below which so many percent lie; between two values their weighted mean.
 *
 * @param {readonly number[]} values Not empty, in any order.
 * @param {number} percent 0 to 100.
 */
export function percentile(values, percent) {
  const sorted = values.toSorted((a, b) => a - b);
  const position = ((sorted.length - 1) * percent) / 100;
  const below = Math.floor(position);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (position - below);
}
