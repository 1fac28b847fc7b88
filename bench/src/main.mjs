import { helpText, readArguments } from './arguments.mjs';
import { serverOf } from './contestants/index.mjs';
import { kinds } from './kinds/index.mjs';
import { describeMachine, describeVersions, findServers } from './machine.mjs';
import { markdownOf } from './report/markdown.mjs';
import { joinResults, readResults, writeDocs, writeResults } from './report/results.mjs';

const args = process.argv.slice(2);
/** Progress goes beside the results, so that these can be sent elsewhere. */
const say = (line) => process.stderr.write(`${line}\n`);
const wanted = understand();

if (wanted.help) console.log(helpText());
else
  await report(
    wanted.render === undefined ? await measure() : joinResults(await Promise.all(wanted.render.map(readResults))),
  );

function understand() {
  try {
    return readArguments(args);
  } catch (error) {
    say(error.message);
    process.exit(1);
  }
}

async function measure() {
  const servers = await findServers(say);
  const results = {
    date: new Date().toISOString(),
    command: ['npm run bench --', ...args].join(' '),
    machine: await describeMachine(),
    versions: await describeVersions(),
    servers,
    rows: [],
    attachments: [],
  };
  const select = (ids) => ids.filter((id) => wanted.contestants.includes(id) && isThere(servers, id));
  const attach = (attachment) => results.attachments.push(attachment);
  for (const kind of kinds.filter(({ name }) => wanted.kinds.includes(name))) {
    say(`${kind.name}: ${kind.description}`);
    results.rows.push(...(await kind.run({ ...wanted, servers, select, say, attach })));
  }
  for (const file of await writeResults(results)) say(`written: ${file}`);
  return results;
}

function isThere(servers, id) {
  return servers.some((server) => server.id === serverOf(id));
}

async function report(results) {
  console.log(markdownOf(results));
  if (wanted.writeDocs) say(`written: ${await writeDocs(results)}`);
}
