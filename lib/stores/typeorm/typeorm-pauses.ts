import type { Pauses, PauseTarget } from '../pauses.js';
import type { AdminSql } from './admin/admin-sql.js';
import { freePauseStatement, pausesStatement } from './admin/pause-statements.js';
import { toText } from './job-row.js';
import { pauseSlot, toPause } from './slot.js';
import { inStore } from './store-error.js';

/** Pauses in the table of slots, which a claim looks at in the same statement. */
export class TypeOrmPauses implements Pauses {
  /** @param wake Called when jobs may have become due. */
  constructor(
    private readonly sql: AdminSql,
    private readonly wake: () => void,
  ) {}

  pause(target: PauseTarget): Promise<boolean> {
    return inStore('pause jobs', async () => {
      const isNew = !(await this.slots()).includes(pauseSlot(target));
      await this.sql.write((sql) => this.sql.words.takeSlot(sql, pauseSlot(target)));
      return isNew;
    });
  }

  resume(target: PauseTarget): Promise<boolean> {
    return inStore('resume jobs', async () => {
      const changes = await this.sql.write((sql) => freePauseStatement(sql, pauseSlot(target)));
      this.wake();
      // Waking is a hint: the change is made, and nobody must be told that it failed.
      await this.sql.announce().catch(() => undefined);
      return changes > 0;
    });
  }

  list(): Promise<readonly PauseTarget[]> {
    return inStore('look at what is paused', async () =>
      (await this.slots()).map(toPause).filter((target) => target !== undefined),
    );
  }

  private async slots(): Promise<readonly string[]> {
    return (await this.sql.read(pausesStatement)).map((row) => toText(row['slot']));
  }
}
