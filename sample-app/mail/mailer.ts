import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { JobHandler, type JobContext } from 'nestjs-jobs';
import { Repository } from 'typeorm';
import { User } from '../signup/user.entity.js';
import { DemoMailboxes } from './demo-mailboxes.js';
import { PostOffice } from './post-office.js';

/** A payload is a key, not a copy: the handler reads what is true when it runs. */
export interface WelcomeEmail {
  readonly userId: string;
}

declare module 'nestjs-jobs' {
  interface JobPayloads {
    send_welcome_email: WelcomeEmail;
  }
}

@Injectable()
export class Mailer {
  constructor(
    @InjectRepository(User) private readonly users: Repository<User>,
    private readonly mailboxes: DemoMailboxes,
    private readonly postOffice: PostOffice,
  ) {}

  // A service in production would try for hours; here somebody is watching. The limit is what the mail provider allows us, however many
  // processes of this service run.
  @JobHandler('send_welcome_email', {
    maxRetries: 2,
    backoff: { initial: 300 },
    timeout: 60_000,
    rateLimit: { limit: 50, window: 1_000 },
  })
  async sendWelcomeEmail({ userId }: WelcomeEmail, job: JobContext): Promise<void> {
    const user = await this.users.findOneBy({ id: userId });
    if (user === null) return job.logger.warn('the user is gone; nobody to welcome');
    job.logger.log(`sending, attempt ${job.attempt} of ${job.maxRetries + 1}`);
    await this.mailboxes.knock(user.email, job);
    await this.postOffice.send(job.id, {
      from: 'Sample App <welcome@sample-app.example>',
      to: { name: user.name, address: user.email },
      subject: `Welcome, ${user.name}!`,
      text: `Hello ${user.name},\n\nwelcome to the sample app. It is good to have you.\n`,
      headers: { 'X-Job-Id': job.id, 'X-Job-Attempt': String(job.attempt) },
    });
    job.logger.log('sent');
  }
}
