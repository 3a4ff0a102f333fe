// The difference since this person was last here, in one sentence; and when we ourselves could not
// receive.
import { useState } from "react";
import { Link } from "wouter";
import { hasNews, type ReceivingOutage, type SinceAway } from "../../src/contract/web/boot.ts";
import { checkName } from "../../src/contract/web/words.ts";
import { readerZone } from "../boot.ts";
import { useMinute } from "../live/clock.ts";
import { pageHref } from "../page-location.ts";
import { Button } from "../ui/button.tsx";
import { Band } from "../ui/page-state.tsx";
import { sinceWords } from "../words/checks.ts";
import { formatClock, formatSpan, formatWhen } from "../words/format.ts";

const NAMED_MAX = 2;
/** Where this browser keeps the end of the newest gap that was dismissed. */
const DISMISSED = "overdue.gap-dismissed";

/** Above the list, or below what needs attention. */
type Place = "above" | "below";

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

/** A gap that lasts stands above everything. One that is over is no trouble any more: it gives way to what is. */
export function MonitoringGapBand({ trouble, place }: { trouble: ReceivingOutage | null; place: Place }) {
  const now = useMinute();
  const [dismissedTo, setDismissedTo] = useState(() => Number(localStorage.getItem(DISMISSED) ?? 0));
  if (trouble === null) return null;
  const { fromAt, toAt } = trouble;
  if (toAt === null) {
    return place === "above" ? (
      <Band text={sinceWords.cannotReceive(formatClock(fromAt, readerZone))} />
    ) : null;
  }
  if (place === "above" || toAt <= dismissedTo) return null;
  const dismiss = () => {
    localStorage.setItem(DISMISSED, String(toAt));
    setDismissedTo(toAt);
  };
  const when = formatWhen(fromAt, { now, zone: readerZone });
  return (
    <Band text={sinceWords.couldNotReceive(formatSpan(toAt - fromAt), when)}>
      <Button kind="bare" onClick={dismiss}>
        {sinceWords.dismiss}
      </Button>
    </Band>
  );
}
