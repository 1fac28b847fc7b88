import { Controller, Get } from '@nestjs/common';
import { SignupStatistics } from './signup-statistics.js';

@Controller('stats')
export class StatsController {
  constructor(private readonly statistics: SignupStatistics) {}

  @Get()
  byDomain(): Readonly<Record<string, number>> {
    return this.statistics.byDomain();
  }
}
