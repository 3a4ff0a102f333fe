// Reads out what went down or came back, for those who do not watch the screen: flips, never pings.
import { useEffect, useState } from "react";
import { announcement } from "./announcement.ts";
import { onFlips } from "./on-flips.ts";

export function FlipAnnouncer() {
  const [text, setText] = useState("");
  useEffect(() => onFlips((flips) => setText(announcement(flips))), []);
  return (
    <div className="sr" role="log" aria-live="assertive" aria-atomic="true">
      {text}
    </div>
  );
}
