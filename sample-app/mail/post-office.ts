import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { createTransport, type SendMailOptions } from 'nodemailer';
import { configToken, type Config } from '../config.js';

/** Sends one mail. */
type Delivery = (jobId: string, mail: SendMailOptions) => Promise<void>;

/** Hands mails to the server of `SMTP_URL`; without one, writes them to the outbox as files that any mail program opens. */
@Injectable()
export class PostOffice implements OnModuleDestroy {
  private readonly deliver: Delivery;
  private closeTransport: () => void = () => undefined;

  constructor(@Inject(configToken) { smtpUrl, outboxFolder }: Config) {
    this.deliver = smtpUrl === undefined ? this.toFiles(outboxFolder) : this.toServer(smtpUrl);
  }

  /** The queue has stopped when this is called: jobs end before the services that they use. */
  onModuleDestroy(): void {
    this.closeTransport();
  }

  /**
   * Sends a mail that carries the job's id: a job may run again after a crash, and its mail should be recognised then.
   *
   * @throws what the transport throws.
   */
  send(jobId: string, mail: SendMailOptions): Promise<void> {
    return this.deliver(jobId, { ...mail, messageId: `<${jobId}@sample-app.example>` });
  }

  private toServer(url: string): Delivery {
    const transport = createTransport(url);
    this.closeTransport = () => transport.close();
    return async (_jobId, mail) => {
      await transport.sendMail(mail);
    };
  }

  private toFiles(folder: string): Delivery {
    const transport = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
    return async (jobId, mail) => {
      const { message } = await transport.sendMail(mail);
      const file = join(folder, `${jobId}.eml`);
      await mkdir(folder, { recursive: true });
      // The same job writes the same file, and a crash leaves no half of it.
      await writeFile(`${file}.part`, message);
      await rename(`${file}.part`, file);
    };
  }
}
