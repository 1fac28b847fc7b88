import type { Observable, Subscriber } from 'rxjs';
import type { JobEventKind, JobEvents } from '../model/events.js';
import { jobEventKinds, toJobEvent, type EventOrigin, type JobEvent } from '../model/job-event.js';
import { GuardedStream } from './guarded-stream.js';
import type { LogSink } from './job-log.js';
import { guardListener, type Listener } from './listener-guard.js';

/** Tells the application what has happened in one queue. Costs nothing for kinds of events that nobody listens to. */
export class JobEventPublisher {
  constructor(
    private readonly events: JobEvents,
    private readonly origin: EventOrigin,
    private readonly sink: Pick<LogSink, 'error'>,
  ) {}

  /**
   * Calls a listener on each event of a kind; returns the way to stop it.
   *
   * @param name What the log calls the listener when it throws.
   */
  on<K extends JobEventKind>(kind: K, listener: Listener<JobEvent<K>>, name: string): () => void {
    const guarded = guardListener(listener, name, this.sink);
    return this.events.on(kind, (event) => guarded(toJobEvent(kind, event, this.origin)));
  }

  /** The events of one kind, or of all; hot, and without an end. */
  stream<K extends JobEventKind>(kind?: K): Observable<JobEvent<K>> {
    // Without a kind, K is all of them.
    const kinds = kind === undefined ? (jobEventKinds as readonly K[]) : [kind];
    return new GuardedStream<JobEvent<K>>(this.sink, (subscriber: Subscriber<JobEvent<K>>) => {
      const stops = kinds.map((each) =>
        this.events.on(each, (event) => subscriber.next(toJobEvent(each, event, this.origin))),
      );
      return () => {
        for (const stop of stops) stop();
      };
    });
  }
}
