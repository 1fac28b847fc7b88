import { Controller, Get, NotFoundException, Param, ParseUUIDPipe } from '@nestjs/common';
import { JobTable, type JobRow } from './job-table.js';

/** A look at the job table, for this sample only: in a real service it would stand behind a guard. */
@Controller('jobs')
export class JobsController {
  constructor(private readonly table: JobTable) {}

  @Get()
  list(): Promise<readonly JobRow[]> {
    return this.table.list(50);
  }

  @Get(':id')
  async find(@Param('id', ParseUUIDPipe) id: string): Promise<JobRow> {
    const row = await this.table.find(id);
    if (row === undefined) throw new NotFoundException('no such job: it has completed, or never existed');
    return row;
  }
}
