import type { HandlerPolicy } from '../model/handler-policy.js';
import { MethodMarks } from './method-marks.js';

/** What one `@JobHandler` says of its method. */
export interface HandlerMark {
  readonly type: string;
  /** The only `JobsModule` that this handler serves; `undefined` means every one. */
  readonly instance: string | undefined;
  readonly policy: HandlerPolicy;
  /** Whether guards, pipes, interceptors and filters run around it; `undefined` means as the `JobsModule` says. */
  readonly enhancers: boolean | undefined;
}

export const handlerMarks = new MethodMarks<HandlerMark>('handlers');
