// Our own delay from a missed deadline to the delivered alert, measured seldom and shown on every page.
import { DAY_MS, type Instant, MINUTE_MS } from "../../../core/instant.ts";
import { medianAlertDelay } from "../../../store/alerts/alert-delay.ts";
import type { Db } from "../../../store/db.ts";

const MEASURED_EVERY_MS = MINUTE_MS;

/** A measure that is taken at most once a minute, however many pages are shown. */
export function alertDelays(db: Db): (now: Instant) => Promise<number | null> {
  let taken: { at: Instant; delay: Promise<number | null> } | null = null;
  return (now) => {
    if (taken === null || Math.abs(now - taken.at) >= MEASURED_EVERY_MS) {
      taken = { at: now, delay: medianAlertDelay(db, { since: now - DAY_MS }).catch(() => null) };
    }
    return taken.delay;
  };
}
