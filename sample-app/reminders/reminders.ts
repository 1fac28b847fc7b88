import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { JobHandler, PersistentJobQueue, type EnqueueOutcome, type JobContext } from 'nestjs-jobs';
import { Repository } from 'typeorm';
import { PostOffice } from '../mail/post-office.js';
import { User } from '../signup/user.entity.js';

/** A reminder, by the key of who is to be reminded. */
export interface Reminder {
  readonly userId: string;
}

declare module 'nestjs-jobs' {
  interface JobPayloads {
    send_reminder: Reminder;
  }
}

/** What `POST /reminders` answers. */
export interface AcceptedReminder {
  readonly jobId: string;
  /** `stored`: a new one. `replaced`: the one that waits comes at the new time. `running`: it is being sent just now. */
  readonly outcome: EnqueueOutcome;
}

/** One reminder for everybody at a time: whoever asks again while one waits moves it, and gets no second mail. */
@Injectable()
export class Reminders {
  constructor(
    @InjectRepository(User) private readonly users: Repository<User>,
    private readonly jobs: PersistentJobQueue,
    private readonly postOffice: PostOffice,
  ) {}

  /** `undefined` when nobody has signed up with this address. */
  async ask(email: string, delay: number): Promise<AcceptedReminder | undefined> {
    const user = await this.users.findOneBy({ email });
    if (user === null) return undefined;
    const options = { delay, uniqueKey: user.id, onDuplicate: 'replace' } as const;
    const { id, outcome } = await this.jobs.tryEnqueue('send_reminder', { userId: user.id }, options);
    return { jobId: id, outcome };
  }

  @JobHandler('send_reminder')
  async send({ userId }: Reminder, job: JobContext): Promise<void> {
    const user = await this.users.findOneBy({ id: userId });
    if (user === null) return job.logger.warn('the user is gone; nobody to remind');
    await this.postOffice.send(job.id, {
      from: 'Sample App <reminders@sample-app.example>',
      to: { name: user.name, address: user.email },
      subject: `A reminder for you, ${user.name}`,
      text: `Hello ${user.name},\n\nyou wanted to be reminded. This is it.\n`,
      headers: { 'X-Job-Id': job.id, 'X-Job-Attempt': String(job.attempt) },
    });
  }
}
