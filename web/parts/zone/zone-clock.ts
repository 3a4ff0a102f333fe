// What clocks in a zone show today, for a search by offset or abbreviation. Each is found out once: formatters are slow
// to make.

/** Abbreviations differ by language: EST is American, CET is British. */
const LOCALES = ["en-US", "en-GB"];

const offsets = new Map<string, string | null>();
const abbreviations = new Map<string, readonly string[]>();

/** "+05:30"; null where this browser does not know the zone, although the server does. */
export function offsetOf(name: string): string | null {
  const known = offsets.get(name);
  if (known !== undefined) return known;
  const text = zonePart(name, "en-US", "longOffset")?.replace("GMT", "");
  const offset = text === "" ? "+00:00" : (text ?? null);
  offsets.set(name, offset);
  return offset;
}

export function abbreviationsOf(name: string): readonly string[] {
  const known = abbreviations.get(name);
  if (known !== undefined) return known;
  const found = LOCALES.flatMap((locale) => zonePart(name, locale, "short") ?? []);
  abbreviations.set(name, found);
  return found;
}

function zonePart(timeZone: string, locale: string, timeZoneName: "longOffset" | "short"): string | null {
  try {
    const parts = new Intl.DateTimeFormat(locale, { timeZone, timeZoneName }).formatToParts();
    return parts.find(({ type }) => type === "timeZoneName")?.value ?? null;
  } catch {
    return null;
  }
}
