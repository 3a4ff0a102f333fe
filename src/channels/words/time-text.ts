// Instants as messages show them: by the clock of a zone, to the minute. The first one of a message names the zone.
import { type Instant, SECOND_MS } from "../../core/instant.ts";
import { stretchAt, zoneOf } from "../../core/schedule/zone.ts";

const UTC = "UTC";

/** `2026-11-15 05:00 Europe/Riga`. A zone that nobody knows is read as UTC, and called so. */
export function instantText(at: Instant, zoneName: string): string {
  return `${readingText(at, zoneName)} ${zoneOf(zoneName)?.name ?? UTC}`;
}

/** `2026-11-15 05:00`, where the zone has been named before. */
export function readingText(at: Instant, zoneName: string): string {
  const zone = zoneOf(zoneName);
  const seconds = Math.floor(at / SECOND_MS);
  const offset = zone === null ? 0 : stretchAt(zone, seconds).offset;
  const reading = new Date((seconds + offset) * SECOND_MS).toISOString();
  return `${reading.slice(0, 10)} ${reading.slice(11, 16)}`;
}

/** `2026-11-15T03:00:00+00:00`: for machines, in UTC and without fractions. */
export function isoText(at: Instant): string {
  return `${new Date(at).toISOString().slice(0, 19)}+00:00`;
}
