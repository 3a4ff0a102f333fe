// What the field for a time zone says.
import { plural } from "./number.ts";

export const zoneWords = {
  matches: "Matches",
  none: "No matching time zone",
  formerly: (name: string) => `formerly ${name}`,
  count: (count: number) => (count === 0 ? zoneWords.none : plural(count, "match", "matches")),
};
