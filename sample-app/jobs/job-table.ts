import { Injectable } from '@nestjs/common';
import { DataSource, type SelectQueryBuilder } from 'typeorm';

/** The table of the persistent queue: the option `tableName`. */
export const jobTableName = 'sample_jobs';

/** What may be shown of a job. Not its payload: that is the customers' business. */
export interface JobRow {
  readonly id: string;
  readonly type: string;
  readonly status: string;
  readonly attempts: number;
  readonly maxRetries: number;
  readonly lastError: string | null;
}

/** Reads the job table for show. It is an ordinary table; a completed job has no row any more. */
@Injectable()
export class JobTable {
  constructor(private readonly dataSource: DataSource) {}

  /** The newest rows first; job ids are ordered by time. */
  async list(limit: number): Promise<readonly JobRow[]> {
    const rows: unknown[] = await this.select().orderBy('job.id', 'DESC').limit(limit).getRawMany();
    return rows.map(toJobRow);
  }

  async find(id: string): Promise<JobRow | undefined> {
    const row: unknown = await this.select().where('job.id = :id', { id }).getRawOne();
    return row === undefined ? undefined : toJobRow(row);
  }

  private select(): SelectQueryBuilder<Record<string, unknown>> {
    return this.dataSource
      .createQueryBuilder()
      .select(['job.id AS id', 'job.job_type AS type', 'job.status AS status', 'job.attempts AS attempts'])
      .addSelect(['job.max_retries AS max_retries', 'job.last_error AS last_error'])
      .from<Record<string, unknown>>(jobTableName, 'job');
  }
}

function toJobRow(row: unknown): JobRow {
  const { id, type, status, attempts, max_retries, last_error } = row as Record<string, unknown>;
  return {
    id: String(id),
    type: String(type),
    status: String(status),
    attempts: Number(attempts),
    maxRetries: Number(max_retries),
    lastError: typeof last_error === 'string' ? last_error : null,
  };
}
