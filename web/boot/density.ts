// How much room the rows of the list take. The server writes the account's choice into the page, so that the rows it draws
// first have it; a choice made here holds for every list that is drawn from now on.
import type { Density } from "../../src/contract/web/boot.ts";

const COMPACT: Density = "compact";

export function shownDensity(): Density {
  return document.documentElement.dataset["density"] === COMPACT ? COMPACT : "comfortable";
}

/** Shows lists so from now on. Keeping it for the account is up to the caller. */
export function showDensity(density: Density): void {
  if (density === COMPACT) document.documentElement.dataset["density"] = COMPACT;
  else delete document.documentElement.dataset["density"];
}
