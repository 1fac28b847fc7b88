import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What a file in the outbox says. */
export interface MailFile {
  readonly path: string;
  readonly recipient: string;
  readonly attempt: number;
  readonly text: string;
}

/** Reads the mail of a job; `undefined` when there is none. */
export async function readMail(folder: string, jobId: string): Promise<MailFile | undefined> {
  const path = join(folder, `${jobId}.eml`);
  const source = await readFile(path, 'utf8').catch(() => undefined);
  if (source === undefined) return undefined;
  const end = source.indexOf('\r\n\r\n');
  const head = source.slice(0, end);
  return {
    path,
    recipient: header(head, 'To'),
    attempt: Number(header(head, 'X-Job-Attempt')),
    text: source.slice(end + 4),
  };
}

function header(head: string, name: string): string {
  return new RegExp(`^${name}: (.*)$`, 'm').exec(head)?.[1]?.trim() ?? '';
}
