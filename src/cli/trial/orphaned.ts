// Whether the one who started us is gone. A signal to `npm run` ends npm and the shell between it and us; we would
// never hear of it, and go on for ever.
import { environmentWith } from "../../config.ts";

const LOOK_EVERY_MS = 500;

/**
 * Calls back once when the shell of `npm run` is gone. Whoever was started otherwise is not concerned: a program
 * in the background may well outlive the shell that it was started from.
 */
export function onOrphaned(callback: () => void): void {
  if (environmentWith({})["npm_lifecycle_event"] === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    callback();
  }, LOOK_EVERY_MS);
  timer.unref();
}
