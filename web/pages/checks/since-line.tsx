// The difference since this person was last here, in one sentence; and, when we ourselves could not receive, or nobody
// tells any more whether what is shown is true, that.
import { useEffect, useState } from "react";
import { checkName } from "../../../src/contract/web/list-words.ts";
import { Link } from "wouter";
import { hasNews, type ReceivingTrouble, type SinceAway } from "../../../src/contract/web/boot.ts";
import { readerZone } from "../../boot/boot.ts";
import { serverNow, useMinute } from "../../live/clock.ts";
import type { LiveState } from "../../live/live-stream.ts";
import { pageHref } from "../../shell/page-address.ts";
import { Icon } from "../../ui/icon.tsx";
import { sinceWords } from "../../words/checks.ts";
import { formatClock, formatSpan, formatWhen } from "../../words/time.ts";

const NAMED_MAX = 2;

type Named = { id: string; name: string };

export function SinceLine({ since, project }: { since: SinceAway | null; project: string }) {
  const now = useMinute();
  if (since === null || !hasNews(since)) return null;
  const parts = [
    { who: since.broke, said: sinceWords.broke },
    { who: since.healed, said: sinceWords.healed },
  ].filter(({ who }) => who.length > 0);
  const added = since.added === 0 ? null : sinceWords.added(since.added);
  return (
    <p className="since">
      {sinceWords.since(formatWhen(since.sinceAt, { now, zone: readerZone }))}{" "}
      {parts.map(({ who, said }, index) => (
        <span key={index}>
          {index > 0 && ", "}
          <Names who={who} /> {said}
        </span>
      ))}
      {added !== null && `${parts.length > 0 ? ", " : ""}${added}`}.{" "}
      <Link className="link" href={pageHref("events", { project })}>
        {sinceWords.all}
      </Link>
    </p>
  );
}

function Names({ who }: { who: readonly Named[] }) {
  const rest = who.length - NAMED_MAX;
  return who.slice(0, NAMED_MAX).map((one, index) => (
    <span key={one.id}>
      {index > 0 && (rest > 0 ? ", " : sinceWords.and)}
      <Link href={pageHref("check", { check: one.id })}>
        <b dir="auto">{checkName(one)}</b>
      </Link>
      {index === NAMED_MAX - 1 && rest > 0 && sinceWords.more(rest)}
    </span>
  ));
}

/** On top of the page, what puts all of it in doubt. */
export function Bands({ receiving, live }: { receiving: ReceivingTrouble | null; live: LiveState }) {
  return (
    <>
      <ReceivingBand trouble={receiving} />
      {live === "reconnecting" && <CutBand />}
    </>
  );
}

/** What was missed meanwhile is not held against the jobs. */
export function ReceivingBand({ trouble }: { trouble: ReceivingTrouble | null }) {
  const now = useMinute();
  if (trouble === null) return null;
  const clock = formatClock(trouble.fromAt, readerZone);
  const text =
    trouble.toAt === null
      ? sinceWords.cannotReceive(clock)
      : sinceWords.couldNotReceive(
          formatSpan(trouble.toAt - trouble.fromAt),
          formatWhen(trouble.fromAt, { now, zone: readerZone }),
        );
  return <Band text={text} />;
}

/** So short a break is no reason to doubt what is shown. */
const STALE_AFTER_MS = 10_000;

/** The rows are as old as the connection. */
function CutBand() {
  const [cutAt, setCutAt] = useState<number | null>(null);
  useEffect(() => {
    const at = serverNow();
    const timer = setTimeout(() => setCutAt(at), STALE_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  return cutAt === null ? null : <Band text={sinceWords.notConnected(formatClock(cutAt, readerZone))} />;
}

function Band({ text }: { text: string }) {
  return (
    <p className="band" role="status">
      <Icon name="warn" />
      <span>{text}</span>
    </p>
  );
}
