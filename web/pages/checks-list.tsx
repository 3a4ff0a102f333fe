// The check list: renders only the visible rows. The window scrolls, not an element in it.
import "./checks.css";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { memo, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { type CheckRow, drawnAt, type RowDetail } from "../../src/contract/api/check-row.ts";
import type { Silence } from "../../src/contract/api/silences.ts";
import { checkName, formatCount } from "../../src/contract/api/words.ts";
import { userZone, shownDensity } from "../boot.ts";
import type { ChecksSnapshot } from "../live/checks-store.ts";
import { useMinute, useNow } from "../live/clock.ts";
import { askToSilence } from "../parts/silencing.tsx";
import { currentProject, pageHref, useCurrentProject } from "../page-location.ts";
import { Icon } from "../ui/button.tsx";
import { ChannelMark, FuseBar, Mark, RunStrip, Spark, StateMark, Tags } from "../ui/marks.tsx";
import { Menu, MenuItem, MenuLine, MenuLink } from "../ui/menu.tsx";
import { actionWords, checksWords, toleranceLabel, toleranceText } from "../words/checks.ts";
import {
  formatAgo,
  formatBrief,
  formatClock,
  formatDay,
  formatDuration,
  formatExact,
  formatSpan,
  formatUntil,
  formatWhen,
  type Reader,
} from "../words/format.ts";
import { silencedWords, silenceName } from "../words/silences.ts";
import { copyPingUrl, deleteChecks, pauseChecks, resumeChecks } from "./checks-actions.ts";
import type { Item } from "./checks-view.ts";
import { acknowledge } from "./incident-actions.ts";
import { silencedNow } from "./use-silences.ts";

const ROWS_AHEAD = 6;
/** Heights in rem, as in page.css. */
const HEAD_REM = 2.5;
const ROW_REM = {
  desk: { comfortable: 3.5, compact: 2.75 },
  phone: { comfortable: 4.625, compact: 3.75 },
} as const;
const REM_PX = 16;
const PHONE = "(max-width: 720px)";
/** The width of the margins, the shape and the menu of a row on a phone. */
const PHONE_REST_PX = 96;
/** Details of visible rows are fetched this long after scrolling has stopped. */
const REST_MS = 120;

type CheckListProps = {
  items: readonly Item[];
  snapshot: ChecksSnapshot;
  silences: readonly Silence[];
  picked: ReadonlySet<string>;
  cursor: string | null;
  mayEdit: boolean;
  hasAnyChannel: boolean;
  onPick: (id: string, isRange: boolean) => void;
  onSee: (ids: string[]) => void;
  /** Whether the pointer is over the list. */
  onHold: (isHeld: boolean) => void;
};

export function CheckList(props: CheckListProps) {
  const { items, snapshot, silences, picked, cursor, mayEdit, hasAnyChannel, onPick, onSee, onHold } = props;
  const place = useRef<HTMLDivElement>(null);
  const { virtual, above } = useLines(items, place);
  const roomPx = useRoom(place);
  const shown = virtual.getVirtualItems();
  const minute = useMinute();
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
              {...silencedProps(silences, row, minute)}
              index={index + 2}
              top={top}
              isPicked={picked.has(item.key)}
              isCursor={cursor === item.key}
              mayEdit={mayEdit}
              hasAnyChannel={hasAnyChannel}
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

/** Plain values: a row is rendered again only if one of them changes. */
function silencedProps(silences: readonly Silence[], row: CheckRow, now: number) {
  const found = silences.length === 0 ? null : silencedNow(silences, row, now);
  return found === null
    ? { silencedUntil: null, silencedBy: "" }
    : { silencedUntil: found.until, silencedBy: silenceName(found.silence) };
}

/** The rows that are rendered in full: all of them at rest; while scrolling, those that already were. */
function useWhole(ids: readonly string[], isScrolling: boolean): ReadonlySet<string> {
  const before = useRef<ReadonlySet<string>>(new Set());
  const whole = new Set(isScrolling ? ids.filter((id) => before.current.has(id)) : ids);
  useEffect(() => {
    before.current = whole;
  });
  return whole;
}

/** The position of each line in the window. */
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
    // Rendered in a task of its own, so that scrolling is not interrupted.
    useFlushSync: false,
  });
  return { virtual, above };
}

/** The offset of the list from the top of the page. Read when the page has been resized, after its layout. */
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
 * The width of the column of names, from the head of the list; on a phone, where there is no head, the remaining width.
 * Given for the default font size.
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

/** Reports the visible rows once scrolling has stopped, and again when one of them changes. */
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

/** In pixels of this screen: they grow with the user's font size, and rows are taller on a phone. */
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

/** The root has the font size of the page; the scale is that of the browser's setting. */
function rem(): number {
  return Number.parseFloat(getComputedStyle(document.documentElement).fontSize) || REM_PX;
}

// One row. It is a link; its checkbox and menu lie above it. It is rendered every second while visible, for its fuse.

/** Width of the label for rows without a channel. */
const NO_CHANNEL_PX = 104;
/** Width of the labels for silenced rows, and for those whose notifications do not follow the status. */
const SILENCED_PX = 92;
const TOLERANCE_PX = 122;
/** In a narrower column the channels are shown in the menu only. */
const CHANNELS_FROM_PX = 300;
/** The width of channel icons, each and around them. */
const CHANNEL_ICONS_MAX = 4;
const CHANNEL_ICON_PX = 18;
const CHANNEL_RIM_PX = 30;

type RowProps = {
  row: CheckRow;
  detail: RowDetail | undefined;
  /** Null: it is not silenced. */
  silencedUntil: number | null;
  /** The name of the silence. */
  silencedBy: string;
  index: number;
  top: number;
  isPicked: boolean;
  isCursor: boolean;
  mayEdit: boolean;
  /** Some check of the project notifies a channel: a check without one was likely forgotten. */
  hasAnyChannel: boolean;
  /** It became visible during scrolling: details and controls are left out until scrolling stops. */
  isPassing: boolean;
  /** The width of the column that name and tags share. */
  roomPx: number;
  /** `isRange`: everything from the last selected row up to this one. */
  onPick: (id: string, isRange: boolean) => void;
};

const Row = memo(function Row(props: RowProps) {
  const { row, detail, index, top, isPicked, isCursor, isPassing, onPick } = props;
  const mayEdit = props.mayEdit && !isPassing;
  const now = useNow();
  const state = drawnAt(row, now);
  const name = checkName(row);
  const marks = `${isPicked ? " is-picked" : ""}${isCursor ? " is-cursor" : ""}`;
  return (
    <div
      className={`row is-${state}${marks}`}
      role="row"
      aria-rowindex={index}
      data-id={row.id}
      {...(mayEdit && swipeOf(row))}
      onClick={openAsLink}
      onAuxClick={openAsLink}
      style={{ transform: `translateY(${top}px)` }}
    >
      <span className="row-state" role="cell">
        {mayEdit && (
          <input
            type="checkbox"
            className="row-pick"
            aria-label={checksWords.select(name)}
            checked={isPicked}
            onChange={(event) => onPick(row.id, (event.nativeEvent as MouseEvent).shiftKey)}
          />
        )}
        <StateMark state={state} />
      </span>
      <NameCell {...props} mayEdit={mayEdit} />
      <span className="row-expected clip" role="cell" title={row.expected}>
        {row.expected}
      </span>
      <span className="row-beats" role="cell">
        {!isPassing && <RunStrip beats={detail?.recentRuns ?? null} />}
      </span>
      <span className="row-spark figures" role="cell">
        {!isPassing && <Durations detail={detail} />}
      </span>
      <span className="row-when figures" role="cell">
        <Moment said={lastText(row, { now, zone: userZone })} className="row-last" />
        <Moment said={nextText(row, { now, zone: userZone })} className="row-next" />
        <FuseBar row={row} now={now} />
      </span>
    </div>
  );
});

/** The name, as many tags as fit, the channels, and the menu. */
function NameCell(props: RowProps) {
  const { row, detail, silencedUntil, silencedBy, mayEdit, hasAnyChannel, isPassing, roomPx } = props;
  const name = checkName(row);
  const hasNoChannel =
    row.channelCount === 0 && (row.state === "down" || (hasAnyChannel && row.state !== "paused"));
  const isMarked = roomPx >= CHANNELS_FROM_PX && row.channelCount > 0;
  const channelsPx = isMarked
    ? CHANNEL_RIM_PX + Math.min(row.channelCount, CHANNEL_ICONS_MAX) * CHANNEL_ICON_PX
    : 0;
  return (
    <span className="row-name" role="cell">
      <Link className="row-link clip" href={pageHref("check", { check: row.id })} title={name}>
        {name}
      </Link>
      <NamedTags
        row={row}
        roomPx={
          roomPx -
          (hasNoChannel ? NO_CHANNEL_PX : channelsPx) -
          (silencedUntil === null ? 0 : SILENCED_PX) -
          (row.tolerance === null ? 0 : TOLERANCE_PX)
        }
      />
      {row.tolerance !== null && (
        <span className="tag row-tolerance" title={toleranceText(row.tolerance)}>
          {toleranceLabel(row.tolerance)}
        </span>
      )}
      {silencedUntil !== null && <SilencedLabel until={silencedUntil} by={silencedBy} />}
      {hasNoChannel && <NoChannelLabel />}
      {isMarked && !isPassing && detail !== undefined && (
        <ChannelIcons channels={detail.channels} rest={row.channelCount - detail.channels.length} />
      )}
      {mayEdit && (
        <span className="row-acts">
          <RowMenu row={row} />
        </span>
      )}
    </span>
  );
}

/** A swipe pauses or resumes; the message offers undo, and the menu has the same action. */
function swipeOf(row: CheckRow) {
  const isPaused = row.state === "paused";
  const act = isPaused ? resumeChecks : pauseChecks;
  const project = () => currentProject()?.id ?? "";
  return swipeHandlers(isPaused ? actionWords.resume : actionWords.pause, () => void act(project(), [row]));
}

function NamedTags({ row, roomPx }: Pick<RowProps, "row" | "roomPx">) {
  return <Tags names={row.tags} most={tagsBeside({ name: checkName(row), tags: row.tags, roomPx })} />;
}

function NoChannelLabel() {
  return (
    <span className="tag row-untold" title={checksWords.noChannelTitle}>
      {checksWords.noChannel}
    </span>
  );
}

function SilencedLabel({ until, by }: { until: number; by: string }) {
  const when = formatWhen(until, { now: useMinute(), zone: userZone });
  return (
    <span className="tag row-silenced" title={silencedWords.title(by, when)}>
      <Mark mark="silenced" size={12} />
      {silencedWords.mark}
      <span className="sr"> {silencedWords.title(by, when)}</span>
    </span>
  );
}

/** The channels that are notified. */
function ChannelIcons({ channels, rest }: Pick<RowDetail, "channels"> & { rest: number }) {
  const names = channels.map(({ name, isEnabled }) => (isEnabled ? name : checksWords.disabledChannel(name)));
  const text = checksWords.notifies(names, rest);
  return (
    <span className="row-told" title={text}>
      {channels.map(({ kind, isEnabled }, index) => (
        <ChannelMark key={index} kind={kind} isOff={!isEnabled} />
      ))}
      {rest > 0 && <span aria-hidden="true">+{formatCount(rest)}</span>}
      <span className="sr">{text}</span>
    </span>
  );
}

/** The whole row is a link, even where something with a tooltip is above it. */
function openAsLink(event: React.MouseEvent<HTMLElement>): void {
  const isOwn =
    event.target instanceof Element && event.target.closest("a, button, input, [role=menu]") !== null;
  const link = event.currentTarget.querySelector<HTMLAnchorElement>("a.row-link");
  if (isOwn || link === null || event.button > 1) return;
  if (event.button === 1 || event.ctrlKey || event.metaKey) window.open(link.href, "_blank", "noopener");
  else link.click();
}

function Durations({ detail }: { detail: RowDetail | undefined }) {
  const p95Ms = detail?.p95Ms ?? null;
  if (detail === undefined || p95Ms === null) return <span className="muted">{checksWords.noDuration}</span>;
  // Half an hour is shown in minutes.
  const duration = formatBrief(p95Ms);
  return (
    <>
      <Spark durationsMs={detail.durationsMs} />
      <span className="row-p95" title={checksWords.p95(formatDuration(p95Ms))}>
        {duration}
      </span>
    </>
  );
}

function Moment({ said, className }: { said: RowText; className: string }) {
  if (said.at === null) return <span className={className}>{said.text}</span>;
  return (
    <time
      className={className}
      dateTime={new Date(said.at).toISOString()}
      title={formatExact(said.at, userZone)}
    >
      {said.text}
    </time>
  );
}

// The menu of a row, created when it is opened.

function RowMenu({ row }: { row: CheckRow }) {
  const [isMade, setMade] = useState(false);
  const label = checksWords.actions(checkName(row));
  const look = { className: "button is-bare is-icon row-more", "aria-label": label, title: label };
  if (!isMade) {
    return (
      <button type="button" {...look} aria-haspopup="menu" onClick={() => setMade(true)}>
        <Icon name="more" />
      </button>
    );
  }
  return (
    <Menu
      align="end"
      isOpenAtOnce
      trigger={
        <button type="button" {...look}>
          <Icon name="more" />
        </button>
      }
    >
      <RowActions row={row} />
    </Menu>
  );
}

function RowActions({ row }: { row: CheckRow }) {
  const project = useCurrentProject()?.id ?? "";
  return (
    <>
      <MenuLink href={pageHref("check", { check: row.id })}>{actionWords.open}</MenuLink>
      {row.state === "paused" ? (
        <MenuItem keys="p" onPick={() => void resumeChecks(project, [row])}>
          {actionWords.resume}
        </MenuItem>
      ) : (
        <MenuItem keys="p" onPick={() => void pauseChecks(project, [row])}>
          {actionWords.pause}
        </MenuItem>
      )}
      {row.state === "down" && (
        <MenuItem keys="a" onPick={() => void acknowledge(project, { checks: [row.id] })}>
          {actionWords.acknowledge}
        </MenuItem>
      )}
      <MenuItem keys="s" onPick={() => askToSilence({ project, checks: [row.id] })}>
        {silencedWords.act}
      </MenuItem>
      <MenuItem onPick={() => void copyPingUrl(row.id)}>{actionWords.copyUrl}</MenuItem>
      <MenuLine />
      <MenuItem isDanger onPick={() => void deleteChecks(project, [row])}>
        {actionWords.delete}
      </MenuItem>
    </>
  );
}

// The texts next to the fuse: the last ping on the left, what happens next on the right.

/** A text, and the exact time for the tooltip. */
export type RowText = { text: string; at: number | null };

/** "12 min ago", "running 22 min", "never". */
export function lastText(row: CheckRow, { now }: Reader): RowText {
  if (row.runningSince !== null) {
    return { text: checksWords.runningFor(formatSpan(now - row.runningSince)), at: row.runningSince };
  }
  if (row.lastPingAt === null) return { text: checksWords.never, at: null };
  return { text: formatAgo(row.lastPingAt, now), at: row.lastPingAt };
}

/** "in 4 min", "alert in 11 min", "down for 2 h 11 min", "failed, exit 3", "due by 04:00". */
export function nextText(row: CheckRow, { now, zone }: Reader): RowText {
  const { fuse } = row;
  switch (drawnAt(row, now)) {
    case "down":
      return downText(row, now);
    case "paused":
      return { text: checksWords.paused, at: null };
    case "new":
      return { text: checksWords.waiting, at: null };
    case "late": {
      const alertAt = fuse?.alertAt ?? now;
      const text = alertAt > now ? checksWords.alertIn(formatSpan(alertAt - now)) : checksWords.alertNow;
      return { text, at: alertAt };
    }
    case "running": {
      if (fuse === null) return { text: checksWords.nothingAwaited, at: null };
      const day = formatDay(fuse.alertAt, { now, zone });
      const clock = formatClock(fuse.alertAt, zone);
      return { text: checksWords.dueBy(day === "today" ? clock : `${day} ${clock}`), at: fuse.alertAt };
    }
    case "up":
      if (fuse === null) return { text: checksWords.nothingAwaited, at: null };
      return { text: formatUntil(fuse.lateAt, now), at: fuse.lateAt };
  }
}

function downText({ downReason, exitStatus, downSince }: CheckRow, now: number): RowText {
  if (downReason === "fail") {
    const text =
      exitStatus === null || exitStatus === 0 ? checksWords.failed : checksWords.failedExit(exitStatus);
    return { text, at: downSince };
  }
  return { text: checksWords.downFor(formatSpan(now - (downSince ?? now))), at: downSince };
}

// How many tags fit next to the name. Widths are estimated: measuring every row would cause a layout while scrolling.

/** Widths on screen, a little more than most letters need, so that a name is not cut short for a tag. */
const NAME_LETTER_PX = 7.7;
const TAG_LETTER_PX = 6.6;
/** Full-width characters count twice. */
const WIDE_FROM = 0x2e80;
const TAG_RIM_PX = 19;
/** "+2", with the gap to the tag before. */
const REST_PX = 36;
/** A tag that is longer is cut, by `.tag` in ui.css. */
const TAG_LETTERS_MAX = 16;
/** With more than these, a number is more useful. */
const TAGS_MAX = 3;

export type TagRoom = { name: string; tags: readonly string[]; roomPx: number };

/** The number of tags that fit, in their order, with the number of the others behind them. */
export function tagsBeside({ name, tags, roomPx }: TagRoom): number {
  let left = roomPx - lettersOf(name) * NAME_LETTER_PX;
  let count = 0;
  for (const tag of tags.slice(0, TAGS_MAX)) {
    const isLast = count === tags.length - 1;
    left -= Math.min(lettersOf(tag), TAG_LETTERS_MAX) * TAG_LETTER_PX + TAG_RIM_PX;
    if (left < (isLast ? 0 : REST_PX)) break;
    count += 1;
  }
  return count;
}

function lettersOf(text: string): number {
  let letters = 0;
  for (const sign of text) letters += (sign.codePointAt(0) ?? 0) >= WIDE_FROM ? 2 : 1;
  return letters;
}

// The swipe action of a row, for touch only. Nothing is rendered while the finger moves.

/** A smaller movement is a trembling finger, or the start of scrolling. */
const BEGINS_PX = 12;
/** From this distance on, releasing triggers the action. */
const MEANT_PX = 96;
/** The row follows the finger no further than this. */
const FARTHEST_PX = 160;

type Place = HTMLElement;
type Touched = React.PointerEvent<Place>;

/** The direction of a swipe: not yet known, to the side with the action, or to the other side, which has none. */
type Way = "open" | "swipe" | "other";

/** Only one finger counts, so there is one gesture. */
let gesture: { pointerId: number; place: Place; x: number; y: number; way: Way } | null = null;

/** Touch handlers of a row: `label` is shown next to the row while it is swiped, `act` runs on release. */
export function swipeHandlers(label: string, act: () => void) {
  return {
    "data-swipe-says": label,
    onPointerDown: begin,
    onPointerMove: follow,
    onPointerUp: ({ pointerId }: Touched) => {
      if (gesture?.pointerId === pointerId && putBack() === "meant") act();
    },
    // The browser has taken over the touch, to scroll.
    onPointerCancel: ({ pointerId }: Touched) => {
      if (gesture?.pointerId === pointerId) putBack();
    },
  };
}

/** A second finger is ignored; a first one ends an unfinished gesture. */
function begin({ currentTarget: place, clientX, clientY, pointerId, pointerType, isPrimary }: Touched): void {
  if (pointerType !== "touch" || !isPrimary) return;
  putBack();
  gesture = { pointerId, place, x: clientX, y: clientY, way: "open" };
  place.addEventListener("touchmove", keepFromFling, { passive: false });
}

/** Ends the gesture, puts its row back, and returns how far it was moved. */
function putBack(): string | undefined {
  const place = gesture?.place;
  gesture = null;
  if (place === undefined) return undefined;
  place.removeEventListener("touchmove", keepFromFling);
  const { swipe } = place.dataset;
  delete place.dataset["swipe"];
  place.style.removeProperty("--swipe");
  return swipe;
}

/**
 * After a finger was dragged to the side, the browser starts a fling, even if the page cannot scroll there, and a tap
 * soon after only ends that fling, without a click. So the default action is prevented.
 */
function keepFromFling(event: TouchEvent): void {
  if (gesture !== null && gesture.way !== "open" && event.cancelable) event.preventDefault();
}

function follow({ currentTarget: place, clientX, clientY, pointerId }: Touched): void {
  if (gesture?.pointerId !== pointerId) return;
  const aside = gesture.x - clientX;
  if (gesture.way === "open") {
    const down = Math.abs(clientY - gesture.y);
    if (Math.max(Math.abs(aside), down) < BEGINS_PX) return;
    if (down > Math.abs(aside)) {
      putBack();
      return;
    }
    gesture.way = aside > 0 ? "swipe" : "other";
    if (gesture.way === "swipe") place.setPointerCapture(pointerId);
  }
  if (gesture.way === "other") return;
  place.dataset["swipe"] = aside >= MEANT_PX ? "meant" : "begun";
  place.style.setProperty("--swipe", `${-Math.min(FARTHEST_PX, Math.max(0, aside))}px`);
}
