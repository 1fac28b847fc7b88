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

- **Drain on PostgreSQL against the peers.** Both cores are busy, so what counts is the processor time of a job, the server's with it: twice as
  fast as graphile-worker, which takes 45 µs, means at most 23 µs, and that is what one pipeline of raw SQL takes. Ours takes 38: 16 in the process
  (raw SQL 8), 22 in the server (raw SQL 14). Of the server's part the update that marks a job is the largest, here as in raw SQL; what ours adds
  is the comparison of each claim with its owner's token, the look for streams and for pauses, and smaller batches. One exchange of 500 jobs alone takes
  13 µs a job of the server (raw SQL 10.5), two at a time on one table 19 to 22. Larger batches help: with \`prefetch: 2000\` a drain was 10 %
  faster, with 4000 16 %, but a crash may repeat as many jobs, so it stays at 1 000. From run to run ours is 0.63 to
  0.77 of raw SQL.
- **Two processes.** With two exchanges under way one process keeps both cores busy already, so the second one can add little, and it costs some 0.4 s
  of processor time, its own and the server's, until it is at its pace: that is much of a run of 1.2 s. Four times as many jobs show it
  (medians of three rounds, in a run of their own): 45 400 jobs/s in one process, 46 300 in two. graphile-worker gains more from the second one there,
  37 100 and 46 600, and raw SQL 72 100 and 87 300. Passing over the rows that others are just claiming is not what costs: a condition that spared their
  locks changed nothing. With one exchange a process, two of them were up to 17 % faster, and one alone 13 to 23 % slower.
- **SQLite.** Most of the time is spent inside SQLite, above all on the indexes that the promises need. Hand-written statements on
  our own table take half as long again as on the small table of "raw SQL".
- **MySQL and MariaDB.** The process is idle for more than half of the time: of 85 µs a job, the server takes 62, for the delete and the update
  with all their indexes (raw SQL 41).
- **Enqueue.** One by one, what is missing is the NOTIFY that wakes other processes, which raw SQL does not send. In bulk it is
  the checks, the ids and the columns.
- **Latency beside BullMQ.** Redis answers from memory; a commit waits for the disk, twice for a job that is stored and claimed.
- **Latency beside graphile-worker.** Both take some 4 ms, most of it two commits; which one is ahead changes from round to round.
- **A claim that finds nothing.** What the crowd adds are tenths of a millisecond: a few pages more on the way through larger indexes.
`;

/** The text of docs/benchmarks.md. */
export function benchmarksPage(results) {
  return `${opening}\n${markdownOf(results, introductions)}\n${closing}`;
}
