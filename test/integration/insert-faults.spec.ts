import type { PersistentJobQueue } from 'nestjs-jobs';
import { forEachDatabase } from '../support/databases.js';
import { QueueRig } from '../support/queue-rig.js';
import { SqlFaults } from '../support/sql-faults.js';

const insertion = /INSERT INTO \S*rws_jobs[`"]?\s/;
const mostInFlight = 32;

forEachDatabase((database) => {
  let rig: QueueRig;
  let faults: SqlFaults;
  let queue: PersistentJobQueue;

  beforeEach(async () => {
    rig = new QueueRig(await database.connect());
    faults = new SqlFaults(database);
    queue = await rig.queue();
  });

  afterEach(async () => {
    faults.restore();
    await rig.close();
    // With the trigger.
    await database.clear();
  });

  /** Enqueues jobs, a number in flight all the time; resolves to the ids that were acknowledged, and to what was said of the others. */
  async function enqueueAll(jobs: number): Promise<{ readonly acknowledged: string[]; readonly errors: unknown[] }> {
    const acknowledged: string[] = [];
    const errors: unknown[] = [];
    let next = 0;
    const produce = async (): Promise<void> => {
      while (next < jobs) {
        const number = next++;
        await queue.enqueue('work', number).then(
          (id) => acknowledged.push(id),
          (error: unknown) => errors.push(error),
        );
      }
    };
    await Promise.all(Array.from({ length: mostInFlight }, produce));
    return { acknowledged, errors };
  }

  it.each([
    ['fail', false],
    ['take effect, but their answers are lost', true],
  ])('while statements that store jobs %s, every acknowledged job is there, and none twice', async (_what, isDone) => {
    if (database.isSqlite && isDone) return;
    faults.fail({ statement: insertion, times: 3, error: 'connection', isDone });
    const { acknowledged, errors } = await enqueueAll(1_000);

    expect(faults.hits).toBe(3);
    expect(errors.length).toBeGreaterThan(0);
    expect(errors.map((error) => Reflect.get(Object(error), 'code'))).toEqual(errors.map(() => 'JOBS_STORE'));
    const rows = await rig.rows();
    const ids = rows.map(({ id }) => id);
    expect(acknowledged.filter((id) => !ids.includes(id))).toEqual([]);
    expect(new Set(rows.map(({ payload }) => payload)).size).toBe(rows.length);
    if (!isDone) expect(rows.length).toBe(acknowledged.length);
    expect(acknowledged.length + errors.length).toBe(1_000);
  });

  it('a statement that the database asks to repeat costs nobody anything', async () => {
    faults.fail({ statement: insertion, times: 3, error: 'passing' });

    const { acknowledged, errors } = await enqueueAll(200);

    expect(errors).toEqual([]);
    expect((await rig.rows()).map(({ id }) => id).toSorted()).toEqual(acknowledged.toSorted());
  });

  it('a job that the database refuses takes none of those with it that travel with it', async () => {
    await refuse();

    const ends = await Promise.allSettled([
      ...Array.from({ length: 20 }, (_unused, n) => queue.enqueue('work', n)),
      queue.enqueue('refused'),
      ...Array.from({ length: 20 }, (_unused, n) => queue.enqueue('work', 100 + n)),
    ]);

    expect(ends.map(({ status }) => status)).toEqual(
      Array.from({ length: 41 }, (_unused, n) => (n === 20 ? 'rejected' : 'fulfilled')),
    );
    expect((await rig.rows()).map(({ job_type: type }) => type)).toEqual(Array.from({ length: 40 }, () => 'work'));
  });

  /** Lets the database refuse every job of one type, as a constraint of the app's own may. */
  async function refuse(): Promise<void> {
    const sqlite =
      "CREATE TRIGGER refuse BEFORE INSERT ON rws_jobs WHEN NEW.job_type = 'refused' BEGIN SELECT RAISE(ABORT, 'no'); END";
    const statements = {
      'sqlite-file': [sqlite],
      'sqlite-memory': [sqlite],
      postgres: ["ALTER TABLE rws_jobs ADD CONSTRAINT refuse CHECK (job_type <> 'refused')"],
      mysql: [
        `CREATE TRIGGER refuse BEFORE INSERT ON rws_jobs FOR EACH ROW
          IF NEW.job_type = 'refused' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'; END IF`,
      ],
    };
    for (const statement of statements[database.name]) await rig.dataSource.query(statement);
  }
});
