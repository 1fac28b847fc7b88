import { decodeContext, type ContextCarrier } from '../model/context-carrier.js';
import type { JobMiddleware } from '../model/job-middleware.js';
import type { Attempt } from './attempt.js';
import { runLayers, type Layer } from './layers.js';

/** Puts layers around what an attempt does. May throw, before anything has run, what no retry could mend. */
export type RunWrapper = (attempt: Attempt, work: () => unknown) => () => unknown;

export interface RunLayers {
  readonly context: readonly ContextCarrier[];
  readonly middleware: readonly JobMiddleware[];
}

/** Around each attempt first the context that its job carries, then the middleware. Absent where there is neither, so that it costs nothing. */
export function makeRunWrapper({ context, middleware }: RunLayers): RunWrapper | undefined {
  const around = middleware.filter((each) => each.run !== undefined);
  if (around.length === 0 && context.length === 0) return undefined;
  return (attempt, work) => {
    const layers: Layer<unknown>[] = [
      ...restoring(context, attempt.job.context),
      ...around.map(
        (each): Layer<unknown> =>
          (next) =>
            each.run?.(attempt, next),
      ),
    ];
    return layers.length === 0 ? work : () => runLayers(layers, async () => work());
  };
}

/** @throws InvalidPayloadError when what the job carries cannot be read. */
function restoring(carriers: readonly ContextCarrier[], text: string | undefined): readonly Layer<unknown>[] {
  if (text === undefined || carriers.length === 0) return [];
  const values = decodeContext(text);
  return carriers
    .filter(({ name }) => values.has(name))
    .map(
      (carrier): Layer<unknown> =>
        (next) =>
          carrier.run(values.get(carrier.name), next),
    );
}
