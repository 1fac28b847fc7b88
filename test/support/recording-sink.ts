import type { LogSink } from '../../lib/observe/job-log.js';

/** A log that keeps its lines, each as `level: message`. */
export class RecordingSink implements LogSink {
  readonly lines: string[] = [];

  debug(message: string): void {
    this.lines.push(`debug: ${message}`);
  }

  log(message: string): void {
    this.lines.push(`log: ${message}`);
  }

  warn(message: string): void {
    this.lines.push(`warn: ${message}`);
  }

  error(message: string): void {
    this.lines.push(`error: ${message}`);
  }
}
