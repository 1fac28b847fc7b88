import { relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobRow } from '../jobs/job-table.js';
import type { Client } from './client.js';
import { readMail } from './mail-file.js';

/** Somebody who signs up on the tour, and what should become of their mail. */
interface Visitor {
  readonly name: string;
  readonly domain: string;
  readonly about: string;
  readonly isReachable: boolean;
}

const visitors: readonly Visitor[] = [
  { name: 'Ada', domain: 'one.example', about: 'takes mail at once', isReachable: true },
  { name: 'Grace', domain: 'one.example', about: 'takes mail at once', isReachable: true },
  { name: 'Fay', domain: 'flaky.example', about: 'refuses the first try', isReachable: true },
  { name: 'Sam', domain: 'slow.example', about: 'takes its time', isReachable: true },
  { name: 'Bob', domain: 'bounce.example', about: 'does not exist', isReachable: false },
];

/** A visitor whose job is stored, or a job that an earlier run has left; of that one the name is not known. */
interface Guest {
  readonly jobId: string;
  readonly visitor?: Visitor;
}

export interface TourParts {
  readonly client: Client;
  /** Where the mails are; `undefined` when they went to a server. */
  readonly outbox: string | undefined;
  /** Jobs that earlier runs have left. */
  readonly leftovers: readonly string[];
  /** How long jobs may take, milliseconds. */
  readonly patienceMs: number;
}

/** Signs people up over HTTP, waits for their mails, and shows what became of each job. */
export class Tour {
  private readonly problems: string[] = [];

  constructor(private readonly parts: TourParts) {}

  /** Resolves to what is not as it should be; empty when all went well. */
  async run(): Promise<readonly string[]> {
    const { leftovers } = this.parts;
    if (leftovers.length > 0)
      say(`\n${leftovers.length} job(s) of an earlier run were left; they are carried on with now.`);
    say('\nPeople sign up:');
    const guests: Guest[] = leftovers.map((jobId) => ({ jobId }));
    // Addresses of this run only, so that the tour can be repeated.
    const run = Date.now().toString(36);
    for (const visitor of visitors) guests.push(await this.signUp(visitor, run));
    await this.signUpAgain(run);
    say('\nWaiting for their mails:');
    const rows = await this.settled(guests);
    say('\nWhat became of the jobs:');
    for (const guest of guests) await this.report(guest, rows.get(guest.jobId));
    return this.problems;
  }

  private async signUp(visitor: Visitor, run: string): Promise<Guest> {
    const email = addressOf(visitor, run);
    const { jobId } = await this.parts.client.signUp(visitor.name, email);
    say(`  201  ${email.padEnd(28)} job ${jobId}   (a mailbox that ${visitor.about})`);
    return { jobId, visitor };
  }

  private async signUpAgain(run: string): Promise<void> {
    const [first] = visitors;
    if (first === undefined) return;
    const email = addressOf(first, run);
    const status = await this.parts.client.refusedSignUp(first.name, email);
    say(`  ${status}  ${email.padEnd(28)} again: the transaction rolls back, no second job`);
    if (status !== 409) this.problems.push(`the second signup of one address answered ${status} instead of 409`);
  }

  /** The rows that are left when no job is pending or running any more: those of failed jobs. */
  private async settled(guests: readonly Guest[]): Promise<ReadonlyMap<string, JobRow>> {
    const deadline = performance.now() + this.parts.patienceMs;
    for (;;) {
      const rows = await Promise.all(guests.map(({ jobId }) => this.parts.client.job(jobId)));
      const present = rows.filter((row) => row !== undefined);
      const isSettled = present.every(({ status }) => status === 'failed');
      if (isSettled || performance.now() > deadline) return new Map(present.map((row) => [row.id, row]));
      await sleep(100);
    }
  }

  private async report({ jobId, visitor }: Guest, row: JobRow | undefined): Promise<void> {
    const name = (visitor?.name ?? 'earlier').padEnd(7);
    const isReachable = visitor?.isReachable ?? row?.status !== 'failed';
    if (row?.status === 'failed') {
      say(`  ${name} failed after ${row.attempts} attempts, the row stays: ${row.lastError ?? ''}`);
      if (isReachable) this.problems.push(`job ${jobId} failed`);
    } else if (row !== undefined) {
      this.problems.push(`job ${jobId} is still ${row.status}`);
    } else if (!isReachable) {
      this.problems.push(`job ${jobId} of an address that does not exist has completed`);
    } else {
      await this.reportMail(name, { jobId, visitor });
    }
  }

  private async reportMail(label: string, { jobId, visitor }: Guest): Promise<void> {
    const { outbox } = this.parts;
    if (outbox === undefined) return say(`  ${label} was sent to the mail server`);
    const mail = await readMail(outbox, jobId);
    if (mail === undefined || !mail.text.includes(`Hello ${visitor?.name ?? ''}`)) {
      this.problems.push(`job ${jobId} has completed, but its mail is not in ${outbox}`);
      return;
    }
    const retried = mail.attempt > 1 ? `, at attempt ${mail.attempt}` : '';
    say(`  ${label} got a mail${retried}: ${shorten(mail.path)}  (${mail.recipient})`);
  }
}

function addressOf({ name, domain }: Visitor, run: string): string {
  return `${name.toLowerCase()}.${run}@${domain}`;
}

function shorten(path: string): string {
  const short = relative(process.cwd(), path);
  return short.startsWith('..') ? path : short;
}

function say(line: string): void {
  console.log(line);
}
