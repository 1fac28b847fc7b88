import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';

interface Pair {
  readonly client: Socket;
  readonly upstream: Socket;
  /** Nothing of it moves any more, and nobody is told. */
  isFrozen: boolean;
}

/** A TCP proxy in front of a database server that can be told to misbehave. */
export class Proxy {
  private readonly pairs = new Set<Pair>();
  private readonly server: Server;
  private isStalled = false;
  private isDeaf = false;
  private isRefusing = false;
  private isFull = false;

  constructor(private readonly target: { readonly port: number }) {
    this.server = createServer((client) => this.accept(client));
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
  }

  /** Breaks all connections. */
  cut(): void {
    for (const { client, upstream } of this.pairs) {
      client.resetAndDestroy();
      upstream.destroy();
    }
  }

  /** Breaks all connections and each new one until `resume`. */
  refuse(): void {
    this.isRefusing = true;
    this.cut();
  }

  /** Refuses each new connection until `resume`; those that are open go on, as with a server that takes no more. */
  fill(): void {
    this.isFull = true;
  }

  /** Carries nothing in either direction until `resume`. */
  stall(): void {
    this.isStalled = true;
    this.steerAll();
  }

  /** Carries no answers until `resume`: statements take effect and nobody hears of it. */
  deafen(): void {
    this.isDeaf = true;
    this.steerAll();
  }

  /** The connections of now go silent for ever, as if a cable had been cut; new ones work. */
  freeze(): void {
    for (const pair of this.pairs) pair.isFrozen = true;
    this.steerAll();
  }

  /** Behaves again. Frozen connections stay as they are. */
  resume(): void {
    this.isStalled = this.isDeaf = this.isRefusing = this.isFull = false;
    this.steerAll();
  }

  async close(): Promise<void> {
    this.refuse();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private accept(client: Socket): void {
    client.on('error', () => undefined);
    if (this.isRefusing || this.isFull) {
      client.destroy();
      return;
    }
    const upstream = connect(this.target.port, '127.0.0.1');
    upstream.on('error', () => undefined);
    const pair: Pair = { client, upstream, isFrozen: false };
    this.pairs.add(pair);
    join(pair, () => this.pairs.delete(pair));
    this.steer(pair);
  }

  private steerAll(): void {
    for (const pair of this.pairs) this.steer(pair);
  }

  private steer({ client, upstream, isFrozen }: Pair): void {
    if (this.isStalled || isFrozen) client.pause();
    else client.resume();
    if (this.isStalled || this.isDeaf || isFrozen) upstream.pause();
    else upstream.resume();
  }
}

/** Carries the bytes across; the end of one side is the end of the other. */
function join({ client, upstream }: Pair, onEnd: () => void): void {
  for (const socket of [client, upstream]) socket.setNoDelay(true);
  client.on('data', (bytes) => upstream.write(bytes));
  upstream.on('data', (bytes) => client.write(bytes));
  const end = (): void => {
    client.destroy();
    upstream.destroy();
    onEnd();
  };
  client.on('close', end);
  upstream.on('close', end);
}
