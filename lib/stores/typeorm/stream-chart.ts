import type { Stream } from './streams.js';

/** With more places to ask from, one look over all streams at once is the cheaper one. */
const mostMarks = 64;
/** After so many rounds without an end there are more new streams than steps are good for. */
const mostRounds = 3;

/** The next stream behind a mark, in the order of the index; undefined where there is none. */
export type Steps = ReadonlyMap<Stream, Stream | undefined>;

/** How a database answers, one trip each. */
export interface StreamLooks {
  /** The next stream of the type behind each of these, of which some may not exist. */
  readonly stepFrom: (marks: readonly Stream[]) => Promise<Steps>;
  /** All streams of these types, whatever that costs. */
  readonly lookAtAll: (types: readonly string[]) => Promise<readonly Stream[]>;
}

/**
 * Remembers which streams there are, and asks only whether that is still so: for the next one behind each. Each answer is one step in the
 * index, whatever the database thinks of its size; a look at all at once is that only where its statistics are right, and those of a table
 * that has just been filled are not.
 */
export class StreamChart {
  private readonly known = new Map<string, readonly Stream[]>();

  /** @returns All streams of these types that have pending jobs. */
  async streams(types: readonly string[], looks: StreamLooks): Promise<readonly Stream[]> {
    const found = (await this.walk(types, looks)) ?? (await looks.lookAtAll(types));
    for (const type of types) this.known.delete(type);
    for (const stream of found) this.known.set(stream.type, [...(this.known.get(stream.type) ?? []), stream]);
    for (const type of types) if (!this.known.has(type)) this.known.set(type, []);
    return found;
  }

  private async walk(types: readonly string[], { stepFrom }: StreamLooks): Promise<readonly Stream[] | undefined> {
    const steps = new Map<string, Stream | undefined>();
    let marks = this.marks(types);
    for (let round = 0; marks !== undefined && round < mostRounds; round += 1) {
      for (const [mark, next] of await stepFrom(marks)) steps.set(keyOf(mark), next);
      const { streams, ends } = follow(types, steps);
      if (ends.length === 0) return streams;
      marks = ends;
    }
    return undefined;
  }

  private marks(types: readonly string[]): readonly Stream[] | undefined {
    const marks: Stream[] = [];
    for (const type of types) {
      const known = this.known.get(type) ?? [];
      if (marks.length + known.length >= mostMarks) return undefined;
      marks.push(beginningOf(type), ...known);
    }
    return marks;
  }
}

/** Stands before all streams of a type: no queue has a name like that. */
function beginningOf(type: string): Stream {
  return { type, queue: '', priority: 0 };
}

/** From the beginning of each type from one stream to the next; `ends` are those from which nobody has asked yet. */
function follow(
  types: readonly string[],
  steps: ReadonlyMap<string, Stream | undefined>,
): { readonly streams: readonly Stream[]; readonly ends: readonly Stream[] } {
  const streams: Stream[] = [];
  const ends: Stream[] = [];
  for (const type of types) {
    let place: Stream | undefined = beginningOf(type);
    while (place !== undefined && steps.has(keyOf(place))) {
      place = steps.get(keyOf(place));
      if (place !== undefined) streams.push(place);
    }
    if (place !== undefined) ends.push(place);
  }
  return { streams, ends };
}

function keyOf({ type, queue, priority }: Stream): string {
  return `${priority} ${queue.length} ${queue} ${type}`;
}
