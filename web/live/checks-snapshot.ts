// What is known of the checks of a project at a moment, as pages draw it. Shapes only; checks-store.ts fills it.
import type {
  ProjectHead,
  ReceivingTrouble,
  SinceAway,
  StateCounts,
  TagCount,
} from "../../src/contract/web/boot.ts";
import type { CheckRow, RowDetail } from "../../src/contract/web/check-row.ts";
import type { SilentChecks } from "../../src/contract/web/silent.ts";
import type { LiveState } from "./live-stream.ts";

/** What the page draws. A new object for every change; the maps inside are the same ones. */
export type ChecksSnapshot = {
  project: ProjectHead | null;
  rows: ReadonlyMap<string, CheckRow>;
  /** Grows whenever a row has changed, come or gone; what is made of all rows need not be made again before. */
  version: number;
  /** Grows whenever a check may have gone without being among the rows: who shows one asks whether it is still there. */
  doubt: number;
  details: ReadonlyMap<string, RowDetail>;
  /** How many there are; more than `rows` holds while the rest is loading. */
  total: number;
  isComplete: boolean;
  /** As the server counted them; only needed until all rows are here. */
  counts: StateCounts | null;
  tags: readonly TagCount[];
  since: SinceAway | null;
  receiving: ReceivingTrouble | null;
  /** As the page began; null until then. */
  silent: SilentChecks | null;
  live: LiveState;
  trouble: unknown;
};

/** Before anything is known. The maps are the store's own. */
export function emptySnapshot(maps: Pick<ChecksSnapshot, "rows" | "details">): ChecksSnapshot {
  return {
    ...maps,
    project: null,
    version: 0,
    doubt: 0,
    total: 0,
    isComplete: false,
    counts: null,
    tags: [],
    since: null,
    receiving: null,
    silent: null,
    live: "reconnecting",
    trouble: null,
  };
}
