import { DataSource, type DataSourceOptions } from 'typeorm';
import { startTimer } from '../../model/timer.js';

/** Shows in `pg_stat_activity` which connections are the store's own. */
const applicationName = 'nestjs-jobs';
/** A connection without an answer for so long is given up. Above it nothing that the store does is normal. */
export const answerMs = 30_000;
const connectMs = 10_000;
/** Longer than the upkeep rests: a connection made anew each time costs the server more than one that waits. */
const idleMs = 45_000;
const closeMs = 2_000;
/** The server would compile a claim from many types, whose cost it overrates, for seconds, to run it for a millisecond. */
const withoutJit = 'SET jit = off';

/** Names of settings of the server, with their values. */
export type StartUp = Readonly<Record<string, string>>;

interface OwnParts {
  readonly connections: number;
  readonly startUp: StartUp | undefined;
}

/** An object by whose keys one may ask; what a driver's options are made of. */
type Bag = Readonly<Record<string, unknown>>;

/**
 * Opens a small DataSource beside the app's, to the same database with the same rights. A store with connections of its own
 * gets its heartbeat through when handlers hold the whole pool of the app, and its statements into no log.
 *
 * It has no entities, subscribers or migrations, and never synchronizes or drops anything. With replication it goes to the master.
 *
 * @param startUp PostgreSQL: settings with which each connection begins. Without them it switches JIT off by a statement.
 */
export async function openOwnDataSource(app: DataSource, connections: number, startUp?: StartUp): Promise<DataSource> {
  const own = new DataSource(ownOptions(app.options, { connections, startUp }));
  return own.initialize();
}

/**
 * Closes it, and waits for that a moment: a server that does not answer must not hold up a shutdown. What is under way then ends by its
 * own time-out. A connection that breaks over it is closed as well.
 *
 * @param own May still be on its way.
 */
export async function closeOwnDataSource(own: DataSource | Promise<DataSource>): Promise<void> {
  let stopTimer = (): void => {};
  const overdue = new Promise<void>((resolve) => {
    stopTimer = startTimer(closeMs, resolve, 'unref');
  });
  const closed = Promise.resolve(own)
    .then((opened) => opened.destroy())
    .catch(() => undefined);
  await Promise.race([closed, overdue]).finally(() => stopTimer());
}

function ownOptions(app: DataSourceOptions, parts: OwnParts): DataSourceOptions {
  const options: Bag = { ...app };
  const { replication } = options;
  const master = isBag(replication) && isBag(replication['master']) ? replication['master'] : {};
  const given = isBag(options['extra']) ? options['extra'] : {};
  return Object.assign({}, app, master, {
    replication: undefined,
    entities: [],
    subscribers: [],
    migrations: [],
    extensions: undefined,
    installExtensions: false,
    synchronize: false,
    migrationsRun: false,
    dropSchema: false,
    cache: false,
    logging: false,
    logger: undefined,
    logNotifications: false,
    maxQueryExecutionTime: undefined,
    poolSize: parts.connections,
    poolErrorHandler: ignoreError,
    ...driverOptions(app.type, given, parts),
  });
}

function driverOptions(type: DataSourceOptions['type'], given: Bag, parts: OwnParts): Bag {
  if (type === 'postgres') return { extra: postgresExtra(given, parts) };
  return {
    charset: 'utf8mb4',
    flags: undefined,
    debug: false,
    trace: false,
    multipleStatements: false,
    extra: mysqlExtra(given, parts.connections),
  };
}

function postgresExtra(given: Bag, { connections, startUp }: OwnParts): Bag {
  return {
    connectionTimeoutMillis: connectMs,
    ...given,
    application_name: applicationName,
    max: connections,
    min: 0,
    idleTimeoutMillis: idleMs,
    allowExitOnIdle: true,
    keepAlive: true,
    query_timeout: answerMs,
    ...(startUp === undefined ? {} : { options: startUpText(given['options'], startUp) }),
    verify: heard(given['verify'], startUp === undefined ? withoutJit : undefined),
  };
}

type Verify = (client: PgConnection, done: (error?: unknown) => void) => void;

interface PgConnection {
  query(text: string): Promise<unknown>;
  on(event: 'error', listener: () => void): unknown;
}

/**
 * What `pg` does with each new connection before its first use. From then on the connection's own errors are heard: the pool hears them
 * only while the connection is idle, and one that nobody hears ends the process. Whoever uses the connection learns the same from the
 * statement that fails.
 */
function heard(given: unknown, statement: string | undefined): Verify {
  return (client, done) => {
    client.on('error', ignoreError);
    const goOn = (): void => {
      if (typeof given === 'function') (given as Verify)(client, done);
      else done();
    };
    if (statement === undefined) goOn();
    else client.query(statement).then(goOn, goOn);
  };
}

/** As the server takes it with the first message of a connection. */
function startUpText(given: unknown, startUp: StartUp): string {
  const ours = Object.entries(startUp).map(([name, value]) => `-c ${name}=${value}`);
  return [...(typeof given === 'string' ? [given] : []), ...ours].join(' ');
}

function mysqlExtra(given: Bag, connections: number): Bag {
  return {
    connectTimeout: connectMs,
    ...given,
    charset: 'utf8mb4',
    connectionLimit: connections,
    waitForConnections: true,
    queueLimit: 0,
    multipleStatements: false,
    flags: undefined,
    namedPlaceholders: false,
    rowsAsArray: false,
    typeCast: true,
  };
}

/** The pool drops a connection that is broken, and opens another when it is needed. */
function ignoreError(): void {}

function isBag(value: unknown): value is Bag {
  return typeof value === 'object' && value !== null;
}
