// Collects flips that arrive together and announces them to screen readers. A thousand checks may change at once.
import { useEffect, useState } from "react";
import type { FlipEvent } from "../../src/contract/api/live.ts";
import { checkName } from "../../src/contract/api/words.ts";
import { checksWords } from "../words/checks.ts";
import { onFlip } from "./checks-store.ts";

/** Flips within this time are announced together. */
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

// The announcement: the first checks by name, the others as a number.

/** More are announced as a number. */
const NAMED_MAX = 5;

export function announcement(flips: readonly Pick<FlipEvent, "checkName" | "from" | "to">[]): string {
  const named = flips.slice(0, NAMED_MAX).map((flip) => {
    const name = checkName({ name: flip.checkName });
    if (flip.to === "down") return checksWords.wentDown(name);
    return flip.from === "down" ? checksWords.recovered(name) : checksWords.isUp(name);
  });
  const rest = flips.length - named.length;
  return [...named, ...(rest > 0 ? [checksWords.moreFlips(rest)] : [])].join(" ");
}

// The live region for screen readers: flips, not pings.

export function FlipAnnouncer() {
  const [text, setText] = useState("");
  useEffect(() => onFlips((flips) => setText(announcement(flips))), []);
  return (
    <div className="sr" role="log" aria-live="assertive" aria-atomic="true">
      {text}
    </div>
  );
}
