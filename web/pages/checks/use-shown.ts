// The lines of the list as they are to be drawn now: arranged from all rows by the view, kept still while the pointer
// is over them, and made anew when a row turns late by itself.
import type { DrawnState } from "../../../src/contract/web/check-row.ts";
import { useEffect, useMemo, useRef, useState } from "react";
import type { ChecksSnapshot } from "../../live/checks-snapshot.ts";
import { serverNow } from "../../live/clock.ts";
import { nextLateAt } from "../../ui/marks/fuse-arithmetic.ts";
import { checksWords } from "../../words/checks.ts";
import { countStates, countTags, fitting, heldInPlace, inOrder, type Item, toItems } from "./rows/arrange.ts";
import { type View, writeView } from "./view/view.ts";

export type Shown = {
  items: readonly Item[];
  /** Rows that fit the view. */
  count: number;
  /** Of all rows, whatever the view. */
  counts: Record<DrawnState, number>;
  tags: ReturnType<typeof countTags>;
  /** Whether any check of the project has a channel; where none has, saying so on every row would help nobody. */
  isAnyTold: boolean;
};

const HEADINGS = {
  attention: checksWords.needsAttention,
  rest: checksWords.everythingElse,
  untagged: checksWords.untagged,
};

/** A timer of the browser cannot wait longer than this. */
const WAIT_MS_MAX = 2_147_483_647;

export function useShown(snapshot: ChecksSnapshot, view: View, isHeld: boolean): Shown {
  const now = useNextLate(snapshot);
  // Three steps, so that none is done again for nothing: of ten thousand rows each takes its time.
  const counted = useMemo(() => countAll(snapshot, now), [snapshot.version, now]);
  const ordered = useMemo(
    () => inOrder(snapshot.rows.values(), view.order, now),
    [snapshot.version, view.order, now],
  );
  const arranged = useMemo(() => {
    const parts = fitting(ordered, view, now);
    return {
      items: toItems(parts, { ...HEADINGS, isGrouped: view.isGrouped }),
      count: parts.urgent.length + parts.calm.length,
    };
  }, [ordered, view, now]);
  const query = writeView(view);
  const held = useRef<{ query: string; items: readonly Item[] }>({ query: "", items: [] });
  const items = useMemo(
    () =>
      isHeld && held.current.query === query
        ? heldInPlace(held.current.items, arranged.items)
        : arranged.items,
    [arranged.items, isHeld, query],
  );
  useEffect(() => {
    held.current = { query, items };
  });
  return { ...counted, ...arranged, items };
}

/** What is told of all rows. Until they are here, the server has counted better than we can. */
function countAll({ rows, isComplete, counts, tags }: ChecksSnapshot, now: number) {
  return {
    counts: isComplete || counts === null ? countStates(rows.values(), now) : counts,
    isAnyTold: [...rows.values()].some(({ channels }) => channels > 0),
    tags: isComplete ? countTags(rows.values(), now) : [...tags],
  };
}

/** A moment after which no row has turned late yet; a new one as soon as one does. */
function useNextLate(snapshot: ChecksSnapshot): number {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    const at = serverNow();
    const next = nextLateAt(snapshot.rows.values(), at);
    if (next === Number.POSITIVE_INFINITY) return undefined;
    const timer = setTimeout(() => setNow(serverNow()), Math.min(WAIT_MS_MAX, Math.max(0, next - at)));
    return () => clearTimeout(timer);
  }, [snapshot.version, now]);
  // What came by the stream is newer than the last tick.
  return Math.max(
    now,
    useMemo(() => serverNow(), [snapshot.version]),
  );
}
