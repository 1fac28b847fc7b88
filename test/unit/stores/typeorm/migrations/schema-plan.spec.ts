import { SchemaError } from '../../../../../lib/model/errors.js';
import { createJobs } from '../../../../../lib/stores/typeorm/migrations/0001-create-jobs.js';
import {
  describeGaps,
  isUsable,
  planSchema,
  suffixesBeside,
  type FoundSchema,
} from '../../../../../lib/stores/typeorm/migrations/schema-plan.js';
import { sqlNames } from '../../../../../lib/stores/typeorm/table-name.js';

const names = sqlNames({ schema: undefined, table: 'jobs' }, '"');
const sql = { family: 'postgres', tableOptions: '', bigint: 'bigint', nowMs: '0' } as const;
const columns = createJobs.columns
  .filter(({ definition }) => definition.postgres !== undefined)
  .map(({ name }) => name);
const indexes = createJobs.indexes.map(({ suffix }) => `jobs_${suffix}`);

/** A table as it should be; say only what is different. */
function found(given: Partial<FoundSchema> = {}): FoundSchema {
  return {
    columns: new Set(columns),
    indexes: new Set([...indexes, 'jobs_pkey']),
    tables: new Set(suffixesBeside),
    hasVersionTable: true,
    version: 1,
    compatibleWith: 1,
    ...given,
  };
}

const nothing: FoundSchema = {
  columns: new Set(),
  indexes: new Set(),
  tables: new Set(),
  hasVersionTable: false,
  version: undefined,
  compatibleWith: undefined,
};

function without(...missing: readonly string[]): ReadonlySet<string> {
  return new Set(columns.filter((column) => !missing.includes(column)));
}

function withoutIndex(missing: string): ReadonlySet<string> {
  return new Set(indexes.filter((index) => index !== missing));
}

describe('planSchema', () => {
  it('has nothing to do for a table that is right', () => {
    expect(planSchema(found(), names, sql)).toEqual([]);
  });

  it('makes all of it where there is nothing', () => {
    const plan = planSchema(nothing, names, sql);

    expect(plan.map((statement) => statement.split(/\s+\(/)[0])).toEqual([
      'CREATE TABLE IF NOT EXISTS "jobs"',
      ...createJobs.indexes.map(
        ({ suffix, isUnique }) => `CREATE ${isUnique === true ? 'UNIQUE ' : ''}INDEX "jobs_${suffix}" ON "jobs"`,
      ),
      'CREATE TABLE IF NOT EXISTS "jobs_slots"',
      'CREATE INDEX "jobs_slots_free_at" ON "jobs_slots"',
      'CREATE TABLE IF NOT EXISTS "jobs_batches"',
      'CREATE INDEX "jobs_batches_open" ON "jobs_batches"',
      'CREATE INDEX "jobs_batches_over" ON "jobs_batches"',
      'CREATE TABLE IF NOT EXISTS "jobs_statistics"',
      'CREATE TABLE IF NOT EXISTS "jobs_schedules"',
      'CREATE TABLE IF NOT EXISTS "jobs_limits"',
      'CREATE TABLE IF NOT EXISTS "jobs_schema"',
      'INSERT INTO "jobs_schema"',
    ]);
  });

  it('adds just what is missing', () => {
    const damaged = found({ columns: without('claimed_by'), indexes: withoutIndex('jobs_running') });

    expect(planSchema(damaged, names, sql)).toEqual([
      'ALTER TABLE "jobs" ADD COLUMN claimed_by text',
      'CREATE INDEX "jobs_running" ON "jobs" (lease_until) WHERE status = \'running\'',
    ]);
  });

  it('needs fewer indexes where there are no partial ones', () => {
    const mysql = { ...sql, family: 'mysql' } as const;

    const there = found({
      columns: new Set([...columns, 'held_key', 'batch_state', 'line_key', 'line_phase']),
      indexes: withoutIndex('jobs_running'),
    });

    expect(planSchema(there, names, mysql)).toEqual([]);
  });

  it('writes down a version that is missing', () => {
    const plan = planSchema(found({ version: undefined, compatibleWith: undefined }), names, sql);

    expect(plan).toEqual(['INSERT INTO "jobs_schema" (version, compatible_with, applied_at) VALUES (1, 1, 0)']);
  });

  it('refuses a table without a version that lacks a column: it is not ours', () => {
    const foreign = found({ columns: without('claimed_by'), version: undefined, hasVersionTable: false });

    expect(() => planSchema(foreign, names, sql)).toThrow(SchemaError);
  });

  it('refuses to add a column that no existing row could fill', () => {
    expect(() => planSchema(found({ columns: without('payload') }), names, sql)).toThrow(/no job table.*payload/s);
  });
});

describe('isUsable', () => {
  it.each([
    ['as it should be', found(), true],
    ['with more columns than known', found({ columns: new Set([...columns, 'extra']) }), true],
    ['without an index', found({ indexes: withoutIndex('jobs_running') }), false],
    ['without a column', found({ columns: without('lease_until') }), false],
    ['without the table of throttles', found({ tables: new Set() }), false],
    ['without a version', found({ version: undefined }), false],
    ['of a later, compatible version', found({ version: 9, compatibleWith: 1, indexes: new Set() }), true],
    ['of a later, incompatible version', found({ version: 9, compatibleWith: 2 }), false],
    ['that does not exist', nothing, false],
  ])('of a table %s', (_what, schema, expected) => {
    expect(isUsable(schema, names, 'postgres')).toBe(expected);
  });
});

describe('describeGaps', () => {
  it.each([
    [nothing, 'the table does not exist'],
    [found({ version: undefined }), 'found no version, expected version 1'],
    [
      found({ columns: without('status'), indexes: withoutIndex('jobs_pending') }),
      'found version 1, expected version 1; missing: column status, index jobs_pending',
    ],
    [
      found({ tables: new Set() }),
      `found version 1, expected version 1; missing: ${suffixesBeside.map((suffix) => `table jobs_${suffix}`).join(', ')}`,
    ],
  ])('says what is missing', (schema, expected) => {
    expect(describeGaps(schema, names, 'postgres')).toBe(expected);
  });
});
