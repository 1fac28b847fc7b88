import type { DataSourceOptions } from 'typeorm';

/** The database of one chaos run. */
export interface ChaosServer {
  /** For the report: what it is, and what cannot be done to it. */
  readonly title: string;
  /** The port that a proxy stands in front of; `undefined` for a file. */
  readonly port: number | undefined;
  /** Absent on a server that belongs to others. */
  readonly power: ServerPower | undefined;
  /** What a DataSource needs, through a proxy at this port. */
  options(port: number | undefined): DataSourceOptions;
  /** Stops it and removes what it has written. */
  close(): Promise<void>;
}

/** To switch a server off and on again. */
export interface ServerPower {
  stop(): Promise<void>;
  /** Ends it at once; it has to recover at its next start. */
  crash(): Promise<void>;
  start(): Promise<void>;
}
