// Times: rounded on screen, exact in the tooltip and for screen readers.
import { userZone } from "../boot.ts";
import { useMinute, useNow } from "../live/clock.ts";
import { formatAgo, formatDay, formatExact, formatUntil, formatWhen } from "../words/format.ts";

type Props = { at: number };

/** "12 min ago"; updates itself. */
export function Ago({ at }: Props) {
  return <Stamp at={at} text={formatAgo(at, useNow())} />;
}

/** "in 4 min"; updates itself. */
export function Until({ at }: Props) {
  return <Stamp at={at} text={formatUntil(at, useNow())} />;
}

/** "yesterday 03:14" in the user's time zone, or in another. */
export function When({ at, zone = userZone }: Props & { zone?: string }) {
  return <Stamp at={at} zone={zone} text={formatWhen(at, { now: useMinute(), zone })} />;
}

/** "14 Nov", without a time of day. */
export function Day({ at }: Props) {
  return <Stamp at={at} text={formatDay(at, { now: useMinute(), zone: userZone })} />;
}

function Stamp({ at, text, zone = userZone }: Props & { text: string; zone?: string }) {
  return (
    <time className="stamp" dateTime={new Date(at).toISOString()} title={formatExact(at, zone)}>
      {text}
    </time>
  );
}
