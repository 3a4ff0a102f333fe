// Two lines about the past: what has changed since the user's last visit, and the newest monitoring gap.
import { useState } from "react";
import { Link } from "wouter";
import { hasNews, type MonitoringGap, type SinceAway } from "../../src/contract/api/boot.ts";
import { checkName } from "../../src/contract/api/words.ts";
import { userZone } from "../boot.ts";
import { useMinute } from "../live/clock.ts";
import { pageHref } from "../page-location.ts";
import { Button } from "../ui/button.tsx";
import { LearnMore } from "../ui/docs-link.tsx";
import { Band } from "../ui/page-state.tsx";
import { sinceWords } from "../words/checks.ts";
import { formatSpan, formatWhen } from "../words/format.ts";

const NAMED_MAX = 2;
/** Where this browser keeps the end of the newest gap that was dismissed. */
const DISMISSED = "overdue.gap-dismissed";

type Named = { id: string; name: string };

export function SinceLine({ since, project }: { since: SinceAway | null; project: string }) {
  const now = useMinute();
  if (since === null || !hasNews(since)) return null;
  const parts = [
    { who: since.wentDown, said: sinceWords.wentDown },
    { who: since.recovered, said: sinceWords.recovered },
  ].filter(({ who }) => who.length > 0);
  const added = since.createdCount === 0 ? null : sinceWords.added(since.createdCount);
  return (
    <p className="since">
      {sinceWords.since(formatWhen(since.sinceAt, { now, zone: userZone }))}{" "}
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

/** Shown below the list, because the gap has ended. The user can dismiss it. */
export function MonitoringGapBand({ gap }: { gap: MonitoringGap | null }) {
  const now = useMinute();
  const [dismissedTo, setDismissedTo] = useState(() => Number(localStorage.getItem(DISMISSED) ?? 0));
  if (gap === null || gap.toAt <= dismissedTo) return null;
  const { fromAt, toAt } = gap;
  const dismiss = () => {
    localStorage.setItem(DISMISSED, String(toAt));
    setDismissedTo(toAt);
  };
  const when = formatWhen(fromAt, { now, zone: userZone });
  return (
    <Band text={sinceWords.couldNotReceive(formatSpan(toAt - fromAt), when)}>
      <LearnMore to="gaps" />
      <Button kind="bare" onClick={dismiss}>
        {sinceWords.dismiss}
      </Button>
    </Band>
  );
}
