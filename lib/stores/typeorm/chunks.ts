import type { NewJob } from '../../model/job.js';

const mostJobs = 5_000;
const mostCharacters = 16_000_000;

/** How much one statement carries. A job larger than that travels alone. */
export interface ChunkLimits {
  readonly jobs: number;
  /** Characters of payload and context. */
  readonly characters: number;
}

/** Cuts what is to be inserted into as few statements as are good for a server. */
export function chunksOf(
  jobs: readonly NewJob[],
  limits: ChunkLimits = { jobs: mostJobs, characters: mostCharacters },
): readonly (readonly NewJob[])[] {
  const chunks: NewJob[][] = [];
  let chunk: NewJob[] = [];
  let characters = 0;
  for (const job of jobs) {
    characters += sizeOf(job);
    if (chunk.length > 0 && (chunk.length === limits.jobs || characters > limits.characters)) {
      chunks.push(chunk);
      chunk = [];
      characters = sizeOf(job);
    }
    chunk.push(job);
  }
  return chunk.length === 0 ? chunks : [...chunks, chunk];
}

function sizeOf({ payload, context }: NewJob): number {
  return payload.length + (context?.length ?? 0);
}
