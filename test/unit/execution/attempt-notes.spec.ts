import { AttemptNotes, type NotePart } from '../../../lib/execution/attempt-notes.js';
import { InvalidOptionError } from '../../../lib/model/errors.js';
import { checkProgress, decodeProgress, encodeProgress } from '../../../lib/model/job-progress.js';
import { checkLogLine, decodeLog, encodeLogLine, longestLog, mostLogLines } from '../../../lib/model/log-lines.js';

function partOf(notes: AttemptNotes): NotePart {
  const part = notes.pending();
  if (part === undefined) throw new Error('there is nothing pending');
  return part;
}

const line = (text: string) => ({ at: 1, attempt: 1, text });
const progress = (fraction: number) => ({ fraction, at: 1, attempt: 1 });

describe('progress', () => {
  it.each([-0.1, 1.1, Number.NaN, '0.5', undefined])('is no fraction: %p', (fraction) => {
    expect(() => checkProgress(fraction, undefined)).toThrow(InvalidOptionError);
  });

  it('cuts a long note and refuses what is none', () => {
    expect(checkProgress(1, 'x'.repeat(600)).note).toHaveLength(500);
    expect(() => checkProgress(1, 7)).toThrow('the note of job.progress must be a text, got 7');
  });

  it('is read as it was written, and anything else is nothing', () => {
    const said = { fraction: 0.5, note: 'half \0 \ud800', at: 12, attempt: 3 };
    expect(decodeProgress(encodeProgress(said))).toEqual(said);
    expect(['', '{', '{}', '[]', null, undefined].map(decodeProgress)).toEqual(Array(6).fill(undefined));
  });
});

describe('the log', () => {
  it('takes texts only and cuts long ones', () => {
    expect(() => checkLogLine(7)).toThrow('job.log takes a text, got 7');
    expect(checkLogLine('x'.repeat(2_000))).toHaveLength(1_000);
  });

  it('shows a line once that was stored twice, and two lines that are alike', () => {
    const stored = encodeLogLine(line('a'), 1) + encodeLogLine(line('a'), 1) + encodeLogLine(line('a'), 2);
    expect(decodeLog(stored)).toEqual({ lines: [line('a'), line('a')], isCut: false });
  });

  it('leaves out what was cut, and says so', () => {
    const whole = Array.from({ length: 450 }, (_, n) => encodeLogLine(line(`ü${n} ${'😀'.repeat(40)}`), n)).join('');
    const stored = Array.from(whole).slice(-longestLog).join('');

    const log = decodeLog(stored);

    expect(log?.isCut).toBe(true);
    expect(log?.lines.at(-1)?.text).toContain('ü449 ');
    expect(log?.lines.length).toBeLessThan(450);
  });

  it('shows so many lines at the most', () => {
    const log = decodeLog(Array.from({ length: 501 }, (_, n) => encodeLogLine(line('a'), n)).join(''));
    expect(log?.lines).toHaveLength(mostLogLines);
    expect(log?.isCut).toBe(true);
  });
});

describe('AttemptNotes', () => {
  it('hands out only the latest progress, until the store has it', () => {
    const notes = new AttemptNotes();
    notes.progress(progress(0.1));
    notes.progress(progress(0.2));

    const part = partOf(notes);

    expect(decodeProgress(part.progress)).toEqual(progress(0.2));
    expect(notes.pending()).toEqual(part);
    expect(notes.stored(part)).toBe(true);
    expect(notes.pending()).toBeUndefined();
  });

  it('keeps what came while a part was on its way', () => {
    const notes = new AttemptNotes();
    notes.progress(progress(0.1));
    notes.log(line('a'));
    const part = partOf(notes);
    notes.progress(progress(0.2));
    notes.log(line('b'));

    expect(notes.stored(part)).toBe(false);

    const rest = partOf(notes);
    expect(decodeProgress(rest.progress)).toEqual(progress(0.2));
    expect(decodeLog(rest.log)?.lines).toEqual([line('b')]);
  });

  it('never holds much more than the store would keep, and its part tells that lines are missing', () => {
    const notes = new AttemptNotes();
    for (let n = 0; n < 20_000; n += 1) notes.log(line(`line ${n} ${'x'.repeat(100)}`));

    const log = decodeLog(partOf(notes).log);

    expect(partOf(notes).log?.length).toBe(longestLog);
    expect(log?.isCut).toBe(true);
    expect(log?.lines.at(-1)?.text).toContain('line 19999 ');
  });
});
