import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

/** A mail server that takes every mail and keeps it. */
export class MailServer {
  /** All mails, one after the other. */
  received = '';

  private constructor(private readonly server: Server) {
    server.on('connection', (socket) => void this.talk(socket));
  }

  static async start(): Promise<MailServer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new MailServer(server);
  }

  get url(): string {
    return `smtp://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.server.close();
  }

  private async talk(socket: Socket): Promise<void> {
    const say = (answer: string): boolean => socket.write(`${answer}\r\n`);
    let isInMail = false;
    say('220 ready');
    for await (const line of createInterface(socket)) {
      if (isInMail) {
        isInMail = line !== '.';
        this.received += `${line}\n`;
        if (!isInMail) say('250 taken');
      } else if (line === 'DATA') {
        isInMail = true;
        say('354 go on');
      } else if (line === 'QUIT') {
        socket.end('221 bye\r\n');
      } else {
        say('250 good');
      }
    }
  }
}
