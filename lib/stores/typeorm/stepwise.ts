/** What some databases answer at once, and others later. */
export type Answer<T> = T | Promise<T>;

/** Work in steps that each wait for an answer, the same for databases that answer at once as for those that do not. */
export type Steps<R> = Generator<unknown, R, never>;

/** To be used with `yield*`: the answer, when it is there. */
export function* answerOf<T>(answer: Answer<T>): Generator<Answer<T>, T, T> {
  return yield answer;
}

/** Does all steps, waiting for each. */
export async function inTime<R>(steps: Steps<R>): Promise<R> {
  let step = steps.next();
  while (step.done !== true) step = steps.next((await step.value) as never);
  return step.value;
}

/** Does all steps at once; none of their answers may be a promise. */
export function atOnce<R>(steps: Steps<R>): R {
  let step = steps.next();
  while (step.done !== true) step = steps.next(step.value as never);
  return step.value;
}
