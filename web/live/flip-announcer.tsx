// Reads out what went down or came back, for those who do not watch the screen: flips, never pings.
import { useEffect, useState } from "react";
import { checksWords } from "../words/checks.ts";
import { onFlip } from "./checks-store.ts";

/** Several flips in one moment are read as one sentence. */
const GATHER_MS = 700;

export function FlipAnnouncer() {
  const [text, setText] = useState("");
  useEffect(() => {
    let gathered: string[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    return onFlip(({ name, to }) => {
      gathered.push(to === "down" ? checksWords.wentDown(name) : checksWords.cameUp(name));
      clearTimeout(timer);
      timer = setTimeout(() => {
        setText(gathered.join(" "));
        gathered = [];
      }, GATHER_MS);
    });
  }, []);
  return (
    <div className="sr" role="log" aria-live="assertive" aria-atomic="true">
      {text}
    </div>
  );
}
