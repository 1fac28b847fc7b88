import type { Handler, HandlerRegistry } from '../handlers/handler-registry.js';
import { mergePolicies, type HandlerPolicy } from '../model/handler-policy.js';
import { decideUniqueness } from '../model/duplicates.js';
import { resolveEnqueueOptions, type ResolvedEnqueueOptions } from '../model/enqueue-options.js';
import { InvalidOptionError } from '../model/errors.js';
import { checkJobType } from '../model/job-type.js';
import type { NewJob } from '../model/job.js';
import { encodePayload } from '../model/payload.js';
import type { ResolvedPersistentOptions } from '../model/queue-options.js';
import { checkKey } from '../model/unique-key.js';

/** What a queue knows of a job when it is asked to take it. */
export interface JobRequestParts {
  readonly options: ResolvedEnqueueOptions;
  /** The handler of its type, where this process knows it. */
  readonly handler: Handler | undefined;
  readonly payload: unknown;
  /** What its handler and the queue's option `handlers` say. */
  readonly policy: HandlerPolicy;
  /** Retries of jobs about which neither their options nor their handlers say anything. */
  readonly maxRetries: number;
}

/** A job as `enqueue` is given it. */
export interface GivenJob {
  readonly id: string;
  readonly type: string;
  readonly payload: unknown;
  /** Its options. */
  readonly given: unknown;
}

/** Checks a job for the persistent queue. @throws InvalidJobTypeError | InvalidOptionError | InvalidPayloadError | PayloadTooLargeError */
export function persistentJob(
  { id, type, payload, given }: GivenJob,
  handlers: HandlerRegistry,
  {
    maxPayloadSize,
    maxRetries,
    handlers: policies,
  }: Pick<ResolvedPersistentOptions, 'maxPayloadSize' | 'maxRetries' | 'handlers'>,
): NewJob {
  checkJobType(type);
  const options = resolveEnqueueOptions(given);
  const text = encodePayload(payload, maxPayloadSize);
  const handler = handlers.get(type);
  const policy = mergePolicies(handler?.policy, policies[type]);
  const job = jobOptions({ options, handler, policy, payload, maxRetries });
  // Among jobs with keys one without would be hard to find; with one that nobody else has it waits for nobody.
  const key = job.key ?? (policy.key === undefined ? undefined : id);
  return { id, type, payload: text, ...job, key };
}

/** What the options of a job and those of its handler make of it. @throws InvalidOptionError */
export function jobOptions({
  options,
  handler,
  policy,
  payload,
  maxRetries,
}: JobRequestParts): Omit<NewJob, 'id' | 'type' | 'payload'> {
  const { delayMs, runAt, timeoutMs, expiresInMs, expiresAt, tags } = options;
  const makeUnique = policy.uniqueKey;
  const handlersKey =
    handler === undefined || makeUnique === undefined
      ? undefined
      : () => keyOf(`uniqueKey of ${handler.source}`, makeUnique, payload);
  const makeKey = policy.key;
  const own = handler === undefined ? 'the option handlers' : handler.source;
  const key =
    options.key === undefined && makeKey !== undefined ? keyOf(`key of ${own}`, makeKey, payload) : options.key;
  return {
    maxRetries: options.maxRetries ?? policy.maxRetries ?? maxRetries,
    priority: options.priority ?? policy.priority,
    queue: options.queue ?? policy.queue,
    timeoutMs,
    delayMs,
    runAt,
    expiresInMs,
    expiresAt,
    tags: tags?.length === 0 ? undefined : tags,
    key: key ?? undefined,
    ...decideUniqueness(options, handlersKey),
  };
}

function keyOf(what: string, makeKey: (payload: unknown) => unknown, payload: unknown): string | undefined {
  let key: unknown;
  try {
    key = makeKey(payload);
  } catch (error) {
    throw new InvalidOptionError(`the ${what} threw, so that the job was not stored`, { cause: error });
  }
  return key === undefined ? undefined : checkKey(`what the ${what} returns`, key);
}
