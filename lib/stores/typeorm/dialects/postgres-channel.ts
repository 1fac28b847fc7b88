import { createHash } from 'node:crypto';
import type { TableName } from '../../../model/table-name.js';

const longestChannel = 63;

/** The channel by which processes on one table tell each other of jobs. A name too long for a channel goes as its hash. */
export function channelOf({ schema, table }: TableName): string {
  const channel = `nestjs-jobs:${schema ?? ''}.${table}`;
  if (channel.length <= longestChannel) return channel;
  return `nestjs-jobs:${createHash('sha256').update(channel).digest('hex').slice(0, 40)}`;
}
