import { Injectable, Logger } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { JobQueue } from 'nestjs-jobs';
import { Repository } from 'typeorm';
import { User } from '../signup/user.entity.js';

/**
 * How many people of each domain have signed up, kept warm in memory.
 *
 * Work for the memory queue: nobody should wait for it, and it may get lost, since the next signup of the domain counts again.
 */
@Injectable()
export class SignupStatistics {
  private readonly counts = new Map<string, number>();
  private readonly logger = new Logger(SignupStatistics.name);

  constructor(
    private readonly memory: JobQueue,
    @InjectRepository(User) private readonly users: Repository<User>,
  ) {}

  /** Counts a domain as soon as a worker is free. A full queue must not make a signup fail. */
  refreshLater(domain: string): void {
    try {
      this.memory.submit({ name: 'refresh_signup_statistics', run: () => this.refresh(domain) });
    } catch (error) {
      this.logger.warn(`the statistics have to wait: ${String(error)}`);
    }
  }

  /** Signups by domain, of the domains that somebody has signed up from since the start. */
  byDomain(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.counts);
  }

  private async refresh(domain: string): Promise<void> {
    this.counts.set(domain, await this.users.countBy({ domain }));
  }
}
