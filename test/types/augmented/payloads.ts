/** Checked by the compiler, never run: an application that declares the payloads of its job types. */
import { Injectable } from '@nestjs/common';
import {
  JobHandler,
  JobSchedule,
  type ChainStep,
  type JobContext,
  type JobQueue,
  type JobType,
  type PersistentJobQueue,
} from 'nestjs-jobs';

import type { EntityManager } from 'typeorm';
import { z } from 'zod';

interface WelcomeEmail {
  readonly to: string;
}

declare module 'nestjs-jobs' {
  interface JobPayloads {
    send_welcome_email: WelcomeEmail;
    sweep: undefined;
    report: { readonly month?: number } | undefined;
  }
}

declare const memory: JobQueue;
declare const persistent: PersistentJobQueue;
declare const email: WelcomeEmail;
declare const type: string;
const counted = z.object({ size: z.string().transform(Number) });
const numbered = z.object({ to: z.number() });

export const accepted = [
  persistent.enqueue('send_welcome_email', email),
  persistent.enqueue('send_welcome_email', { to: 'ada@example.org' }, { delay: 10 }),
  persistent.enqueue('sweep'),
  persistent.enqueue('sweep', undefined, { delay: 10 }),
  persistent.enqueue('report'),
  persistent.enqueue('report', { month: 1 }),
  persistent.enqueue('undeclared', { anything: true }),
  persistent.enqueue('undeclared'),
  persistent.enqueue(type, email),
  persistent.enqueueWithRetries('send_welcome_email', email, 2),
  persistent.enqueueMany([
    { type: 'send_welcome_email', payload: email },
    { type: 'sweep' },
    { type: 'undeclared', payload: 1 },
  ]),
  persistent.enqueueMany([email].map((payload) => ({ type: 'send_welcome_email' as const, payload }))),
  persistent.register('send_welcome_email', ({ to }) => to.length),
  persistent.register('send_welcome_email', (payload: object) => payload),
  persistent.register('undeclared', (payload: { anything: boolean }) => payload.anything),
  memory.register('send_welcome_email', ({ to }) => to.length),
  memory.submit('send_welcome_email', email),
  persistent.register('send_welcome_email', ({ to }) => to.length, { schema: z.object({ to: z.string() }) }),
  persistent.register('counted', ({ size }) => size.toFixed(), {
    schema: z.object({ size: z.string().transform(Number) }),
    transactional: true,
  }),
  memory.register('counted', ({ size }: { size: number }) => size, {
    schema: z.object({ size: z.string().transform(Number) }),
  }),
  persistent.register('managed', (_payload: unknown, job: JobContext<EntityManager>) => job.manager.query('SELECT 1')),
  persistent.register('managed', (_payload, job: JobContext<EntityManager>) =>
    job.once('step', async (manager) => manager.queryRunner === undefined),
  ),
];

export const refused = [
  // @ts-expect-error -- the payload of this type must be given
  persistent.enqueue('send_welcome_email'),
  // @ts-expect-error -- the payload has another type
  persistent.enqueue('send_welcome_email', 'ada@example.org'),
  // @ts-expect-error -- the payload has another type
  persistent.enqueue('send_welcome_email', { to: 1 }),
  // @ts-expect-error -- the payload has a field too many
  persistent.enqueue('send_welcome_email', { to: 'ada@example.org', cc: 'bob@example.org' }),
  // @ts-expect-error -- this type carries nothing
  persistent.enqueue('sweep', 1),
  // @ts-expect-error -- the payload has another type
  persistent.enqueueWithRetries('send_welcome_email', {}, 2),
  // @ts-expect-error -- the payload has another type
  persistent.enqueueMany([{ type: 'sweep' }, { type: 'send_welcome_email', payload: { to: 1 } }]),
  // @ts-expect-error -- the payload of this type must be given
  persistent.enqueueMany([{ type: 'send_welcome_email' }]),
  // @ts-expect-error -- the handler takes something else
  persistent.register('send_welcome_email', (payload: string) => payload),
  // @ts-expect-error -- the handler wants more than the payload has
  persistent.register('send_welcome_email', (payload: WelcomeEmail & { cc: string }) => payload.cc),
  // @ts-expect-error -- the schema makes a number of it
  persistent.register('counted', (payload: { size: string }) => payload, { schema: counted }),
  // @ts-expect-error -- the schema does not take the payload of this type
  persistent.register('send_welcome_email', (payload: { to: number }) => payload, { schema: numbered }),
  // @ts-expect-error -- the payload of this type must be given
  memory.submit('send_welcome_email'),
  // @ts-expect-error -- the payload has another type
  memory.submit('send_welcome_email', 1),
];

const chained: readonly ChainStep[] = [{ type }, [{ type, payload: 1 }]];
const rejected = (): Promise<WelcomeEmail> => Promise.resolve(email);

export const acceptedInBatches = [
  persistent.enqueueBatch([{ type: 'send_welcome_email', payload: email }, { type: 'sweep' }], {
    onComplete: { type: 'send_welcome_email', payload: email },
    onFailure: { type: 'undeclared', payload: 1, delay: 10 },
  }),
  persistent.enqueueBatch([], { onComplete: { type: 'report' } }),
  persistent.enqueueChain([
    { type: 'send_welcome_email', payload: email },
    [{ type: 'sweep' }, { type: 'send_welcome_email', payload: email }],
    [{ type: 'undeclared', payload: 1, tags: ['a'] }],
  ]),
  persistent.enqueueChain(chained, { onComplete: { type: 'send_welcome_email', payload: email } }),
  persistent.enqueueChain([...[1, 2].map((payload) => ({ type: 'undeclared', payload })), [{ type: 'sweep' }]]),
  memory.submitBatch([
    () => 1,
    (job) => job.id,
    { type: 'send_welcome_email', payload: email },
    { name: 'x', run: () => 1 },
  ]),
  memory.submitBatch([{ type: 'sweep' }], { onComplete: (job) => job.batch, onFailure: { type: 'sweep' } }),
  memory.submitChain([() => 1, [(job) => job.id, { type: 'send_welcome_email', payload: email }], { type: 'sweep' }]),
];

export const refusedInBatches = [
  // @ts-expect-error -- the payload has another type
  persistent.enqueueChain([{ type: 'send_welcome_email', payload: { to: 1 } }]),
  // @ts-expect-error -- the payload of this type must be given
  persistent.enqueueChain([{ type: 'send_welcome_email' }]),
  // @ts-expect-error -- the payload has another type
  persistent.enqueueChain([{ type: 'sweep' }, [{ type: 'send_welcome_email', payload: { to: 1 } }]]),
  // @ts-expect-error -- the payload of this type must be given
  persistent.enqueueChain([[{ type: 'sweep' }, { type: 'send_welcome_email' }]]),
  // @ts-expect-error -- there is no such option
  persistent.enqueueChain([{ type: 'sweep', dely: 10 }]),
  // @ts-expect-error -- a step is a job
  persistent.enqueueChain(['sweep']),
  // @ts-expect-error -- the payload has another type
  persistent.enqueueChain([], { onComplete: { type: 'send_welcome_email', payload: { to: 1 } } }),
  // @ts-expect-error -- the payload of this type must be given
  persistent.enqueueChain([], { onFailure: { type: 'send_welcome_email' } }),
  // @ts-expect-error -- the payload has another type
  persistent.enqueueBatch([], { onComplete: { type: 'send_welcome_email', payload: { to: 1 } } }),
  // @ts-expect-error -- the payload of this type must be given
  persistent.enqueueBatch([], { onFailure: { type: 'send_welcome_email' } }),
  // @ts-expect-error -- there is no such option
  persistent.enqueueBatch([], { onFailure: { type: 'sweep', dely: 10 } }),
  // @ts-expect-error -- the payload has another type
  memory.submitBatch([() => 1, { type: 'send_welcome_email', payload: { to: 1 } }]),
  // @ts-expect-error -- the payload of this type must be given
  memory.submitBatch([{ type: 'send_welcome_email' }]),
  // @ts-expect-error -- the payload has another type
  memory.submitBatch([() => 1], { onComplete: { type: 'send_welcome_email', payload: 1 } }),
  // @ts-expect-error -- the payload has another type
  memory.submitChain([() => 1, { type: 'send_welcome_email', payload: 1 }]),
  // @ts-expect-error -- the payload has another type
  memory.submitChain([[() => 1, { type: 'send_welcome_email', payload: 1 }]]),
  // @ts-expect-error -- a job in memory joins no transaction
  memory.submitBatch([{ type: 'sweep', manager: undefined }]),
];

const cron = '0 7 * * *';

export const acceptedSchedules = [
  persistent.schedules.set('a', { type: 'send_welcome_email', cron, payload: email }),
  persistent.schedules.set('b', { type: 'sweep', cron, timeZone: 'Europe/Berlin' }),
  persistent.schedules.set('c', { type: 'report', cron }),
  persistent.schedules.set('d', { type: 'undeclared', cron, payload: 1 }),
  persistent.schedules.set('e', { type, cron, payload: { a: 1 } }),
  persistent.schedules.declare('a', { type: 'send_welcome_email', cron, payload: email }),
  persistent.schedules.declare('a', {
    type: 'send_welcome_email',
    cron,
    payload: (slot) => ({ to: slot.toISOString() }),
  }),
  persistent.schedules.declare('b', { type: 'report', cron, payload: (slot) => ({ month: slot.getMonth() }) }),
  persistent.schedules.declare('d', { type: 'undeclared', cron, payload: (slot) => [slot.getTime()] }),
  persistent.schedules.declare('d', { type: 'undeclared', cron, payload: () => undefined }),
];

export const refusedSchedules = [
  // @ts-expect-error -- the payload has another type
  persistent.schedules.set('a', { type: 'send_welcome_email', cron, payload: { to: 1 } }),
  // @ts-expect-error -- the payload of this type must be given
  persistent.schedules.set('a', { type: 'send_welcome_email', cron }),
  // @ts-expect-error -- this type carries nothing
  persistent.schedules.set('b', { type: 'sweep', cron, payload: 1 }),
  // @ts-expect-error -- a function cannot be stored
  persistent.schedules.set('d', { type: 'undeclared', cron, payload: (slot: Date) => slot.getTime() }),
  // @ts-expect-error -- there is no such option
  persistent.schedules.set('b', { type: 'sweep', cron, timezone: 'Europe/Berlin' }),
  // @ts-expect-error -- the payload has another type
  persistent.schedules.declare('a', { type: 'send_welcome_email', cron, payload: { to: 1 } }),
  // @ts-expect-error -- the payload of this type must be given
  persistent.schedules.declare('a', { type: 'send_welcome_email', cron }),
  // @ts-expect-error -- the function makes something else
  persistent.schedules.declare('a', { type: 'send_welcome_email', cron, payload: () => ({ to: 1 }) }),
  // @ts-expect-error -- a promise is no payload
  persistent.schedules.declare('a', { type: 'send_welcome_email', cron, payload: rejected }),
  // @ts-expect-error -- a promise is no payload
  persistent.schedules.declare('d', { type: 'undeclared', cron, payload: async () => 1 }),
];

/** Editors complete the declared types; any other text stays a job type. */
export const types: readonly JobType[] = ['send_welcome_email', 'sweep', 'undeclared'];

@Injectable()
export class Handlers {
  @JobHandler('send_welcome_email')
  async exact(payload: WelcomeEmail, job: JobContext): Promise<void> {
    await Promise.resolve([payload.to, job.id]);
  }

  @JobHandler('send_welcome_email')
  general(payload: { readonly to?: string }): unknown {
    return payload.to;
  }

  @JobHandler('send_welcome_email')
  withoutParameters(): void {}

  @JobHandler('send_welcome_email')
  static ofClass({ to }: WelcomeEmail): string {
    return to;
  }

  @JobHandler('send_welcome_email', { uniqueKey: (payload) => payload.to })
  unique(): void {}

  // @ts-expect-error -- the payload has nothing of the kind
  @JobHandler('send_welcome_email', { uniqueKey: (payload) => payload.cc })
  notUnique(): void {}

  @JobHandler('undeclared', { uniqueKey: (payload: { readonly anything: boolean }) => String(payload.anything) })
  undeclared(payload: { readonly anything: boolean }): boolean {
    return payload.anything;
  }

  @JobHandler('send_welcome_email', { schema: z.object({ to: z.string().transform((to) => to.length) }) })
  withSchema({ to }: { readonly to: number }): number {
    return to;
  }

  // @ts-expect-error -- the schema does not take what the type carries
  @JobHandler('send_welcome_email', { schema: z.object({ to: z.number() }) })
  withNarrowSchema({ to }: { readonly to: number }): number {
    return to;
  }

  // @ts-expect-error -- the method takes something else
  @JobHandler('send_welcome_email')
  wrong(payload: string): string {
    return payload;
  }

  // @ts-expect-error -- the method wants more than the payload has
  @JobHandler('send_welcome_email')
  greedy(payload: WelcomeEmail & { readonly cc: string }): string {
    return payload.cc;
  }

  @JobHandler('send_welcome_email')
  @JobSchedule(cron, { type: 'send_welcome_email', payload: { to: 'ada@example.org' } })
  @JobSchedule(cron, { name: 'b', type: 'send_welcome_email', payload: (slot) => ({ to: slot.toISOString() }) })
  @JobSchedule(cron, { name: 'c', payload: () => ({ to: 'ada@example.org' }) })
  scheduled(): void {}

  @JobHandler('sweep')
  @JobSchedule(cron)
  @JobSchedule(cron, { name: 'b', type: 'sweep', disabled: true })
  swept(): void {}

  @JobHandler('send_welcome_email')
  // @ts-expect-error -- the payload has another type
  @JobSchedule(cron, { type: 'send_welcome_email', payload: { to: 1 } })
  // @ts-expect-error -- the payload of this type must be given
  @JobSchedule(cron, { name: 'b', type: 'send_welcome_email' })
  // @ts-expect-error -- a promise is no payload
  @JobSchedule(cron, { name: 'c', payload: async () => 1 })
  // @ts-expect-error -- there is no such option
  @JobSchedule(cron, { name: 'd', timezone: 'Europe/Berlin' })
  wronglyScheduled(): void {}

  // @ts-expect-error -- the payload may be undefined
  @JobHandler('report')
  report(payload: { readonly month?: number }): unknown {
    return payload.month;
  }
}
