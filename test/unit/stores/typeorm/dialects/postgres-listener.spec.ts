import { jest } from '@jest/globals';
import { PostgresListener } from '../../../../../lib/stores/typeorm/dialects/postgres-listener.js';
import type { PgPool } from '../../../../../lib/stores/typeorm/dialects/postgres-pool.js';

/** How the next connections end, one after the other; the last one for all that follow. */
let failures: (Error | undefined)[];

class FakeClient {
  on(): this {
    return this;
  }

  connect(): Promise<void> {
    const failure = failures.length > 1 ? failures.shift() : failures[0];
    return failure === undefined ? Promise.resolve() : Promise.reject(failure);
  }

  query(): Promise<unknown> {
    return Promise.resolve({ rows: [] });
  }

  end(): Promise<void> {
    return Promise.resolve();
  }
}

const refused = Object.assign(new Error('too many connections'), { code: '53300' });

describe('PostgresListener', () => {
  let warnings: string[];
  let wakes: number;

  beforeEach(() => {
    jest.useFakeTimers();
    warnings = [];
    wakes = 0;
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  function listen(): PostgresListener {
    const pool = { Client: FakeClient, options: {} } as unknown as PgPool;
    const warn = (message: string): void => void warnings.push(message);
    const listener = new PostgresListener({ pool, channel: 'jobs', wake: () => (wakes += 1), warn });
    listener.start();
    return listener;
  }

  it('says once that the server refuses its connection', async () => {
    failures = [refused];
    const listener = listen();

    await jest.advanceTimersByTimeAsync(600_000);

    expect(warnings).toEqual([expect.stringMatching(/refuses the connection that listens.*53300.*by polling/)]);
    await listener.stop();
  });

  it.each([
    ['is not there', Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })],
    ['starts', Object.assign(new Error('the database system is starting up'), { code: '57P03' })],
    ['goes while we write', Object.assign(new Error('write EPIPE'), { code: 'EPIPE', syscall: 'write' })],
    ['cuts it', new Error('Connection terminated unexpectedly')],
  ])('says nothing of a server that %s, since the worker does', async (_what, failure) => {
    failures = [failure, failure, failure, undefined];
    const listener = listen();

    await jest.advanceTimersByTimeAsync(60_000);

    expect(wakes).toBe(1);
    expect(warnings).toEqual([]);
    await listener.stop();
  });
});
