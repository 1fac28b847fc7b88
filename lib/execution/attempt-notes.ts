import { encodeProgress, type JobProgress } from '../model/job-progress.js';
import { encodeLogLine, longestLog, type JobLogLine } from '../model/log-lines.js';

/** What of the notes of an attempt is on its way to the store. */
export interface NotePart {
  /** As text for the row; absent where there is nothing new. */
  readonly progress?: string | undefined;
  /** Lines to be put at the end of the log. */
  readonly log?: string | undefined;
  /** The progress that listeners are to be told, once it is stored. */
  readonly told: JobProgress | undefined;
  /** Lines up to this place are in it. */
  readonly upTo: number;
}

interface PlacedLine {
  readonly place: number;
  readonly text: string;
}

/**
 * What a handler says of its attempt while it runs, until the store has it: the latest progress, and the last lines of its log. No more is
 * kept than the store would keep, so that a handler which logs in a tight loop costs no memory.
 */
export class AttemptNotes {
  private latest: JobProgress | undefined;
  private lines: PlacedLine[] = [];
  private characters = 0;
  private places = 0;

  progress(progress: JobProgress): void {
    this.latest = progress;
  }

  log(line: JobLogLine): void {
    const place = ++this.places;
    const text = encodeLogLine(line, place);
    this.lines.push({ place, text });
    this.characters += text.length;
    // Seldom, since each time costs a copy.
    if (this.characters > 2 * longestLog) this.shorten();
  }

  /** What the store does not have yet; `undefined` for nothing. It stays here until it is said to be stored. */
  pending(): NotePart | undefined {
    const { latest } = this;
    if (latest === undefined && this.lines.length === 0) return undefined;
    const log = this.lines.map(({ text }) => text).join('');
    return {
      progress: latest === undefined ? undefined : encodeProgress(latest),
      log: log === '' ? undefined : cut(log),
      told: latest,
      upTo: this.places,
    };
  }

  /** The store has this part. Says whether its progress is news. */
  stored({ told, upTo }: NotePart): boolean {
    this.lines = this.lines.filter(({ place }) => place > upTo);
    this.characters = this.lines.reduce((sum, { text }) => sum + text.length, 0);
    const isNews = told !== undefined && told === this.latest;
    if (isNews) this.latest = undefined;
    return isNews;
  }

  private shorten(): void {
    let rest = this.characters;
    const first = this.lines.findIndex(({ text }) => (rest -= text.length) <= longestLog);
    this.lines = this.lines.slice(first);
    this.characters = this.lines.reduce((sum, { text }) => sum + text.length, 0);
  }
}

/** As the store cuts it: by characters, so that half a line at the beginning tells that more was there. */
function cut(log: string): string {
  return log.length <= longestLog ? log : Array.from(log).slice(-longestLog).join('');
}
