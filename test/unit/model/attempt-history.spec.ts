import fc from 'fast-check';
import { decodeHistory, encodeAttempt, lineStart, longestHistory } from '../../../lib/model/attempt-history.js';

const lineAt = (moment: number, ...args: Parameters<typeof encodeAttempt>): string =>
  lineStart + String(moment) + encodeAttempt(...args);

describe('the history of a job', () => {
  it('is read as it was written', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.nat(10_000), fc.nat(), (error, attempt, ms) => {
        const text = lineAt(1_764_000_000_000, { attempt, durationMs: ms, outcome: 'retried', error });

        expect(decodeHistory(text)).toEqual([
          { attempt, durationMs: ms, outcome: 'retried', endedAt: 1_764_000_000_000, error },
        ]);
      }),
    );
  });

  it('is bounded in each line, so that at least 25 of them fit', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 300, maxLength: 5_000 }), (error) => {
        const text = lineAt(8_640_000_000_000_000, { attempt: 10_000, durationMs: 3e12, outcome: 'retried', error });

        expect(text.length * 25).toBeLessThanOrEqual(longestHistory);
        expect(decodeHistory(text)).toHaveLength(1);
      }),
    );
  });

  it('rounds durations, and takes none for less than nothing', () => {
    const text = [1.6, -3].map((durationMs) => lineAt(1, { attempt: 1, durationMs, outcome: 'snoozed' })).join('');

    expect(decodeHistory(text).map(({ durationMs }) => durationMs)).toEqual([2, 0]);
  });

  it.each([null, undefined, '', '\n\n', 'nonsense', '{"at":1}', '{"at":"1","n":1,"end":"x"}', '{"at":1,"n":1,', '[]'])(
    'leaves out what it cannot read: %p',
    (text) => {
      expect(decodeHistory(text)).toEqual([]);
    },
  );

  it('leaves out the line that was cut, and nothing else', () => {
    const text = [1, 2, 3].map((attempt) => lineAt(5, { attempt, outcome: 'retried', error: 'boom' })).join('');

    for (let cut = 1; cut < text.length / 3; cut += 1) {
      expect(decodeHistory(text.slice(cut)).map(({ attempt }) => attempt)).toEqual([2, 3]);
    }
  });
});
