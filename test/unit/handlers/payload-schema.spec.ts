import { Injectable } from '@nestjs/common';
import { Type } from 'class-transformer';
import { ArrayMinSize, IsEmail, IsInt, IsString, ValidateNested } from 'class-validator';
import {
  InvalidOptionError,
  InvalidPayloadError,
  JobHandler,
  JobQueue,
  type PayloadSchema,
  type StandardSchema,
} from 'nestjs-jobs';
import * as v from 'valibot';
import { z } from 'zod';
import { payloadCheckOf } from '../../../lib/handlers/payload-check-of.js';
import { misfit } from '../../../lib/model/payload-check.js';
import { closeApps, runJob, startMemoryApp } from '../../support/jobs-app.js';

class Item {
  @IsInt()
  count!: number;
}

class Order {
  @IsEmail()
  to!: string;

  @ArrayMinSize(1)
  @ValidateNested({ each: true })
  @Type(() => Item)
  items!: Item[];
}

class Undecorated {}

const zodOrder = z.object({ to: z.email(), items: z.array(z.object({ count: z.number().int() })).min(1) });
const valibotOrder = v.object({
  to: v.pipe(v.string(), v.email()),
  items: v.pipe(v.array(v.object({ count: v.pipe(v.number(), v.integer()) })), v.minLength(1)),
});
/** What arktype makes is a function. */
const functionSchema: StandardSchema<string, string> = Object.assign(() => undefined, {
  '~standard': {
    version: 1 as const,
    vendor: 'test',
    validate: (value: unknown) =>
      value === 'good' ? { value } : { issues: [{ message: 'secret', path: [{ key: 'a' }, 0, 'b c', Symbol('s')] }] },
  },
});

async function check(schema: PayloadSchema, payload: unknown): Promise<unknown> {
  return payloadCheckOf('schema', schema).check(payload, 'order');
}

const schemas: readonly [string, PayloadSchema][] = [
  ['zod', zodOrder],
  ['valibot', valibotOrder],
  ['class-validator', Order],
];

describe.each(schemas)('a schema of %s', (_library, schema) => {
  it('takes what fits', async () => {
    const payload = { to: 'ada@example.org', items: [{ count: 1 }] };

    expect({ ...((await check(schema, payload)) as object) }).toEqual(payload);
  });

  it('names the paths of what does not fit, and no value', async () => {
    const refused = check(schema, { to: 'secret', items: [{ count: 1 }, { count: 'secret' }] });

    await expect(refused).rejects.toThrow(InvalidPayloadError);
    await expect(refused).rejects.toThrow(
      "payload.to, payload.items[1].count do not fit the schema of job type 'order'",
    );
  });

  it('tells what is wrong to whoever asks, and not to whoever prints the error', async () => {
    const error = await check(schema, { to: 'secret', items: [{ count: 1 }] }).catch((caught: unknown) => caught);

    expect(error).toMatchObject({ issues: [{ path: 'payload.to', message: expect.any(String) }] });
    expect(Object.keys(error as object)).not.toContain('issues');
  });

  it.each([undefined, null, 'text', 7])('refuses %p, which is no object', async (payload) => {
    await expect(check(schema, payload)).rejects.toThrow("payload does not fit the schema of job type 'order'");
  });
});

describe('a class', () => {
  it('makes instances, inner ones too', async () => {
    const made = await check(Order, { to: 'ada@example.org', items: [{ count: 1 }] });

    expect(made).toBeInstanceOf(Order);
    expect((made as Order).items[0]).toBeInstanceOf(Item);
  });

  it('without decorators fits nothing', async () => {
    await expect(check(Undecorated, { a: 1 })).rejects.toThrow(InvalidPayloadError);
  });
});

describe('a schema', () => {
  it('may be a function', async () => {
    expect(await check(functionSchema, 'good')).toBe('good');
    await expect(check(functionSchema, 'bad')).rejects.toThrow(/^payload\.a\[0\]\['b c'\]\[Symbol\(s\)\] does not fit/);
  });

  it('names five paths at the most', () => {
    const issues = ['a', 'b', 'c', 'd', 'e', 'f', 'f', 'g'].map((path) => ({ path, message: '' }));

    expect(misfit('order', issues).message).toBe("a, b, c, d, e and 2 more do not fit the schema of job type 'order'");
  });

  it.each<[string, unknown]>([
    ['an object', {}],
    ['nothing', null],
    ['a function', () => true],
    ['a schema of another version', { '~standard': { version: 2, validate: () => undefined } }],
  ])('is not %s', (_what, schema) => {
    class Host {
      run(): void {}
    }
    const decorate = (): void =>
      JobHandler('order', { schema: schema as PayloadSchema })(Host.prototype, 'run', { value: Host.prototype.run });

    expect(decorate).toThrow(InvalidOptionError);
    expect(decorate).toThrow(/schema must be a Standard Schema/);
  });
});

describe('a memory job with a schema', () => {
  const received: unknown[] = [];

  @Injectable()
  class Shop {
    @JobHandler('sync', { schema: z.object({ at: z.coerce.date() }) })
    sync(payload: { at: Date }): void {
      received.push(payload);
    }

    @JobHandler('async', { schema: z.object({ ok: z.boolean().refine(async (ok) => ok) }) })
    async(payload: { ok: boolean }): void {
      received.push(payload);
    }
  }

  beforeEach(() => received.splice(0));
  afterEach(closeApps);

  it('is refused at once where it does not fit', async () => {
    const app = await startMemoryApp({ providers: [Shop] });
    const queue = app.get(JobQueue);

    expect(() => queue.submit('sync', { at: 'no date' })).toThrow(InvalidPayloadError);
  });

  it('gives its handler what the schema makes of the payload', async () => {
    const app = await startMemoryApp({ providers: [Shop] });

    await runJob(app, 'sync', { at: '2026-01-01T00:00:00Z' });

    expect(received).toEqual([{ at: new Date('2026-01-01T00:00:00Z') }]);
  });

  it('fails before its run where the schema needs a promise', async () => {
    const app = await startMemoryApp({ providers: [Shop] }, { memory: { maxRetries: 5 } });
    const failed: unknown[] = [];
    app
      .get(JobQueue)
      .observe()
      .subscribe(({ kind }) => failed.push(kind));

    await runJob(app, 'async', { ok: false });

    expect(received).toEqual([]);
    expect(failed).toEqual(['failed']);
  });
});

describe('an app with a class for a schema', () => {
  afterEach(closeApps);

  it('starts', async () => {
    const received: unknown[] = [];
    @Injectable()
    class Shop {
      @JobHandler('order', { schema: Order })
      order(payload: Order): void {
        received.push(payload);
      }
    }
    const app = await startMemoryApp({ providers: [Shop] });

    await runJob(app, 'order', { to: 'ada@example.org', items: [{ count: 1 }] });

    expect(received).toEqual([expect.any(Order)]);
  });

  it('knows a class from text', () => {
    class Text {
      @IsString()
      text!: string;
    }

    expect(() => payloadCheckOf('schema', Text)).not.toThrow();
  });
});
