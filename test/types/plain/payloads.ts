/** Checked by the compiler, never run: an application that declares no payload types. */
import { Injectable } from '@nestjs/common';
import {
  JobHandler,
  OnJobEvent,
  type JobContext,
  type JobEvent,
  type JobQueue,
  type JobRequest,
  type PersistentJobQueue,
} from 'nestjs-jobs';

import * as v from 'valibot';
import { z } from 'zod';

interface WelcomeEmail {
  readonly to: string;
}

class Dto {
  to!: string;
}

declare const memory: JobQueue;
declare const persistent: PersistentJobQueue;
declare const email: WelcomeEmail;
declare const type: string;
declare const requests: readonly JobRequest[];

export const accepted = [
  persistent.enqueue('send_welcome_email'),
  persistent.enqueue('send_welcome_email', email),
  persistent.enqueue('send_welcome_email', 'ada@example.org', { delay: 10, maxRetries: 1 }),
  persistent.enqueue('send_welcome_email', undefined, { delay: 10 }),
  persistent.enqueue(type, email),
  persistent.enqueueWithRetries('send_welcome_email', email, 2),
  persistent.enqueueMany([{ type: 'send_welcome_email', payload: email, delay: 10 }, { type: 'sweep' }]),
  persistent.enqueueMany(requests),
  persistent.register('send_welcome_email', (payload: WelcomeEmail) => payload.to),
  persistent.register('send_welcome_email', (payload, job) => [payload, job.attempt]),
  memory.submit('send_welcome_email', email),
  memory.submit(() => 1),
  memory.submit(async (job) => job.signal.aborted),
  memory.submit({ name: 'sweep', run: (job) => job.id }),
  memory.submit('sweep'),
];

export const refused = [
  // @ts-expect-error -- a job type is a text
  persistent.enqueue(1),
  // @ts-expect-error -- there is no such option
  persistent.enqueue('sweep', undefined, { dely: 10 }),
  // @ts-expect-error -- a memory job cannot join a transaction
  memory.submit('sweep', undefined, { manager: {} }),
  // @ts-expect-error -- a job object has a run method
  memory.submit({ name: 'sweep' }),
  // @ts-expect-error -- a handler is a function
  persistent.register('sweep', 'sweep'),
];

@Injectable()
export class Handlers {
  @JobHandler('without_parameters')
  withoutParameters(): void {}

  @JobHandler('typed', { maxRetries: 1, backoff: { initial: 10 }, timeout: 10, instance: 'reports' })
  async typed(payload: WelcomeEmail, job: JobContext): Promise<void> {
    await Promise.resolve([payload.to, job.id]);
  }

  @JobHandler('static')
  static ofClass(payload: string): string {
    return payload;
  }

  @JobHandler('private')
  @JobHandler('also_private')
  private hidden(payload: unknown): unknown {
    return payload;
  }

  @JobHandler('schema', { schema: z.object({ at: z.coerce.date() }), maxRetries: 1 })
  withZod({ at }: { readonly at: Date }): number {
    return at.getTime();
  }

  @JobHandler('schema', { schema: v.object({ to: v.string() }) })
  withValibot({ to }: WelcomeEmail): string {
    return to;
  }

  @JobHandler('schema', { schema: Dto })
  withClass({ to }: Dto): string {
    return to;
  }

  @JobHandler('schema', { schema: z.string() })
  withoutPayload(): void {}

  // @ts-expect-error -- the schema makes something else
  @JobHandler('schema', { schema: z.object({ at: z.coerce.date() }) })
  withInput({ at }: { readonly at: string }): string {
    return at;
  }

  // @ts-expect-error -- the class is another one
  @JobHandler('schema', { schema: Dto })
  withOther({ cc }: { readonly cc: string }): string {
    return cc;
  }

  // @ts-expect-error -- this is no schema
  @JobHandler('schema', { schema: { type: 'string' } })
  withJsonSchema(): void {}

  // @ts-expect-error -- there is no such option
  @JobHandler('schema', { schema: Dto, retries: 1 })
  withTypo(): void {}

  @OnJobEvent('failed', { type: 'typed' })
  onFailed({ job, error }: JobEvent<'failed'>): string {
    return job.id + error;
  }

  @OnJobEvent('completed')
  @OnJobEvent('failed')
  onEnd({ kind, durationMs }: JobEvent<'completed' | 'failed'>): string {
    return kind + durationMs;
  }

  // @ts-expect-error -- there is no such event
  @OnJobEvent('faild')
  onTypo(): void {}

  // @ts-expect-error -- the event carries something else
  @OnJobEvent('dropped')
  onOther({ job }: JobEvent<'failed'>): string {
    return job.id;
  }

  // @ts-expect-error -- there is no such option
  @JobHandler('option', { retries: 1 })
  option(): void {}

  // @ts-expect-error -- a field is no method
  @JobHandler('field')
  field = 1;

  // @ts-expect-error -- what a handler receives second is its context
  @JobHandler('second')
  second(_payload: unknown, job: number): number {
    return job;
  }
}
