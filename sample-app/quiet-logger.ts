import { ConsoleLogger, type LogLevel } from '@nestjs/common';

const bootContexts: readonly unknown[] = ['NestFactory', 'InstanceLoader', 'RoutesResolver', 'RouterExplorer'];

/** Nest's logger with short lines, and without those about modules and routes, so that the jobs can be seen. */
export class QuietLogger extends ConsoleLogger {
  override log(message: unknown, ...rest: unknown[]): void {
    if (!bootContexts.includes(rest.at(-1))) super.log(message, ...rest);
  }

  protected override formatMessage(
    level: LogLevel,
    message: unknown,
    ...rest: [string, string, string, string]
  ): string {
    const [, shownLevel, context] = rest;
    return `    ${this.colorize(shownLevel.trim().padEnd(5), level)} ${context}${this.stringifyMessage(message, level)}\n`;
  }
}
