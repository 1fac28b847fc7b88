/**
 * A child process of a measurement: loads one contestant, does one role's part, and speaks with the measuring process.
 *
 *     node child.mjs <role> <contestant> <settings as JSON>
 */
import { contestant } from './contestants/index.mjs';
import { Inbox } from './inbox.mjs';
import { role } from './roles/index.mjs';

const [name, id, settings] = process.argv.slice(2);

const inbox = new Inbox();
process.on('message', ({ kind }) => inbox.put(kind));
process.on('disconnect', () => process.exit(1));

/** What a role may say and hear. */
const link = {
  tell: (kind, values = {}) => process.send({ kind, ...values }),
  hear: (kind) => inbox.take(kind),
};

try {
  const play = await role(name);
  const subject = id === '' ? undefined : await contestant(id);
  await play({ contestant: subject, settings: JSON.parse(settings), link });
  process.exit(0);
} catch (error) {
  console.error(error);
  process.exit(1);
}
