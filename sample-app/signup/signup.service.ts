import { randomUUID } from 'node:crypto';
import { ConflictException, Injectable } from '@nestjs/common';
import { PersistentJobQueue } from 'nestjs-jobs';
import { QueryFailedError } from 'typeorm';
import { Transactions } from '../database/transactions.js';
import { SignupStatistics } from '../stats/signup-statistics.js';
import type { SignupRequest } from './signup-request.js';
import { User } from './user.entity.js';

/** What `POST /signup` answers. */
export interface Signup {
  readonly userId: string;
  /** The job that sends the welcome mail. */
  readonly jobId: string;
}

/** What the three databases call a row that is there already. */
const duplicateCodes: readonly unknown[] = ['SQLITE_CONSTRAINT_UNIQUE', '23505', 'ER_DUP_ENTRY'];

@Injectable()
export class SignupService {
  constructor(
    private readonly transactions: Transactions,
    private readonly jobs: PersistentJobQueue,
    private readonly statistics: SignupStatistics,
  ) {}

  /** @throws ConflictException when the address has signed up before; there is no job then. */
  async signUp({ email, name }: SignupRequest): Promise<Signup> {
    const domain = email.slice(email.indexOf('@') + 1);
    const user = { id: randomUUID(), email, domain, name, createdAt: Date.now() };
    const jobId = await this.store(user);
    // Only now: the memory queue knows nothing of transactions and would count a user that is rolled back.
    this.statistics.refreshLater(domain);
    return { userId: user.id, jobId };
  }

  private async store(user: User): Promise<string> {
    try {
      return await this.transactions.run(async (manager) => {
        await manager.insert(User, user);
        // The user and the mail to come are committed together, or neither is.
        return this.jobs.enqueue('send_welcome_email', { userId: user.id }, { manager });
      });
    } catch (error) {
      if (isDuplicate(error)) throw new ConflictException('this e-mail address has signed up already');
      throw error;
    }
  }
}

function isDuplicate(error: unknown): boolean {
  if (!(error instanceof QueryFailedError)) return false;
  const cause: unknown = error.driverError;
  return typeof cause === 'object' && cause !== null && 'code' in cause && duplicateCodes.includes(cause.code);
}
