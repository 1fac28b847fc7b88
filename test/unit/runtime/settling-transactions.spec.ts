import { Attempt } from '../../../lib/execution/attempt.js';
import { SettlingTransactions } from '../../../lib/runtime/settling-transactions.js';
import { aClaimedJob } from '../../support/a-job.js';

describe('SettlingTransactions', () => {
  const silent = { debug: () => undefined, log: () => undefined, warn: () => undefined, error: () => undefined };

  it('calls no handler whose permit has run out while it waited for its connection', async () => {
    let now = 100;
    const did: string[] = [];
    const transaction = {
      manager: {},
      run: <T>(work: () => T): T => work(),
      recall: () => Promise.resolve(undefined),
      commit: () => Promise.resolve(Boolean(did.push('commit'))),
      rollback: async () => void did.push('rollback'),
      kill: () => Promise.resolve(),
    };
    const begin = () => {
      now += 50;
      return Promise.resolve(transaction);
    };
    const transactions = new SettlingTransactions({ begin }, { now: () => now, monotonic: () => now });
    const attempt = new Attempt(aClaimedJob(), now, { makeLogger: () => silent });
    attempt.startsBy = 120;
    attempt.onLate = () => void did.push('late');
    attempt.begin(now);

    const execution = await transactions.execute(attempt, {
      run: () => Promise.resolve(did.push('run')),
      conclude: () => ({ outcome: { kind: 'completed' } }),
    });

    expect(execution).toEqual({ outcome: { kind: 'released', delayMs: 0 } });
    expect(did).toEqual(['late', 'rollback']);
    expect(attempt.hasBegun).toBe(false);
  });
});
