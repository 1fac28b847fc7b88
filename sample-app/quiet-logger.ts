import { ConsoleLogger } from '@nestjs/common';

const bootContexts: readonly unknown[] = ['NestFactory', 'InstanceLoader', 'RoutesResolver', 'RouterExplorer'];

/** Nest's logger without its own lines about modules and routes, so that the jobs can be seen. */
export class QuietLogger extends ConsoleLogger {
  override log(message: unknown, ...rest: unknown[]): void {
    if (!bootContexts.includes(rest.at(-1))) super.log(message, ...rest);
  }
}
