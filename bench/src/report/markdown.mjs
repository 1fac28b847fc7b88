import { show } from '../in-turns.mjs';
import { advantage, judge } from '../targets.mjs';

const titles = {
  drain: 'Drain',
  enqueue: 'Enqueue',
  latency: 'Latency on an idle system',
  idle: 'Cost of an idle worker process',
  claim: 'The claim beside millions of other jobs',
  memory: 'Memory queue',
};

/**
 * The results of a run as a page.
 *
 * @param {import('./results.mjs').Results} results
 * @param {Record<string, string>} introductions A paragraph for each kind of work.
 */
export function markdownOf(results, introductions = {}) {
  const kinds = [...new Set(results.rows.map(({ kind }) => kind))];
  return [
    ...aboutOf(results),
    ...targetsOf(results.rows),
    ...kinds.flatMap((kind) => sectionOf(kind, results.rows, introductions[kind])),
    ...settingsOf(results.rows),
    ...plansOf(results.attachments),
  ].join('\n');
}

function aboutOf({ date, command, machine, versions, servers }) {
  const listed = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  return [
    '## The run',
    '',
    `- Date: ${date}`,
    `- Command: \`${command}\``,
    `- Machine: ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, ${machine.system}, Node.js ${machine.node}`,
    `- Versions: ${listed.join(', ')}`,
    ...servers.map(({ name, version, settings }) => `- ${name} ${version}: ${pairs(settings)}`),
    '',
  ];
}

function pairs(settings) {
  return Object.entries(settings)
    .map(([name, value]) => `${name} = ${value}`)
    .join(', ');
}

function targetsOf(rows) {
  const words = { true: 'met', false: '**missed**', undefined: 'not measured' };
  const lines = judge(rows).map(({ target, reached, isMet }) => [target, reached, words[String(isMet)]]);
  return lines.length === 0 ? [] : ['## Targets', '', ...table(['target', 'reached', ''], lines), ''];
}

function sectionOf(kind, rows, introduction) {
  const own = rows.filter((row) => row.kind === kind);
  const groups = [...new Set(own.map(({ group }) => group))];
  const tables = groups.flatMap((group) =>
    groupOf(
      group,
      own.filter((row) => row.group === group),
    ),
  );
  return [`## ${titles[kind] ?? kind}`, '', ...(introduction === undefined ? [] : [introduction, '']), ...tables];
}

/** One table for each unit: figures of different units can not be compared. */
function groupOf(group, rows) {
  const units = [...new Set(rows.map(({ unit }) => unit))];
  return units.flatMap((unit) => [
    `### ${group}`,
    '',
    ...tableOf(
      unit,
      rows.filter((row) => row.unit === unit),
    ),
    '',
  ]);
}

function tableOf(unit, rows) {
  const own = rows.find(({ id }) => /^(ours|memory-ours)/.test(id));
  const heads = ['', `${unit}, median`, 'min', 'max', 'rounds', ...(own === undefined ? [] : ['nestjs-jobs is'])];
  return table(
    heads,
    rows.map((row) => lineOf(row, own)),
  );
}

function lineOf(row, own) {
  const name = row.note === undefined ? row.name : `${row.name} (${row.note})`;
  const cells = [name, show(row.median), show(row.min), show(row.max), String(row.values.length)];
  if (own === undefined) return cells;
  return [...cells, own === row ? '' : `${show(advantage(own, row))} × as good`];
}

function settingsOf(rows) {
  const settings = rows.filter(({ setting }) => setting !== '').map(({ name, setting }) => `- ${name}: ${setting}`);
  return ['## Settings', '', ...new Set(settings), ''];
}

function plansOf(attachments) {
  if (attachments.length === 0) return [];
  const blocks = attachments.flatMap(({ title, plans }) => [
    `### ${title}`,
    '',
    ...plans.flatMap(({ text, plan }) => ['```sql', text, '```', '', '```text', plan, '```', '']),
  ]);
  return ['## How the databases run the claim', '', ...blocks];
}

function table(heads, lines) {
  const rule = heads.map((_, index) => (index === 0 ? '---' : '---:'));
  return [heads, rule, ...lines].map((cells) => `| ${cells.join(' | ')} |`);
}
