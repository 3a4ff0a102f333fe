/** A long computation in steps of a few microseconds or more, so that a server can do other work between them. */
export type Steps<Result> = Generator<void, Result, void>;

/** The result of all steps at once. */
export function allSteps<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
