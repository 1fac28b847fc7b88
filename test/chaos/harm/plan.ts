import type { Harm } from '../ledger/fact.js';
import type { ChaosOptions } from '../options.js';
import { Random } from '../random.js';
import { terms } from '../terms.js';

/** One piece of harm: when, what, to whom and for how long. */
export interface PlannedHarm {
  readonly what: Harm;
  /** Milliseconds after the start. */
  readonly at: number;
  readonly ms: number;
  /** The place of the target among the members: workers come first. */
  readonly target: number;
}

type Weights = Readonly<Partial<Record<Harm, number>>>;

/** How often each kind comes, in all databases and in those behind a network. */
const processHarms: Weights = { kill: 5, terminate: 4, stop: 4 };
const networkHarms: Weights = { cut: 4, deafen: 4, stall: 4, refuse: 2, freeze: 1 };
const fileHarms: Weights = { lock: 4 };

/** How long each kind lasts, as parts of a lease; the rest is over at once. */
const lasting: Readonly<Partial<Record<Harm, readonly [least: number, most: number]>>> = {
  stop: [0.1, 2],
  deafen: [0.01, 0.3],
  stall: [0.1, 2],
  refuse: [0.1, 2],
  restart: [0, 1.5],
  crash: [0, 1.5],
  lock: [0.05, 1],
};

/** Mean time between two pieces of harm to the same process, milliseconds. */
const pauseMs = 7_000;

/** What a run can do harm to. */
export interface Reach {
  readonly hasNetwork: boolean;
  readonly hasPower: boolean;
}

/** The whole schedule of a run: the same for the same seed. */
export function planHarm({ seed, durationMs, workers, producers }: ChaosOptions, reach: Reach): readonly PlannedHarm[] {
  const random = new Random(seed, 'harm');
  const weights: Weights = { ...processHarms, ...(reach.hasNetwork ? networkHarms : fileHarms) };
  const plan: PlannedHarm[] = [];
  const pause = (): number => random.between(0, (2 * pauseMs) / (workers + producers));
  for (let at = pause(); at < durationMs; at += pause()) {
    const what = random.weighted(weights);
    // Workers are the ones to be tested; producers get their share.
    const target = random.next() < 0.75 ? random.between(0, workers - 1) : workers + random.between(0, producers - 1);
    plan.push({ what, at, target, ms: lengthOf(what, random) });
  }
  if (reach.hasPower) plan.push(...planRestarts(durationMs, random));
  plan.push(...planMissing(plan, weights, { seed, durationMs, workers }));
  return plan.toSorted((a, b) => a.at - b.at);
}

/** Each kind that chance has spared all workers, for one of them: a run that is to show something of it must have it. */
function planMissing(
  plan: readonly PlannedHarm[],
  weights: Weights,
  { seed, durationMs, workers }: Pick<ChaosOptions, 'seed' | 'durationMs' | 'workers'>,
): readonly PlannedHarm[] {
  // Of its own, so that the rest of the plan stays what it is.
  const random = new Random(seed, 'missing harm');
  const met = new Set(plan.filter(({ target }) => target < workers).map(({ what }) => what));
  const missing = (Object.keys(weights) as Harm[]).filter((what) => !met.has(what));
  return missing.map((what) => ({
    what,
    at: random.next() * durationMs,
    target: random.between(0, workers - 1),
    ms: lengthOf(what, random),
  }));
}

/** One in good order and one without, for each minute. */
function planRestarts(durationMs: number, random: Random): readonly PlannedHarm[] {
  const rounds = Math.max(1, Math.round(durationMs / 60_000));
  return Array.from({ length: rounds }, (_, round) => round).flatMap((round) =>
    (['restart', 'crash'] as const).map((what, half) => {
      const at = ((round + (half + random.next()) / 2) / rounds) * durationMs;
      return { what, at, target: -1, ms: lengthOf(what, random) };
    }),
  );
}

function lengthOf(what: Harm, random: Random): number {
  const [least, most] = lasting[what] ?? [0, 0];
  return Math.round((least + random.next() * (most - least)) * terms.leaseMs);
}
