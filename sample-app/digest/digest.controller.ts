import { Controller, Get, HttpCode, Post } from '@nestjs/common';
import { PersistentJobQueue } from 'nestjs-jobs';

/** When the next digests come, and one at once for those who cannot wait: in a real service behind a guard. */
@Controller('digest')
export class DigestController {
  constructor(private readonly jobs: PersistentJobQueue) {}

  @Get()
  async nextRuns(): Promise<readonly string[]> {
    const runs = await this.jobs.schedules.nextRuns('send_nightly_digest', 3);
    return runs.map((run) => run.toISOString());
  }

  @Post()
  @HttpCode(202)
  async sendNow(): Promise<{ readonly jobId: string }> {
    return { jobId: await this.jobs.schedules.runNow('send_nightly_digest') };
  }
}
