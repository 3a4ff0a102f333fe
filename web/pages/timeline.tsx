// The timeline: what all checks of a project did and will do, on one axis.
import "./timeline.css";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useCallback, useDeferredValue, useEffect, useId, useMemo, useRef, useState } from "react";
import { Link, useLocation, useSearch } from "wouter";
import {
  type Timeline,
  TIMELINE_RANGES,
  type TimelineClockChange,
} from "../../src/contract/api/timeline-marks.ts";
import { FIELD_LENGTHS } from "../../src/contract/api/limits.ts";
import { call } from "../api.ts";
import { takeBootPage, userZone } from "../boot.ts";
import { checksStore } from "../live/checks-store.ts";
import { serverNow, useMinute } from "../live/clock.ts";
import { pageHref, type PageProps, usePageTitle } from "../page-location.ts";
import { useDebounced } from "../parts/hooks.ts";
import { useShortcuts } from "../shortcuts.ts";
import { Button, Icon, Keys } from "../ui/button.tsx";
import { DocsLink } from "../ui/docs-link.tsx";
import { Menu, MenuChoice } from "../ui/menu.tsx";
import { Empty, Failed, Loading } from "../ui/page-state.tsx";
import { words as shared } from "../words/shared.ts";
import { leadOf, spokenRange, stateName, timelineTitle, timelineWords as words } from "../words/timeline.ts";
import { TimelineChart } from "./timeline-chart.tsx";
import { clockChanges } from "./timeline-drawing.ts";
import { joinedPages } from "./timeline-lines.ts";
import { TimelineTable } from "./timeline-table.tsx";
import {
  askedOf,
  FILTER_STATES,
  FIRST_VIEW,
  isFilteredView,
  movedView,
  nowView,
  type Range,
  rangeOf,
  readTimelineView,
  selectedView,
  type TimelineView,
  writeTimelineView,
  zoomedView,
} from "./timeline-view.ts";

const TYPING_MS = 250;

export function TimelinePage({ params }: PageProps) {
  const project = params.project ?? "";
  const [view, show] = useTimelineView();
  const { timeline, query } = useTimeline(project, view);
  const now = Math.max(useMinute(), timeline?.now ?? 0);
  const reader = { now, zone: userZone };
  const isUnused = timeline !== null && timeline.total === 0 && !isFilteredView(view);
  const title =
    timeline === null
      ? shared.nav.timeline
      : timeline.total === 0 && !isUnused
        ? words.noMatch.title
        : timelineTitle(timeline, reader);
  usePageTitle(title);
  const search = useRef<HTMLInputElement>(null);
  useTimelineKeys(view, show, search);
  // Only a phone folds the search and the filters: there, they would push the picture out of sight.
  const [isOpen, setOpen] = useState(isFilteredView(view));
  return (
    <>
      <header className={isOpen ? "top tl-top is-open" : "top tl-top"}>
        <h1>{title}</h1>
        <DocsLink to="timeline" />
        {!isUnused && <SearchField view={view} onView={show} place={search} />}
      </header>
      {query.isError && timeline === null && (
        <Failed error={query.error} onRetry={() => void query.refetch()} />
      )}
      {query.isPending && timeline === null && <Loading rows={12} />}
      {isUnused && <NoChecks project={project} />}
      {timeline !== null && !isUnused && (
        <Shown
          timeline={timeline}
          isCurrent={!query.isPlaceholderData}
          view={view}
          now={now}
          onView={show}
          isOpen={isOpen}
          onOpen={setOpen}
          more={
            query.hasNextPage && (
              <Button isBusy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
                {words.moreRows}
              </Button>
            )
          }
        />
      )}
    </>
  );
}

function NoChecks({ project }: { project: string }) {
  return (
    <Empty
      title={words.none.what}
      action={
        <Link className="button is-quiet" href={pageHref("checks", { project })}>
          {words.none.act}
        </Link>
      }
    >
      <p>{words.none.text}</p>
    </Empty>
  );
}

type ShownProps = {
  timeline: Timeline;
  /** Whether the answer is that of the view, or one that is shown until it comes. */
  isCurrent: boolean;
  view: TimelineView;
  now: number;
  onView: Show;
  more: React.ReactNode;
} & Folding;

type Folding = { isOpen: boolean; onOpen: (isOpen: boolean) => void };

function Shown({ timeline, isCurrent, view, now, onView, more, isOpen, onOpen }: ShownProps) {
  const range = useMemo(
    () => (isCurrent ? { fromAt: timeline.from, toAt: timeline.to } : rangeOf(view, now)),
    [isCurrent, timeline.from, timeline.to, view, now],
  );
  const clocks = useMemo(() => clocksOf(timeline, range), [timeline, range]);
  const reader = { now, zone: userZone };
  const lead = leadOf(timeline, clocks, reader);
  const isNothing = timeline.total === 0;
  // Drawn in small steps after the toolbar, so that keys and buttons respond at once.
  const drawn = useDeferredValue(
    useMemo(() => ({ timeline, range, view, now, clocks }), [timeline, range, view, now, clocks]),
  );
  const latest = useRef({ view, now, onView });
  useEffect(() => {
    latest.current = { view, now, onView };
  });
  const select = useCallback((selected: Range) => {
    const { view: current, now: at, onView: change } = latest.current;
    change(selectedView(current, selected, at));
  }, []);
  return (
    <>
      {!isNothing && lead.length > 0 && (
        <p className="tl-lead">
          {lead.map((parts, index) => (
            <span key={index}>
              {parts.map(({ text, isStrong = false }) => (isStrong ? <b key={text}>{text}</b> : text))}{" "}
            </span>
          ))}
        </p>
      )}
      <Toolbar view={view} mode={timeline.mode} onView={onView} isOpen={isOpen} onOpen={onOpen} />
      {isNothing ? (
        <Empty
          title={words.noMatch.title}
          action={<Button onClick={() => onView(unfiltered(view))}>{words.noMatch.act}</Button>}
        >
          <p>{words.noMatch.text}</p>
        </Empty>
      ) : view.isTable ? (
        <TimelineTable timeline={timeline} range={range} now={now} clocks={clocks} />
      ) : (
        <TimelineChart {...drawn} onSelect={select} />
      )}
      {!isNothing && (
        <div className="tl-below">
          {!view.isTable && <Hints />}
          {timeline.lanesFrom !== null && <span>{words.lanesFrom[timeline.lanesFrom]}</span>}
          {more}
          <button
            type="button"
            className="link tl-twin"
            onClick={() => onView({ ...view, isTable: !view.isTable })}
          >
            {view.isTable ? words.chart : words.table}
          </button>
        </div>
      )}
      <p className="sr" aria-live="polite">
        {isCurrent ? spokenRange(timeline, reader) : ""}
      </p>
    </>
  );
}

function unfiltered(view: TimelineView): TimelineView {
  return { ...view, search: FIRST_VIEW.search, tag: FIRST_VIEW.tag, state: FIRST_VIEW.state };
}

/** The changes of the user's clocks, and those of other zones that checks use. */
function clocksOf(timeline: Timeline, range: Range): TimelineClockChange[] {
  const own = clockChanges(range, userZone).map(({ at, byMs, offsetMs }): TimelineClockChange => {
    const same = timeline.clockChanges.find((one) => one.zone === userZone && one.at === at);
    const offsetAfter = offsetMs / 1_000;
    return {
      at,
      zone: userZone,
      offsetBefore: offsetAfter - byMs / 1_000,
      offsetAfter,
      isOwn: true,
      checkCount: same?.checkCount ?? 0,
    };
  });
  const others = timeline.clockChanges.filter(
    ({ at, zone, checkCount }) =>
      zone !== userZone && checkCount > 0 && at >= range.fromAt && at <= range.toAt,
  );
  return [...own, ...others];
}

function Hints() {
  const { move, zoom, now, drag, runs } = words.hints;
  return (
    <span className="tl-hints" aria-hidden="true">
      <Keys keys="ArrowLeft ArrowRight" /> {move} <Keys keys="+ −" /> {zoom} <Keys keys="N" /> {now}{" "}
      <Keys keys="Shift ArrowRight" /> {runs} <span>{drag}</span>
    </span>
  );
}

// The toolbar: range, filters, form.

type Show = (view: TimelineView, how?: { isReplaced: boolean }) => void;
type BarProps = { view: TimelineView; onView: Show };

function Toolbar({ view, mode, onView, isOpen, onOpen }: BarProps & Folding & { mode: Timeline["mode"] }) {
  const filtersId = useId();
  const move = (direction: -1 | 1) => onView(movedView(view, direction, serverNow()), { isReplaced: true });
  return (
    <div className="tl-bar">
      <div className="check-switch" role="group" aria-label={words.zoom}>
        {TIMELINE_RANGES.map((zoom) => (
          <button
            key={zoom}
            type="button"
            aria-pressed={view.range === null && view.zoom === zoom}
            onClick={() => onView({ ...view, zoom, range: null })}
          >
            {words.zooms[zoom]}
          </button>
        ))}
      </div>
      <div className={`tl-moves${isOpen ? " is-open" : ""}`}>
        <Button
          className="is-icon"
          aria-label={words.earlier}
          tip={words.earlier}
          keys="ArrowLeft"
          onClick={() => move(-1)}
        >
          ‹
        </Button>
        <Button tip={words.shortcuts.now} keys="n" onClick={() => onView(nowView(view))}>
          {words.now}
        </Button>
        <Button
          className="is-icon"
          aria-label={words.later}
          tip={words.later}
          keys="ArrowRight"
          onClick={() => move(1)}
        >
          ›
        </Button>
      </div>
      <span className="tl-gap-space" />
      <button
        type="button"
        className="chip is-quiet tl-fold"
        aria-expanded={isOpen}
        aria-controls={filtersId}
        onClick={() => onOpen(!isOpen)}
      >
        {words.filters}
        <Icon name="down" size={12} />
      </button>
      <div id={filtersId} className={`tl-filters${isOpen ? " is-open" : ""}`}>
        {view.tag !== "" && (
          <button
            type="button"
            className="chip is-quiet"
            aria-pressed="true"
            aria-label={words.removeTag(view.tag)}
            onClick={() => onView({ ...view, tag: "" })}
          >
            {words.tag(view.tag)}
            <Icon name="cross" size={12} />
          </button>
        )}
        <GroupMenu view={view} onView={onView} />
        <StateMenu view={view} onView={onView} />
      </div>
      <div className="check-switch" role="group" aria-label={words.detail}>
        {(["rows", "density"] as const).map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={mode === one}
            onClick={() => onView({ ...view, mode: one })}
          >
            {words[one]}
          </button>
        ))}
      </div>
    </div>
  );
}

function GroupMenu({ view, onView }: BarProps) {
  return (
    <Menu
      label={words.groupLabel}
      trigger={
        <button type="button" className="chip is-quiet">
          {words.group(view.isGrouped)}
        </button>
      }
    >
      {[true, false].map((isGrouped) => (
        <MenuChoice
          key={String(isGrouped)}
          isChosen={view.isGrouped === isGrouped}
          onPick={() => onView({ ...view, isGrouped })}
        >
          {isGrouped ? words.groups.tag : words.groups.none}
        </MenuChoice>
      ))}
    </Menu>
  );
}

function StateMenu({ view, onView }: BarProps) {
  return (
    <Menu
      label={words.stateLabel}
      trigger={
        <button type="button" className={`chip is-quiet${view.state === null ? "" : " is-on"}`}>
          {words.state(view.state)}
        </button>
      }
    >
      {[null, ...FILTER_STATES].map((state) => (
        <MenuChoice
          key={state ?? "any"}
          isChosen={view.state === state}
          onPick={() => onView({ ...view, state })}
        >
          {state === null ? words.anyState : stateName(state)}
        </MenuChoice>
      ))}
    </Menu>
  );
}

function SearchField({
  view,
  onView,
  place,
}: BarProps & { place: React.RefObject<HTMLInputElement | null> }) {
  const find = (search: string) => onView({ ...view, search }, { isReplaced: true });
  return (
    <label className="tl-search">
      <span className="sr">{words.searchLabel}</span>
      <input
        ref={place}
        className="input"
        type="search"
        placeholder={words.search}
        maxLength={FIELD_LENGTHS.eventSearch}
        value={view.search}
        onChange={(event) => find(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") find("");
        }}
      />
      {view.search === "" && <Keys keys="/" />}
    </label>
  );
}

function useTimelineKeys(
  view: TimelineView,
  show: Show,
  search: React.RefObject<HTMLInputElement | null>,
): void {
  const keys = words.shortcuts;
  const { group } = keys;
  const move = (direction: -1 | 1) => () =>
    show(movedView(view, direction, serverNow()), { isReplaced: true });
  const zoom = (direction: "in" | "out") => () => show(zoomedView(view, direction, serverNow()));
  useShortcuts([
    { keys: "ArrowLeft", label: keys.earlier, group, run: move(-1) },
    { keys: "ArrowRight", label: keys.later, group, run: move(1) },
    { keys: "Shift++", label: keys.zoomIn, group, run: zoom("in") },
    { keys: "+", label: keys.zoomIn, group, run: zoom("in"), isUnlisted: true },
    { keys: "=", label: keys.zoomIn, group, run: zoom("in"), isUnlisted: true },
    { keys: "-", label: keys.zoomOut, group, run: zoom("out") },
    { keys: "n", label: keys.now, group, run: () => show(nowView(view)) },
    { keys: "/", label: keys.search, group, run: () => search.current?.focus() },
  ]);
}

// The view in the URL. Moves and keystrokes replace the history entry; other changes can be undone with "back".

function useTimelineView(): [TimelineView, Show] {
  const text = useSearch();
  const [location, navigate] = useLocation();
  const view = useMemo(() => readTimelineView(text), [text]);
  const show: Show = (next, { isReplaced } = { isReplaced: false }) => {
    const query = writeTimelineView(next);
    if (query === writeTimelineView(view)) return;
    navigate(query === "" ? location : `${location}?${query}`, { replace: isReplaced });
  };
  return [view, show];
}

// The data. Live changes cause a new request after a pause.

const LIVE_MS = { rows: 4_000, density: 15_000 };
const REFRESH_MS = 60_000;
/** The server assumes this width; a wider plot asks for finer runs. */
const WIDE_PX = 1_500;

function useTimeline(project: string, view: TimelineView) {
  const search = useDebounced(view.search, TYPING_MS);
  const asked = { ...askedOf({ ...view, search }), ...(window.innerWidth > WIDE_PX && { width: 1_600 }) };
  const [first] = useState(() => takeBootPage("timeline"));
  const embedded = first?.project.id === project && isSame(first.query, asked) ? first.timeline : null;
  const query = useInfiniteQuery({
    queryKey: ["timeline", project, asked],
    queryFn: ({ pageParam, signal }) =>
      call(
        "getTimeline",
        { project, query: { ...asked, ...(pageParam !== null && { cursor: pageParam }) } },
        signal,
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
    placeholderData: keepPreviousData,
    refetchInterval: view.range === null ? REFRESH_MS : false,
    ...(embedded !== null && { initialData: { pages: [embedded], pageParams: [null] } }),
  });
  const pages = query.data?.pages;
  const timeline = useMemo(() => (pages === undefined ? null : joinedPages(pages)), [pages]);
  useLiveRefetch(project, LIVE_MS[timeline?.mode ?? "rows"], query.refetch);
  return { timeline, query };
}

/** Whether the embedded answer is that of the request; the width only changes how fine it is. */
function isSame(
  embedded: Readonly<Record<string, unknown>>,
  asked: Readonly<Record<string, unknown>>,
): boolean {
  const text = ({ width: _width, zone: _zone, ...rest }: Readonly<Record<string, unknown>>) =>
    JSON.stringify(Object.entries(rest).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return text({ range: "24h", ...embedded }) === text({ range: "24h", ...asked });
}

function useLiveRefetch(project: string, pauseMs: number, refetch: () => unknown): void {
  const latest = useRef(refetch);
  useEffect(() => {
    latest.current = refetch;
  });
  useEffect(() => {
    const store = checksStore(project);
    let { version } = store.snapshot();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const leave = store.watch(() => {
      const next = store.snapshot().version;
      if (next === version) return;
      version = next;
      timer ??= setTimeout(() => {
        timer = undefined;
        if (!document.hidden) latest.current();
      }, pauseMs);
    });
    return () => {
      leave();
      clearTimeout(timer);
    };
  }, [project, pauseMs]);
}
