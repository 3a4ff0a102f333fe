// What is read out of the flips of one moment: the first ones by name, the others as a number. Pure.
import { checkName } from "../../src/contract/web/list-words.ts";
import type { FlipEvent } from "../../src/contract/web/live.ts";
import { checksWords } from "../words/checks.ts";

/** Nobody listens to a thousand names. */
const NAMED_MAX = 5;

export function announcement(flips: readonly Pick<FlipEvent, "name" | "from" | "to">[]): string {
  const named = flips.slice(0, NAMED_MAX).map((flip) => {
    const name = checkName(flip);
    if (flip.to === "down") return checksWords.wentDown(name);
    return flip.from === "down" ? checksWords.cameBack(name) : checksWords.cameUp(name);
  });
  const rest = flips.length - named.length;
  return [...named, ...(rest > 0 ? [checksWords.moreFlips(rest)] : [])].join(" ");
}
