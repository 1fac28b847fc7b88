import type { Handler, HandlerRegistry } from '../handlers/handler-registry.js';
import { show } from '../model/check.js';
import { extractContext } from '../model/context-carrier.js';
import { resolveSubmitOptions } from '../model/enqueue-options.js';
import { InvalidHandlerError, UnknownJobTypeError } from '../model/errors.js';
import { mergePolicies } from '../model/handler-policy.js';
import type { JobContext } from '../model/job-context.js';
import { checkJobType } from '../model/job-type.js';
import type { NewJob } from '../model/job.js';
import { encodePayload } from '../model/payload.js';
import type { ResolvedMemoryOptions } from '../model/queue-options.js';
import { jobOptions } from './job-options.js';
import { checkNow, refuseTransactional } from './memory-work.js';

/** A job of its own class or object: some work and a name for the log. */
export interface MemoryJob {
  /** Stands in log lines. Default `'job'`. */
  readonly name?: string;
  /** Does the work. An error, thrown or rejected, is retried. */
  run(job: JobContext): unknown;
}

interface GivenJob extends Pick<NewJob, 'type' | 'payload' | 'run'> {
  readonly request: {
    readonly options: unknown;
    readonly handler?: Handler | undefined;
    readonly payload?: unknown;
  };
}

export interface MemoryJobMakerParts {
  readonly options: ResolvedMemoryOptions;
  readonly handlers: HandlerRegistry;
  /** Before the start handlers may still be on their way; after it nobody else could run a job without one. */
  readonly isStarted: () => boolean;
}

/** Payloads stay in this process, so only nonsense is refused. */
export const largestPayload = 1_073_741_824;

/** Makes memory jobs of what callers of `submit` give. */
export class MemoryJobMaker {
  private submitted = 0;

  constructor(private readonly parts: MemoryJobMakerParts) {}

  /** An id for a job, or a batch. */
  newId(): string {
    return `memory-${++this.submitted}`;
  }

  /**
   * @param work A function, an object with a `run` method, or a job type.
   * @param rest The options; in front of them the payload, where there is one.
   * @throws UnknownJobTypeError | InvalidHandlerError | InvalidJobTypeError | InvalidPayloadError | InvalidOptionError
   */
  make(work: unknown, rest: readonly unknown[]): NewJob {
    return typeof work === 'string' ? this.typedJob(work, rest[0], rest[1]) : this.functionJob(work, rest[0]);
  }

  private typedJob(type: string, payload: unknown, options: unknown): NewJob {
    checkJobType(type);
    const { handlers, isStarted } = this.parts;
    const handler = handlers.get(type);
    if (handler === undefined && isStarted()) {
      const known = handlers.types().map((name) => `'${name}'`);
      throw new UnknownJobTypeError(
        `no handler is registered for job type '${type}'; known are ${known.join(', ') || 'none'}`,
      );
    }
    refuseTransactional(handler);
    const text = encodePayload(payload, largestPayload);
    checkNow(handler?.policy.schema, type, text);
    return this.newJob({ type, payload: text, run: undefined, request: { options, handler, payload } });
  }

  private functionJob(work: unknown, options: unknown): NewJob {
    if (typeof work === 'function') {
      const run = work as NewJob['run'];
      return this.newJob({ type: 'job', payload: '', run, request: { options } });
    }
    if (isMemoryJob(work)) {
      const type = work.name === undefined ? 'job' : checkJobType(work.name);
      return this.newJob({ type, payload: '', run: (context) => work.run(context), request: { options } });
    }
    const mend = work instanceof Promise ? ', whose work is under way: pass the function that makes it, () => …' : '';
    throw new InvalidHandlerError(
      `submit takes a function, an object with a run() method, or a job type with its payload, got ${show(work)}${mend}`,
    );
  }

  private newJob({ type, payload, run, request }: GivenJob): NewJob {
    const { options, handler, payload: given } = request;
    const { maxRetries, handlers, context } = this.parts.options;
    const carried = extractContext(context);
    const policy = mergePolicies(handler?.policy, handlers[type]);
    if (options === undefined && carried === undefined && Object.keys(policy).length === 0) {
      // A million may wait, and what nothing is said about takes room as well.
      return { id: this.newId(), type, payload, run, maxRetries };
    }
    const parts = { options: resolveSubmitOptions(options), handler, policy, payload: given, maxRetries };
    return { id: this.newId(), type, payload, run, context: carried, ...jobOptions(parts) };
  }
}

export function isMemoryJob(work: unknown): work is MemoryJob {
  return typeof work === 'object' && work !== null && 'run' in work && typeof work.run === 'function';
}
