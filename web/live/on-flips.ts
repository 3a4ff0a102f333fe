// Flips as they come, told together: at a full hour a thousand checks may change at once, and whoever would act on each
// of them would read out, or ask the server, a thousand times.
import type { FlipEvent } from "../../src/contract/web/live.ts";
import { onFlip } from "./checks-store.ts";

/** What comes so soon after a flip is told together with it. */
const GATHER_MS = 700;

/** Calls back with all flips of a moment, until the returned function is called. */
export function onFlips(hear: (flips: readonly FlipEvent[]) => void): () => void {
  let gathered: FlipEvent[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const leave = onFlip((flip) => {
    gathered.push(flip);
    timer ??= setTimeout(() => {
      const flips = gathered;
      gathered = [];
      timer = undefined;
      hear(flips);
    }, GATHER_MS);
  });
  return () => {
    leave();
    clearTimeout(timer);
  };
}
