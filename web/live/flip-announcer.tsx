// Reads out what went down or came back, for those who do not watch the screen: flips, never pings.
import { useEffect, useState } from "react";
import type { FlipEvent } from "../../src/contract/web/live.ts";
import { announcement } from "./announcement.ts";
import { onFlip } from "./checks-store.ts";

/** What comes so soon after a flip is read out together with it. */
const GATHER_MS = 700;

export function FlipAnnouncer() {
  const [text, setText] = useState("");
  useEffect(() => {
    let gathered: FlipEvent[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const leave = onFlip((flip) => {
      gathered.push(flip);
      timer ??= setTimeout(() => {
        setText(announcement(gathered));
        gathered = [];
        timer = undefined;
      }, GATHER_MS);
    });
    return () => {
      leave();
      clearTimeout(timer);
    };
  }, []);
  return (
    <div className="sr" role="log" aria-live="assertive" aria-atomic="true">
      {text}
    </div>
  );
}
