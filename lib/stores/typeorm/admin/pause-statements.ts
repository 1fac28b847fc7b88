import { pausesType } from '../slot.js';
import type { TextMaker } from './sql-text.js';

/** No job stands behind a pause; the column wants an id. */
const noJob = '00000000-0000-0000-0000-000000000000';
/** A pause has no end of its own. */
const endOfTime = 9_000_000_000_000_000;

export const pausesStatement: TextMaker = ({ slots }) =>
  `SELECT slot FROM ${slots} WHERE job_type = '${pausesType}' ORDER BY slot`;

export const freePauseStatement: TextMaker<string> = (sql, slot) =>
  `DELETE FROM ${sql.slots} WHERE job_type = '${pausesType}' AND slot = ${sql.bind(slot, 'text')}`;

/** @param orNothing How the database is told to leave alone what is there already. */
export function takePauseStatement(orNothing: string): TextMaker<string> {
  return (sql, slot) => `
    INSERT INTO ${sql.slots} (job_type, slot, job_id, free_at)
    VALUES ('${pausesType}', ${sql.bind(slot, 'text')}, '${noJob}', ${endOfTime})
    ${orNothing}`;
}
