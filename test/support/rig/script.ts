/**
 * What a job of the rig does, one step after the other. Plain data, since it is the job's payload: a test says in one place what its
 * jobs do, in whatever process they run.
 */
export type Step = Act & {
  /** Taken only by the app of this name. */
  readonly by?: string;
};

type Act =
  /** Waits until the test opens the gate of this name, whatever the signal says. */
  | { readonly do: 'wait'; readonly gate: string }
  /** Waits for its signal and throws the reason. */
  | { readonly do: 'await abort' }
  /** Never goes on. */
  | { readonly do: 'hang' }
  /** Lets some time pass. */
  | { readonly do: 'sleep'; readonly ms: number }
  /** Holds up the whole process until the gate is open. */
  | { readonly do: 'block'; readonly gate: string }
  /** Sends this signal to its own process; as the first step even before the start is noted. */
  | { readonly do: 'kill'; readonly signal: NodeJS.Signals }
  | { readonly do: 'throw'; readonly message: string }
  | { readonly do: 'enqueue'; readonly type: string }
  /** Writes its job's id into the table `written`, through the manager of its transaction. */
  | { readonly do: 'write' }
  /** Leaves a row of this name among the effects. */
  | { readonly do: 'note'; readonly what: string };

/** What a step may use. */
export interface StepTools {
  /** Of the app. */
  readonly name: string;
  readonly signal: AbortSignal;
  readonly note: (what: string) => Promise<void>;
  readonly enqueue: (type: string) => Promise<unknown>;
  readonly write: () => Promise<void>;
  readonly isOpen: (gate: string) => boolean;
}

const lookMs = 10;

/** Takes the steps one by one. */
export async function take(steps: readonly Step[], tools: StepTools): Promise<void> {
  for (const step of steps) if (step.by === undefined || step.by === tools.name) await takeOne(step, tools);
}

async function takeOne(step: Act, { signal, note, enqueue, write, isOpen }: StepTools): Promise<void> {
  switch (step.do) {
    case 'wait':
      while (!isOpen(step.gate)) await pause(lookMs);
      return;
    case 'await abort':
      while (!signal.aborted) await pause(lookMs);
      throw signal.reason as Error;
    case 'hang':
      return new Promise(() => undefined);
    case 'sleep':
      return pause(step.ms);
    case 'block':
      while (!isOpen(step.gate));
      return;
    case 'kill':
      process.kill(process.pid, step.signal);
      return;
    case 'throw':
      throw new Error(step.message);
    case 'enqueue':
      await enqueue(step.type);
      return;
    case 'write':
      return write();
    case 'note':
      return note(step.what);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
