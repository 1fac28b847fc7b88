import type { HandlerRegistry } from '../handlers/handler-registry.js';
import { extractContext } from '../model/context-carrier.js';
import type { NewJob } from '../model/job.js';
import { decodePayload } from '../model/payload.js';
import type { ResolvedPersistentOptions } from '../model/queue-options.js';
import { JobIds } from './job-ids.js';
import { persistentJob } from './job-options.js';
import { placed } from './job-request.js';

/** Makes persistent jobs of what callers of `enqueue` give. */
export class JobMaker {
  private readonly ids = new JobIds();

  constructor(
    private readonly options: ResolvedPersistentOptions,
    private readonly handlers: HandlerRegistry,
  ) {}

  /** An id for a batch: of the same kind as those of jobs. */
  newId(): string {
    return this.ids.next();
  }

  /** @throws InvalidJobTypeError | InvalidPayloadError | PayloadTooLargeError | InvalidOptionError; whatever a context carrier throws. */
  make(type: string, payload: unknown, options: unknown): NewJob {
    const job = persistentJob({ id: this.ids.next(), type, payload, given: options }, this.handlers, this.options);
    const context = extractContext(this.options.context);
    return context === undefined ? job : { ...job, context };
  }

  /**
   * Refuses a job whose payload does not fit the schema of its handler, where that is known here. Returns undefined where there is
   * nothing to wait for.
   *
   * @throws InvalidPayloadError, at once or by the promise; whatever a schema throws.
   */
  check(job: NewJob): Promise<unknown> | undefined {
    const schema = this.handlers.get(job.type)?.policy.schema;
    const fitting = schema?.check(decodePayload(job.payload), job.type);
    return fitting instanceof Promise ? fitting : undefined;
  }

  /** The same for many; the error says which one it is. */
  async checkEach(jobs: readonly (readonly [place: string, job: NewJob])[]): Promise<void> {
    for (const [place, job] of jobs) {
      try {
        await this.check(job);
      } catch (error) {
        throw placed(place, error);
      }
    }
  }
}
