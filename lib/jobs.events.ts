import type { ModulesContainer } from '@nestjs/core';
import { ListenerExplorer } from './handlers/listener-explorer.js';
import { JobEvents } from './model/events.js';
import { jobEventKinds, type QueueKind } from './model/job-event.js';
import { JobEventPublisher } from './observe/job-event-publisher.js';
import type { LogSink } from './observe/job-log.js';
import type { Listener } from './observe/listener-guard.js';

/** The events of the queues of one `JobsModule`, and those who are told of them. */
export interface ModuleEvents {
  readonly events: Readonly<Record<QueueKind, JobEvents>>;
  readonly publishers: readonly JobEventPublisher[];
  readonly listeners: ListenerExplorer;
}

interface Surroundings {
  readonly modules: ModulesContainer;
  /** The name of the `JobsModule`. */
  readonly instance: string;
  readonly sink: LogSink;
  readonly onRefused: (error: unknown) => void;
}

/** To be called while Nest makes the providers. */
export function moduleEvents({ modules, instance, sink, onRefused }: Surroundings): ModuleEvents {
  const events = { memory: new JobEvents(), persistent: new JobEvents() };
  const publishers = (['memory', 'persistent'] as const).map(
    (queue) => new JobEventPublisher(events[queue], { queue, instance }, sink),
  );
  const listeners = new ListenerExplorer({
    modules,
    instance,
    onFound: (listener) => {
      for (const publisher of publishers) publisher.on(listener.kind, (event) => listener.hear(event), listener.source);
    },
    onRefused,
  });
  return { events, publishers, listeners };
}

/** What is asked of the EventEmitter2 of `@nestjs/event-emitter`, which is not imported: the app may do without it. */
interface Emitter {
  /** The name of the event that is being emitted, for listeners with wildcards. */
  event: unknown;
  listeners(name: string): readonly Listener<object>[];
  listenersAny(): readonly ((name: string, event: object) => unknown)[];
}

/** Hands all events on to the app's EventEmitter2 as `jobs.failed` and so on, where it has one: by `EventEmitterModule.forRoot()`. */
export function connectEventEmitter(modules: ModulesContainer, publishers: readonly JobEventPublisher[]): void {
  const emitter = findEmitter(modules);
  if (emitter === undefined) return;
  for (const publisher of publishers) {
    for (const kind of jobEventKinds) {
      const name = `jobs.${kind}`;
      publisher.on(kind, (event) => emit(emitter, name, event), `a listener of '${name}'`);
    }
  }
}

/**
 * Calls the listeners one by one. The emitter's own ways of doing so leave one listener's rejection to nobody, which ends the process,
 * where another one throws.
 */
async function emit(emitter: Emitter, name: string, event: object): Promise<void> {
  emitter.event = name;
  const calls = [
    ...emitter.listenersAny().map((listener) => async () => listener.call(emitter, name, event)),
    ...emitter.listeners(name).map((listener) => async () => listener.call(emitter, event)),
  ];
  const ends = await Promise.allSettled(calls.map((call) => call()));
  const failure = ends.find(({ status }) => status === 'rejected');
  if (failure?.status === 'rejected') throw failure.reason;
}

/** By the name of the module, since an app may hold several copies of the package, whose class is called just `EventEmitter`. */
function findEmitter(modules: ModulesContainer): Emitter | undefined {
  return [...modules.values()]
    .filter(({ metatype }) => metatype.name === 'EventEmitterModule')
    .flatMap(({ providers }) => [...providers.values()])
    .map(({ instance }): unknown => instance)
    .find(isEmitter);
}

function isEmitter(value: unknown): value is Emitter {
  const methods = ['listeners', 'listenersAny'];
  const has = (name: string): boolean => typeof Reflect.get(Object(value), name) === 'function';
  return typeof value === 'object' && value !== null && methods.every(has);
}
