import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import type { JobContext } from 'nestjs-jobs';
import { configToken, type Config } from '../config.js';

/** Three domains that stand for mailboxes as one meets them; all others just take their mail. */
@Injectable()
export class DemoMailboxes {
  private readonly greylisted = new Set<string>();

  constructor(@Inject(configToken) private readonly config: Config) {}

  /**
   * Resolves when the mailbox is ready to take the mail of this job.
   *
   * @throws Error when it refuses, in the words of a mail server; the reason of `job.signal` when that is aborted.
   */
  async knock(address: string, job: JobContext): Promise<void> {
    if (address.endsWith('@bounce.example')) throw new Error('550 5.1.1 mailbox does not exist');
    if (address.endsWith('@flaky.example') && !this.greylisted.has(job.id)) {
      this.greylisted.add(job.id);
      throw new Error('451 4.7.1 greylisted, try again later');
    }
    if (address.endsWith('@slow.example')) await this.wait(job);
  }

  private async wait({ signal }: JobContext): Promise<void> {
    try {
      await sleep(this.config.slowMs, undefined, { signal });
    } catch {
      throw signal.reason;
    }
  }
}
