// Says that the connection to the server is lost, on every page of a project, and stays in sight while it scrolls.
import { useEffect, useState, useSyncExternalStore } from "react";
import { readerZone } from "../boot/boot.ts";
import { checksStore } from "../live/checks-store.ts";
import { serverNow } from "../live/clock.ts";
import { Band } from "../ui/band.tsx";
import { sinceWords } from "../words/checks.ts";
import { formatClock } from "../words/time.ts";

/** A shorter break is over before anybody could read about it. */
const SHOWN_AFTER_MS = 2_000;

export function ConnectionBand({ project }: { project: string }) {
  const store = checksStore(project);
  const { live, project: loaded } = useSyncExternalStore(store.listen, store.snapshot);
  const isOnline = useSyncExternalStore(listenOnline, () => navigator.onLine);
  const isCut = !isOnline || (loaded !== null && live === "reconnecting");
  return isCut ? <Cut /> : null;
}

function listenOnline(listener: () => void): () => void {
  addEventListener("online", listener);
  addEventListener("offline", listener);
  return () => {
    removeEventListener("online", listener);
    removeEventListener("offline", listener);
  };
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
