import type { JobEventKind } from '../model/events.js';
import { MethodMarks } from './method-marks.js';

/** What one `@OnJobEvent` says of its method. */
export interface ListenerMark {
  readonly kind: JobEventKind;
  /** Only events of jobs of these types; `undefined` means all. */
  readonly types: readonly string[] | undefined;
  /** The only `JobsModule` whose events it hears; `undefined` means every one. */
  readonly instance: string | undefined;
}

export const listenerMarks = new MethodMarks<ListenerMark>('listeners');
