import { markdownOf } from './markdown.mjs';

const opening = `# Benchmarks

How fast this library is, beside other job queues and beside raw SQL, measured in one run on one machine. The figures say little about
another machine; the ratios say more. Measure your own: \`npm run bench\` in this repository (\`npm run bench -- --help\`).

All contestants take turns, round by round; shown are the medians with the lowest and the highest round, lost rounds included. Every
contestant has a fresh database of its own on the same server, at its default durability (the run stops where \`fsync\` or
\`synchronous_commit\` is off), vacuumed, analysed and checkpointed before each measurement. Redis, as it is set up here, does not
write to disk before it answers, so BullMQ on Redis promises less than the others.

"Raw SQL" is the limit: hand-written statements on the driver, on a table that keeps of a job what our promises need (a key that was made
outside, a type, retries, a claim that can be told from the next one), with nothing of a queue around it. "On a narrow table" shows
what giving up these columns would bring.

graphile-worker 0.18 and pg-boss 12 ask for Node.js 22; where the run says Node.js 20 they ran on that all the same.
`;

const introductions = {
  drain: `Jobs that do nothing wait in the storage and are run to the last. The clock runs from the word to go, given when all worker processes stand
connected, until the last job has run and is acknowledged. The processor time is that of the worker processes, and then of the whole machine.`,
  enqueue: `Jobs are stored, and each call is answered once its job is. "32 in flight" is what a busy web server does: 32 callers, each of whom waits for
its own job.`,
  latency: `From the call of enqueue to the start of the handler, while nothing else is to be done: it includes the storing. Between processes the
monotonic clock of the machine is compared.`,
  idle: `A worker process with an empty queue. On PostgreSQL the transactions of its database are counted, on Redis the commands of the server, elsewhere
the statements that the process sends, except for SQLite's PRAGMA data_version, by which it notices the commits of others.`,
  claim: `The claim itself, through the seam between engine and store, on a table that holds only the due jobs and on one with millions of others.`,
  limits: `Jobs under limits of the whole fleet and with keys, one process with 32 workers, beside jobs without; and one claim of a job with a key, through the
seam between engine and store, beside a crowd of jobs with keys. Types with limits are claimed for free workers only, in a transaction of their own.`,
  stall: `Statements on SQLite are synchronous: while one runs, nothing else does in that process. Looked at is the first process of each scene. The event
loop also stands still for handlers, here up to a thousand in a row that do nothing, and wherever the machine gives the processor to somebody else.`,
  memory: `The memory queue beside other queues in memory, each job an async function that does nothing.`,
};

const closing = `## Why some targets are missed

- **Drain on PostgreSQL against the peers.** On two cores one pipeline of raw SQL is itself about 1.6 times as fast as graphile-worker at its best,
  and ours comes near that pipeline. Most of a job's time is the server's: of some 29 ms for an exchange of 1 000 jobs, 14 are the update
  that marks them (the heap and each index whose condition it changes), 7 the delete, 4 the walk and the locks.
- **Two processes.** With two exchanges under way one process keeps both cores busy already.
- **SQLite.** Seven tenths of the time are spent inside SQLite, above all on the indexes that the promises need. Hand-written statements on
  our own table take some 19 µs a job with their share of the commit; on the small table of "raw SQL" it is 12.
- **MySQL and MariaDB.** The process is idle for 70 % of the time: the server takes about 40 µs for the delete and 30 for the update of a job.
- **Enqueue.** One by one, half of the time is the NOTIFY that wakes other processes, which raw SQL does not send. In bulk it is
  the checks, the ids and the columns.
- **Latency beside BullMQ.** Redis answers from memory; a commit waits for the disk, twice for a job that is stored and claimed.
- **A claim that finds nothing.** What the crowd adds are tenths of a millisecond: a few pages more on the way through larger indexes.
`;

/** The text of docs/benchmarks.md. */
export function benchmarksPage(results) {
  return `${opening}\n${markdownOf(results, introductions)}\n${closing}`;
}
