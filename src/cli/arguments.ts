// Values of arguments and options that several commands take. Each function throws InvalidArgumentError.
import { InvalidArgumentError } from "commander";
import { parseDuration as readDuration } from "../core/duration-text.ts";
import { isUuid } from "../core/identity.ts";
import type { Instant } from "../core/instant.ts";

/** A UUID, in either letter case. */
export function parseUuid(given: string): string {
  const uuid = given.toLowerCase();
  if (isUuid(uuid)) return uuid;
  throw new InvalidArgumentError("Expected a UUID.");
}

export function collectUuid(given: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), parseUuid(given)];
}

/** A whole number. */
export function numberFrom({ min, max }: { min: number; max: number }): (given: string) => number {
  return (given) => {
    const number = /^\d{1,10}$/.test(given) ? Number(given) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
  };
}

/** `1h30m` in seconds. */
export function parseDuration(text: string): number {
  const seconds = readDuration(text);
  if (seconds !== null) return seconds;
  throw new InvalidArgumentError("Expected a duration such as 45m, 2h, or 1h30m.");
}

const TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(Z|[+-]\d\d:?\d\d)?)?$/;

/** A date, and a time in the zone of this machine or with an offset. */
export function parseTime(text: string): Instant {
  const [, date, time = "00:00", offset = ""] = TIME.exec(text) ?? [];
  const at = date === undefined ? Number.NaN : Date.parse(`${date}T${time}${offset}`);
  if (Number.isNaN(at)) {
    throw new InvalidArgumentError('Expected a time such as "2026-12-01 20:00" or 2026-12-01T20:00+01:00.');
  }
  return at;
}
