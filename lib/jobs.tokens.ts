import { Inject, type InjectionToken } from '@nestjs/common';
import { JobsAdmin } from './admin/jobs-admin.js';
import { checkInstanceName, defaultInstanceName } from './model/instance-name.js';
import { JobQueue } from './queues/job-queue.js';
import { PersistentJobQueue } from './queues/persistent-job-queue.js';

/** Of each `JobsModule`: its name. */
export const instanceNameToken = Symbol('name of the JobsModule');
/** Of each `JobsModule`: its options, as the application gave them. */
export const givenOptionsToken = Symbol('options of the JobsModule, as given');
/** Of each `JobsModule`: its options, checked. */
export const optionsToken = Symbol('options of the JobsModule');
/** Of each `JobsModule`: what its parts share. */
export const contextToken = Symbol('context of the JobsModule');

/**
 * The injection token of a memory queue: the class itself, or for a named `JobsModule` a text. For `overrideProvider` and `app.get`.
 *
 * @throws InvalidOptionError when `name` can be no name.
 */
export function getJobQueueToken(name: string = defaultInstanceName): InjectionToken<JobQueue> {
  return isDefault(name) ? JobQueue : namedToken('JobQueue', name);
}

/**
 * The injection token of a persistent queue: the class itself, or for a named `JobsModule` a text.
 *
 * @throws InvalidOptionError when `name` can be no name.
 */
export function getPersistentJobQueueToken(name: string = defaultInstanceName): InjectionToken<PersistentJobQueue> {
  return isDefault(name) ? PersistentJobQueue : namedToken('PersistentJobQueue', name);
}

/**
 * The injection token of the admin of a persistent queue: the class itself, or for a named `JobsModule` a text.
 *
 * @throws InvalidOptionError when `name` can be no name.
 */
export function getJobsAdminToken(name: string = defaultInstanceName): InjectionToken<JobsAdmin> {
  return isDefault(name) ? JobsAdmin : namedToken('JobsAdmin', name);
}

/** Injects the memory queue of the `JobsModule` with this name. */
export function InjectJobQueue(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getJobQueueToken(name));
}

/** Injects the persistent queue of the `JobsModule` with this name. */
export function InjectPersistentJobQueue(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getPersistentJobQueueToken(name));
}

/** Injects the admin of the persistent queue of the `JobsModule` with this name. */
export function InjectJobsAdmin(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getJobsAdminToken(name));
}

function isDefault(name: string): boolean {
  return checkInstanceName('the name of a JobsModule', name) === defaultInstanceName;
}

/** Nest shows the token when it finds no provider for it, so the token says what is missing. */
function namedToken(queue: string, name: string): string {
  return `${queue} of JobsModule.forRoot({ name: '${name}' })`;
}
