// Says on every page that the connection to the server is lost, and stays in sight while the page scrolls.
import { useEffect, useState } from "react";
import { readerZone } from "../boot/boot.ts";
import { serverNow } from "../live/clock.ts";
import { useDisconnected } from "../live/connection.ts";
import { Band } from "../ui/band.tsx";
import { sinceWords } from "../words/checks.ts";
import { formatClock } from "../words/time.ts";

/** A shorter break is over before anybody could read about it. */
const SHOWN_AFTER_MS = 2_000;

export function ConnectionBand() {
  return useDisconnected() ? <Cut /> : null;
}

function Cut() {
  const [cutAt, setCutAt] = useState<number | null>(null);
  useEffect(() => {
    const at = serverNow();
    const timer = setTimeout(() => setCutAt(at), SHOWN_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  if (cutAt === null) return null;
  return <Band isSticky text={sinceWords.notConnected(formatClock(cutAt, readerZone))} />;
}
