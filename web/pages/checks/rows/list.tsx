// The list of rows: only what is on screen is drawn, ten thousand rows or ten. The window scrolls, not a box in it.
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { shownDensity } from "../../../boot/density.ts";
import type { ChecksSnapshot } from "../../../live/checks-snapshot.ts";
import { checksWords } from "../../../words/checks.ts";
import type { Item } from "./arrange.ts";
import { Row } from "./row.tsx";

const ROWS_AHEAD = 6;
/** Heights in rem, as in page.css. */
const HEAD_REM = 2.5;
const ROW_REM = {
  desk: { comfortable: 3.5, compact: 2.75 },
  phone: { comfortable: 4.625, compact: 3.75 },
} as const;
const REM_PX = 16;
const PHONE = "(max-width: 720px)";
/** What margins, the shape and the menu of a row take on a phone. */
const PHONE_REST_PX = 96;
/** After scrolling has come to rest for this long, the details of what is seen are fetched. */
const REST_MS = 120;

type Props = {
  items: readonly Item[];
  snapshot: ChecksSnapshot;
  picked: ReadonlySet<string>;
  cursor: string | null;
  mayEdit: boolean;
  isAnyTold: boolean;
  onPick: (id: string, isRange: boolean) => void;
  onSee: (ids: string[]) => void;
  /** Whether the pointer is over the list. */
  onHold: (isHeld: boolean) => void;
};

export function CheckList(props: Props) {
  const { items, snapshot, picked, cursor, mayEdit, isAnyTold, onPick, onSee, onHold } = props;
  const place = useRef<HTMLDivElement>(null);
  const { virtual, above } = useLines(items, place);
  const roomPx = useRoom(place);
  const shown = virtual.getVirtualItems();
  const ids = shown.flatMap(({ index }) => (items[index]?.kind === "row" ? [items[index].key] : []));
  useSeen(ids, snapshot, onSee);
  const whole = useWhole(ids, virtual.isScrolling);
  useCursorInSight(cursor, items, (index) => virtual.scrollToIndex(index, { align: "auto" }));
  return (
    <div
      className={`list${picked.size > 0 ? " is-picking" : ""}`}
      role="table"
      tabIndex={-1}
      aria-label={checksWords.list}
      aria-rowcount={items.length + 1}
      onPointerEnter={() => onHold(true)}
      onPointerLeave={() => onHold(false)}
    >
      <ListHead />
      <div className="list-rows" role="rowgroup" ref={place} style={{ height: virtual.getTotalSize() }}>
        {shown.map(({ index, start, key }) => {
          const item = items[index];
          if (item === undefined) return null;
          const top = start - above;
          if (item.kind === "head")
            return <GroupHead key={key} text={item.text} top={top} index={index + 2} />;
          const row = snapshot.rows.get(item.key);
          if (row === undefined) return null;
          return (
            <Row
              key={key}
              row={row}
              detail={snapshot.details.get(item.key)}
              index={index + 2}
              top={top}
              isPicked={picked.has(item.key)}
              isCursor={cursor === item.key}
              mayEdit={mayEdit}
              isAnyTold={isAnyTold}
              isPassing={!whole.has(item.key)}
              roomPx={roomPx}
              onPick={onPick}
            />
          );
        })}
      </div>
    </div>
  );
}

/** The rows that are drawn whole: all of them at rest, and while somebody scrolls those that were so before. */
function useWhole(ids: readonly string[], isScrolling: boolean): ReadonlySet<string> {
  const before = useRef<ReadonlySet<string>>(new Set());
  const whole = new Set(isScrolling ? ids.filter((id) => before.current.has(id)) : ids);
  useEffect(() => {
    before.current = whole;
  });
  return whole;
}

/** Where each line lies in the window. */
function useLines(items: readonly Item[], place: React.RefObject<HTMLDivElement | null>) {
  const heights = useHeights();
  const above = useAbove(place);
  // The same functions as long as nothing moves: a new one makes the list measure all of its lines again.
  const estimateSize = useCallback(
    (index: number) => (items[index]?.kind === "head" ? heights.head : heights.row),
    [items, heights],
  );
  const getItemKey = useCallback((index: number) => items[index]?.key ?? index, [items, heights]);
  const virtual = useWindowVirtualizer({
    count: items.length,
    estimateSize,
    getItemKey,
    overscan: ROWS_AHEAD,
    scrollMargin: above,
    // Drawn in a task of its own instead of in the middle of the scrolling.
    useFlushSync: false,
  });
  return { virtual, above };
}

/** How far down the page the list begins. Read when the page has changed its size, and been laid out anyway. */
function useAbove(place: React.RefObject<HTMLDivElement | null>): number {
  const [above, setAbove] = useState(0);
  useLayoutEffect(() => {
    const read = () => {
      const top = place.current?.getBoundingClientRect().top ?? 0;
      setAbove(Math.round(top + window.scrollY));
    };
    read();
    const observer = new ResizeObserver(read);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, [place]);
  return above;
}

/**
 * The width of the column of names, as the head of the list has it; on a phone, where that is not drawn, what is left.
 * Told as if letters had their usual size.
 */
function useRoom(place: React.RefObject<HTMLDivElement | null>): number {
  const [roomPx, setRoomPx] = useState(0);
  useLayoutEffect(() => {
    const rows = place.current;
    const head = rows?.previousElementSibling?.firstElementChild;
    if (rows === null || head === null || head === undefined) return;
    const read = () => {
      const column = Number.parseFloat(getComputedStyle(head).gridTemplateColumns.split(" ")[1] ?? "");
      const px = Number.isNaN(column) ? rows.clientWidth - PHONE_REST_PX : column;
      setRoomPx((px / rem()) * REM_PX);
    };
    read();
    const observer = new ResizeObserver(read);
    observer.observe(rows);
    return () => observer.disconnect();
  }, [place]);
  return roomPx;
}

function useCursorInSight(
  cursor: string | null,
  items: readonly Item[],
  onScroll: (index: number) => void,
): void {
  useEffect(() => {
    if (cursor === null) return;
    const index = items.findIndex(({ key }) => key === cursor);
    if (index >= 0) onScroll(index);
    // Only a move of the cursor scrolls; a row that changes places does not.
  }, [cursor]);
}

function ListHead() {
  const { state, name, expected, beats, duration, fuse } = checksWords.columns;
  return (
    <div role="rowgroup">
      <div className="list-head" role="row" aria-rowindex={1}>
        {[state, name, expected, beats, duration, fuse].map((text) => (
          <span key={text} role="columnheader">
            {text}
          </span>
        ))}
      </div>
    </div>
  );
}

function GroupHead({ text, top, index }: { text: string; top: number; index: number }) {
  return (
    <div
      className="list-group"
      role="row"
      aria-rowindex={index}
      style={{ transform: `translateY(${top}px)` }}
    >
      <span role="cell">
        <h2 className="clip">{text}</h2>
      </span>
    </div>
  );
}

/** Tells which rows have come into sight, once scrolling rests; again when one of them changes. */
function useSeen(ids: readonly string[], snapshot: ChecksSnapshot, onSee: (ids: string[]) => void): void {
  const key = ids.map((id) => `${id}${snapshot.rows.get(id)?.change ?? ""}`).join(" ");
  const latest = useRef<() => void>(() => undefined);
  useEffect(() => {
    latest.current = () => onSee([...ids]);
  });
  useEffect(() => {
    const timer = setTimeout(() => latest.current(), REST_MS);
    return () => clearTimeout(timer);
  }, [key]);
}

/** In pixels of this screen: they grow with the reader's type size, and rows are taller on a phone. */
function useHeights(): { head: number; row: number } {
  const [heights, setHeights] = useState(measure);
  useEffect(() => {
    const phone = matchMedia(PHONE);
    const change = () => setHeights(measure());
    phone.addEventListener("change", change);
    return () => phone.removeEventListener("change", change);
  }, []);
  return heights;
}

function measure(): { head: number; row: number } {
  const px = rem();
  const rows = ROW_REM[matchMedia(PHONE).matches ? "phone" : "desk"];
  return { head: HEAD_REM * px, row: rows[shownDensity()] * px };
}

/** The root is set to the text size of a page; the scale is that of the browser's own setting. */
function rem(): number {
  return Number.parseFloat(getComputedStyle(document.documentElement).fontSize) || REM_PX;
}
