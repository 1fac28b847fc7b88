import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { JobHandler, JobSchedule, type JobContext } from 'nestjs-jobs';
import { Between, Repository } from 'typeorm';
import { PostOffice } from '../mail/post-office.js';
import { User } from '../signup/user.entity.js';

/** Which day the digest is about: the one that ends at this moment, epoch milliseconds. */
export interface DigestRequest {
  readonly until: number;
}

declare module 'nestjs-jobs' {
  interface JobPayloads {
    send_nightly_digest: DigestRequest;
  }
}

const dayMs = 86_400_000;

/** Tells the team each night who has signed up. One mail, however many processes of this service run. */
@Injectable()
export class NightlyDigest {
  constructor(
    @InjectRepository(User) private readonly users: Repository<User>,
    private readonly postOffice: PostOffice,
  ) {}

  // The slot says which day is meant, so a digest that runs late, or again, is about the same one.
  @JobHandler('send_nightly_digest')
  @JobSchedule('0 22 * * *', { timeZone: 'Europe/Berlin', payload: (slot) => ({ until: slot.getTime() }) })
  async send({ until }: DigestRequest, job: JobContext): Promise<void> {
    const users = await this.users.findBy({ createdAt: Between(until - dayMs, until - 1) });
    const names = users.map(({ name }) => `- ${name}\n`).toSorted();
    await this.postOffice.send(job.id, {
      from: 'Sample App <digest@sample-app.example>',
      to: 'The team <team@sample-app.example>',
      subject: `Signups today: ${users.length}`,
      text: `Welcome to\n\n${names.join('')}`,
      headers: { 'X-Job-Id': job.id, 'X-Job-Attempt': String(job.attempt) },
    });
    job.logger.log(`sent, with ${users.length} signups`);
  }
}
