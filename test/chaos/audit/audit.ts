import { auditJob } from './audit-job.js';
import { auditProcesses } from './audit-process.js';
import { auditRecoveries, auditRepeated } from './audit-recovery.js';
import { Disturbances } from './disturbances.js';
import type { Evidence, Problem } from './evidence.js';
import { jobFiles } from './job-file.js';

/** Whether the ledger balances: all that does not. */
export function audit(evidence: Evidence): readonly Problem[] {
  const disturbances = new Disturbances(evidence.entries);
  const jobs = [...jobFiles(evidence).values()].flatMap((file) =>
    auditJob(file, disturbances).map((what) => ({ what, key: file.key })),
  );
  return [
    ...jobs,
    ...auditRecoveries(evidence, disturbances),
    ...auditRepeated(evidence, disturbances),
    ...auditProcesses(evidence.entries, disturbances),
  ];
}
