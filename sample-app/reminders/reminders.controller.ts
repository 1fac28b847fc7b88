import { BadRequestException, Body, Controller, HttpCode, NotFoundException, Post } from '@nestjs/common';
import { Reminders, type AcceptedReminder } from './reminders.js';

const longestSeconds = 31_536_000;

@Controller('reminders')
export class RemindersController {
  constructor(private readonly reminders: Reminders) {}

  /** Wants `email`, and `inSeconds`: up to a year. */
  @Post()
  @HttpCode(202)
  async ask(@Body() body: unknown): Promise<AcceptedReminder> {
    const { email, inSeconds } = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
    if (typeof email !== 'string') throw new BadRequestException('email must be an e-mail address');
    if (typeof inSeconds !== 'number' || !(inSeconds >= 0 && inSeconds <= longestSeconds)) {
      throw new BadRequestException(`inSeconds must be a number from 0 to ${longestSeconds}`);
    }
    const accepted = await this.reminders.ask(email.trim().toLowerCase(), Math.round(inSeconds * 1_000));
    if (accepted === undefined) throw new NotFoundException('nobody has signed up with this address');
    return accepted;
  }
}
