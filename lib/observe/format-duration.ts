/** A duration as people write it: `500ms`, `1s`, `1.5s`, `2m 5s`, `1h 10m`. */
export function formatDuration(ms: number): string {
  const whole = Math.round(ms);
  if (whole < 1_000) return `${whole}ms`;
  if (whole < 60_000) return `${Number((whole / 1_000).toFixed(3))}s`;
  const seconds = Math.round(whole / 1_000);
  const [hours, minutes, rest] = [Math.floor(seconds / 3_600), Math.floor((seconds % 3_600) / 60), seconds % 60];
  return hours > 0 ? join([`${hours}h`, minutes, 'm']) : join([`${minutes}m`, rest, 's']);
}

function join([first, amount, unit]: readonly [string, number, string]): string {
  return amount === 0 ? first : `${first} ${amount}${unit}`;
}
