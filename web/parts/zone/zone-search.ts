// Finds time zones by what people type: a city, an old name, an abbreviation, an offset. Pure.
import type { Zones } from "../../../src/contract/web/zones.ts";

/** What a zone can also be found by, as of today. Slow to find out, so that it is asked for only where it may fit. */
export type ZoneClocks = {
  /** "+05:30"; null: not known here. */
  offsetOf: (name: string) => string | null;
  abbreviationsOf: (name: string) => readonly string[];
};

export type FoundZone = {
  name: string;
  /** The old name that was searched for; null: it was found by something else. */
  formerly: string | null;
};

/** Lower case, and the same sign between all words: "America/New_York" is found by "new york". */
function plain(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[\s_/]+/g, " ")
    .trim();
}

/** Everything that is offered for no text; otherwise what fits it, best first. */
export function searchZones(
  { zones, others }: Zones,
  { text, ...clocks }: ZoneClocks & { text: string },
): FoundZone[] {
  const wanted = plain(text);
  if (wanted === "") return zones.map(({ name }) => ({ name, formerly: null }));
  const found: (FoundZone & { rank: number })[] = [];
  for (const { name, formerly } of zones) {
    const own = rankOf(name, wanted);
    const old = own === null ? formerly.find((one) => rankOf(one, wanted) !== null) : undefined;
    const rank = own ?? (old === undefined ? clockRank(name, wanted, clocks) : OLD_NAME);
    if (rank !== null) found.push({ name, formerly: old ?? null, rank });
  }
  for (const name of others) {
    const rank = rankOf(name, wanted);
    if (rank !== null) found.push({ name, formerly: null, rank: rank + WITHOUT_PLACE });
  }
  return found
    .toSorted((one, other) => one.rank - other.rank)
    .map(({ name, formerly }) => ({ name, formerly }));
}

const EXACT = 0;
const BEGINNING = 1;
const WITHIN = 2;
const OLD_NAME = 2;
const CLOCK = 3;
const WITHOUT_PLACE = 0.5;

function rankOf(name: string, wanted: string): number | null {
  const whole = plain(name);
  const place = plain(name.slice(name.lastIndexOf("/") + 1));
  if (whole === wanted || place === wanted) return EXACT;
  if (place.startsWith(wanted) || whole.startsWith(wanted)) return BEGINNING;
  return whole.includes(wanted) ? WITHIN : null;
}

const OFFSET = /^(?:utc|gmt)?\s*([+-])\s*(\d{1,2})(?::?(\d\d))?$/;
const ABBREVIATION = /^[a-z]{2,5}$/;

function clockRank(name: string, wanted: string, { offsetOf, abbreviationsOf }: ZoneClocks): number | null {
  const [, sign, hours, minutes = "00"] = OFFSET.exec(wanted) ?? [];
  const fits =
    hours === undefined
      ? ABBREVIATION.test(wanted) && abbreviationsOf(name).some((one) => one.toLowerCase() === wanted)
      : offsetOf(name) === `${sign}${hours.padStart(2, "0")}:${minutes}`;
  return fits ? CLOCK : null;
}

/** The name that is spelled so, whatever its letters' case; old names count, and stay as they are. */
export function spelledZone({ zones, others }: Zones, text: string): string | null {
  const wanted = plain(text);
  const all = zones.flatMap(({ name, formerly }) => [name, ...formerly]);
  return [...all, ...others].find((name) => plain(name) === wanted) ?? null;
}
