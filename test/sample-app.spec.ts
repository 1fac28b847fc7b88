import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Transactions } from '../sample-app/database/transactions.js';
import { killChildren, type Child } from './support/child.js';
import { forEachDatabase, type TestDatabase } from './support/databases.js';
import { MailServer } from './support/mail-server.js';
import { until } from './support/until.js';
import { UserProject } from './support/user-project.js';

/** Longer than everything else here takes. */
const forEver = '600000';

let project: UserProject;
let folder: string;
let cleanUp: () => unknown = () => undefined;

beforeAll(async () => {
  project = await UserProject.create();
  await project.copy('tsconfig.json', 'sample-app');
  await project.compile('-p', 'sample-app/tsconfig.build.json');
}, 60_000);
afterAll(() => project?.remove());

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nestjs-jobs-sample-'));
});

afterEach(async () => {
  killChildren();
  cleanUp();
  await rm(folder, { recursive: true, force: true });
});

/** Starts the sample, with a folder of its own for whatever it writes. */
function startSample(database: TestDatabase, args: readonly string[], env: NodeJS.ProcessEnv = {}): Child {
  const options: object = database.options();
  const settings = {
    PORT: '0',
    DATABASE_URL: 'url' in options ? String(options.url) : '',
    SMTP_URL: '',
    SAMPLE_DATA: join(folder, 'data'),
    SAMPLE_OUTBOX: join(folder, 'outbox'),
    SLOW: '100',
    LEASE: '1000',
  };
  return project.run(['sample-app/dist/main.js', ...args], { ...settings, ...env });
}

/** The mails in the outbox, whole; not what is just being written. */
async function readMails(): Promise<readonly string[]> {
  const files = (await readdir(join(folder, 'outbox'))).filter((file) => file.endsWith('.eml'));
  return Promise.all(files.map((file) => readFile(join(folder, 'outbox', file), 'utf8')));
}

async function urlOf(sample: Child): Promise<string> {
  await sample.prints('What to try next');
  return /listens on (http\S+)/.exec(sample.output)?.[1] ?? '';
}

function signUp(url: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(`${url}/signup`, { method: 'POST', headers, body: JSON.stringify(body) });
}

/** A service that is up, with a job in the middle of a mail that does not end. */
async function startWithSlowMail(database: TestDatabase, slowMs: string): Promise<Child> {
  const sample = startSample(database, ['--serve'], { SLOW: slowMs });
  const response = await signUp(await urlOf(sample), { name: 'Kim', email: 'kim@slow.example' });
  expect(response.status).toBe(201);
  await sample.prints('sending, attempt 1');
  return sample;
}

forEachDatabase(
  (database) => {
    afterEach(() => database.clear());

    it('signs people up, sends their mails, shows a retry and a failed job, and exits with 0', async () => {
      const sample = startSample(database, ['--once']);

      expect({ ...(await sample.ended), output: sample.output }).toEqual({
        code: 0,
        signal: null,
        output: expect.stringMatching(
          new RegExp(
            [
              '409 .* no second job',
              'Ada +got a mail: .*eml',
              'Grace +got a mail: .*eml',
              'Fay +got a mail, at attempt 2: .*eml',
              'Sam +got a mail: .*eml',
              'Bob +failed after 3 attempts, the row stays: 550 5.1.1 mailbox does not exist',
              'All as it should be',
            ].join('[^]*'),
          ),
        ),
      });
      expect(await readMails()).toHaveLength(4);
    });

    it('sends the mail that a killed process was in the middle of', async () => {
      const killed = await startWithSlowMail(database, forEver);
      killed.kill('SIGKILL');
      await killed.ended;

      const next = startSample(database, ['--once']);

      expect(await next.ended).toEqual({ code: 0, signal: null });
      expect(next.output).toContain('1 job(s) of an earlier run');
      const mails = (await readMails()).filter((mail) => mail.includes('kim@slow.example'));
      expect(mails).toEqual([expect.stringContaining('Hello Kim')]);
    });
  },
  ['sqlite-file', 'postgres', 'mysql'],
);

forEachDatabase(
  (database) => {
    afterEach(() => database.clear());

    it('can be run again', async () => {
      await startSample(database, ['--once']).ended;

      const second = startSample(database, ['--once']);

      expect(await second.ended).toEqual({ code: 0, signal: null });
      expect(await readMails()).toHaveLength(8);
    });

    it('ends with a non-zero code when the mails are not there', async () => {
      // A file stands where the outbox should be, so no mail can be written.
      const sample = startSample(database, ['--once'], { SAMPLE_OUTBOX: join(project.folder, 'package.json') });

      expect(await sample.ended).toEqual({ code: 1, signal: null });
      expect(sample.output).toContain('Not as it should be');
    });

    it('finishes the mail under way when it is stopped', async () => {
      const sample = await startWithSlowMail(database, '500');

      sample.kill('SIGTERM');

      expect(await sample.ended).toEqual({ code: 0, signal: null });
      expect(await readMails()).toEqual([expect.stringContaining('Hello Kim')]);
    });

    it('refuses what is no signup, and an address that has signed up already', async () => {
      const url = await urlOf(startSample(database, ['--serve']));
      const answers = [];
      for (const body of [
        { name: 'Ada', email: 'ada@one.example' },
        { name: 'Ada', email: 'ADA@one.example' },
        { name: 'Ada', email: 'ada' },
        { name: '', email: 'grace@one.example' },
        { name: 'Ada\nBcc: all', email: 'grace@one.example' },
      ]) {
        answers.push((await signUp(url, body)).status);
      }

      expect(answers).toEqual([201, 409, 400, 400, 400]);
    });

    it('lets transactions on the one connection take turns', async () => {
      const transactions = new Transactions(await database.connect());
      const turns: string[] = [];
      const run = (name: string): Promise<void> =>
        transactions.run(async () => {
          turns.push(`${name} begins`);
          await new Promise(setImmediate);
          turns.push(`${name} ends`);
          if (name === 'first') throw new Error('rolled back');
        });

      const settled = await Promise.allSettled([run('first'), run('second')]);

      expect(settled.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
      expect(turns).toEqual(['first begins', 'first ends', 'second begins', 'second ends']);
    });

    it('signs up many people at once', async () => {
      const url = await urlOf(startSample(database, ['--serve']));
      const people = Array.from({ length: 20 }, (_, index) => ({ name: 'Ada', email: `ada${index % 15}@one.example` }));

      const statuses = await Promise.all(people.map(async (person) => (await signUp(url, person)).status));

      expect(statuses.filter((status) => status === 201)).toHaveLength(15);
      expect(statuses.filter((status) => status === 409)).toHaveLength(5);
    });

    it('shows no payload', async () => {
      const sample = startSample(database, ['--serve']);
      const url = await urlOf(sample);
      const response = await signUp(url, { name: 'Bob', email: 'bob@bounce.example' });
      const { userId } = (await response.json()) as { readonly userId: string };
      await sample.prints('failed permanently');

      const jobs = await (await fetch(`${url}/jobs`)).text();

      expect(jobs).toContain('"status":"failed"');
      expect(jobs + sample.output).not.toContain(userId);
    });

    it('hands its mails to a mail server', async () => {
      const server = await MailServer.start();
      cleanUp = () => server.stop();

      const sample = startSample(database, ['--once'], { SMTP_URL: server.url });

      expect(await sample.ended).toEqual({ code: 0, signal: null });
      expect(server.received).toMatch(/^Subject: Welcome, Fay!$/m);
    });

    it('counts signups by domain on the memory queue', async () => {
      const url = await urlOf(startSample(database, ['--serve']));
      await signUp(url, { name: 'Ada', email: 'ada@one.example' });
      const statistics = async (): Promise<unknown> => (await fetch(`${url}/stats`)).json();

      await until(async () => isEqual(await statistics(), { 'one.example': 1 }));
    });

    it('sends a digest of the day each night, and one now for those who ask', async () => {
      const url = await urlOf(startSample(database, ['--serve']));
      await signUp(url, { name: 'Ada', email: 'ada@one.example' });
      await until(async () => (await fetch(`${url}/digest`)).ok);

      const runs = (await (await fetch(`${url}/digest`)).json()) as readonly string[];
      const asked = await fetch(`${url}/digest`, { method: 'POST' });

      expect(runs.map((run) => /T2[01]:00:00.000Z$/.test(run))).toEqual([true, true, true]);
      expect(asked.status).toBe(202);
      await until(async () => (await readMails()).some((mail) => /^Subject: Signups today: 1/m.test(mail)));
      expect((await readMails()).find((mail) => mail.includes('team@sample-app.example'))).toContain('- Ada');
    });

    it('sends one reminder, at the time that was asked for last', async () => {
      const url = await urlOf(startSample(database, ['--serve']));
      await signUp(url, { name: 'Ada', email: 'ada@one.example' });
      const remind = async (inSeconds: number, email = 'ada@one.example'): Promise<unknown> => {
        const headers = { 'content-type': 'application/json' };
        const body = JSON.stringify({ email, inSeconds });
        return (await fetch(`${url}/reminders`, { method: 'POST', headers, body })).json();
      };

      const first = await remind(3_600);
      const second = await remind(0);

      expect(first).toEqual({ jobId: expect.any(String), outcome: 'stored' });
      expect(second).toEqual({ ...(first as object), outcome: 'replaced' });
      expect(await remind(0, 'nobody@one.example')).toMatchObject({ statusCode: 404 });
      expect(await remind(-1)).toMatchObject({ statusCode: 400 });
      const reminders = async (): Promise<readonly string[]> =>
        (await readMails()).filter((mail) => /^Subject: A reminder for you, Ada/m.test(mail));
      await until(async () => (await reminders()).length > 0);
      expect(await reminders()).toHaveLength(1);
    });

    it('takes a free port when its own is taken, and says so', async () => {
      const server = createServer();
      cleanUp = () => server.close();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;

      const sample = startSample(database, ['--serve'], { PORT: String(port) });

      await sample.prints(`Port ${port} is taken`);
      expect((await signUp(await urlOf(sample), { name: 'Ada', email: 'ada@one.example' })).status).toBe(201);
    });
  },
  ['sqlite-file'],
);

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
