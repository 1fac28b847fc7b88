import { startTimer } from '../model/timer.js';

/** Lets others wait for a condition without polling: whoever changes something calls `notify`. */
export class Watch {
  private readonly checks = new Set<() => void>();

  notify(): void {
    for (const check of this.checks) check();
  }

  /** Resolves when `isTrue`, looked at now and at each `notify`, or when `ms` are over. */
  until(isTrue: () => boolean, ms = Infinity): Promise<void> {
    if (isTrue()) return Promise.resolve();
    return new Promise((resolve) => {
      const check = (): void => (isTrue() ? end() : undefined);
      const stopTimer = Number.isFinite(ms) ? startTimer(ms, () => end()) : undefined;
      const end = (): void => {
        stopTimer?.();
        this.checks.delete(check);
        resolve();
      };
      this.checks.add(check);
    });
  }
}
