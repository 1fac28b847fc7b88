import { lineStart, longestHistory } from '../../../model/attempt-history.js';
import { longestLog } from '../../../model/log-lines.js';
import type { Lease } from '../../../model/job.js';

/** A text with its values, for one trip to the server. Never a named statement: poolers hand each trip to another server. */
export interface PgStatement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Values in the order in which a text asks for them. */
export class PgValues {
  readonly list: unknown[] = [];

  /** @param type What the server takes the value for. */
  bind(value: unknown, type: string): string {
    this.list.push(value);
    return `$${this.list.length}::${type}`;
  }

  bindTexts(values: readonly (string | null)[]): string {
    return this.bind(values, 'text[]');
  }

  /** For values that need no quoting: uuids, numbers and states. */
  bindPlain(values: readonly (string | number | null)[], type: 'uuid' | 'text' | 'integer' | 'bigint'): string {
    return this.bind(`{${values.map((value) => value ?? 'NULL').join(',')}}`, `${type}[]`);
  }

  bindLeases(leases: readonly Lease[]): BoundLeases {
    return {
      ids: this.bindPlain(
        leases.map(({ id }) => id),
        'uuid',
      ),
      tokens: this.bindPlain(
        leases.map(({ token }) => token),
        'bigint',
      ),
    };
  }
}

/** Two arrays of the same length. No two jobs ever share a token, so `= ANY` of both is as exact as pairs. */
export interface BoundLeases {
  readonly ids: string;
  readonly tokens: string;
}

/** Epoch milliseconds of the server's clock as the statement began. */
export const pgNowMs = 'floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint';

/** The same once for the whole statement, to be read with `pgMoment`. */
export const pgMomentPart = `moment AS MATERIALIZED (SELECT ${pgNowMs} AS ms)`;
export const pgMoment = '(SELECT ms FROM moment)';

/** The log with more lines, cut at its beginning; as it is where these are null. */
export function pgLogged(log: string, lines: string): string {
  return `COALESCE(right(COALESCE(${log}, '') || ${lines}, ${longestLog}), ${log})`;
}

/** The history with one more line, cut at its beginning; as it is where `line`, what comes behind the moment, is null. */
export function pgAppended(history: string, line: string): string {
  const longer = `COALESCE(${history}, '') || '${lineStart}' || ${pgMoment} || ${line}`;
  return `COALESCE(right(${longer}, ${longestHistory}), ${history})`;
}
