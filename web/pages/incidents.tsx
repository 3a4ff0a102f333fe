// The incidents page: open, acknowledged and resolved incidents.
import "./incidents.css";
import { useState } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import type { IncidentRow } from "../../src/contract/api/incidents.ts";
import { mayIn, userZone } from "../boot.ts";
import { useMinute, useNow } from "../live/clock.ts";
import { pageHref, type PageProps, usePageTitle } from "../page-location.ts";
import { useShortcuts } from "../shortcuts.ts";
import { Button, ButtonLink } from "../ui/button.tsx";
import { DocsLink } from "../ui/docs-link.tsx";
import { Mark, StateShape, Tags } from "../ui/marks.tsx";
import { Empty, Queried } from "../ui/page-state.tsx";
import { Until } from "../ui/when.tsx";
import { dayNumber, formatClock, formatDay, formatSpan, type Reader } from "../words/format.ts";
import { actorName, incidentsWords as words, incidentTitle } from "../words/incidents.ts";
import { acknowledge } from "./incident-actions.ts";
import { useOpenIncidents, useResolvedIncidents } from "./use-incidents.ts";

type State = IncidentRow["state"];
const STATES: readonly State[] = ["open", "acknowledged", "resolved"];

export function IncidentsPage({ params }: PageProps) {
  const project = params.project ?? "";
  const open = useOpenIncidents(project);
  const resolved = useResolvedIncidents(project);
  const [wanted, setWanted] = useWanted();
  const past = resolved.data?.pages.flatMap(({ incidents }) => incidents) ?? [];
  const current = open.data?.incidents ?? [];
  const isNone = open.isSuccess && resolved.isSuccess && current.length + past.length === 0;
  const title =
    open.data === undefined ? words.tab : isNone ? words.none.title : words.title(open.data.counts);
  usePageTitle(title);
  const now = useMinute();
  const groups = groupsOf([...current, ...past], { now, zone: userZone }, wanted);
  const mayAcknowledge = mayIn(project, "acknowledge");
  const cursor = useCursor({ project, mayAcknowledge, rows: groups.flatMap(({ rows }) => rows) });
  return (
    <>
      <header className="top">
        <h1>{title}</h1>
        <DocsLink to="incidents" />
      </header>
      <Queried query={open}>
        {({ counts }) =>
          isNone ? (
            <Empty
              title={words.none.title}
              docs="incidents"
              action={<ButtonLink href={pageHref("channels", { project })}>{words.none.act}</ButtonLink>}
            >
              <p>{words.none.text}</p>
            </Empty>
          ) : (
            <>
              <Filter counts={counts} wanted={wanted} onWanted={setWanted} />
              {groups.length === 0 && resolved.isSuccess && (
                <Empty title={words.noMatch.title}>
                  <p>{words.noMatch.text}</p>
                </Empty>
              )}
              {groups.length > 0 && <Head />}
              {groups.map(({ name, rows }) => (
                <section key={name} aria-labelledby={`incidents-${name}`}>
                  <h2 className="incidents-group" id={`incidents-${name}`}>
                    {words.groups[name]}
                  </h2>
                  <ul>
                    {rows.map((row) => (
                      <Line
                        key={row.number}
                        {...{ project, row, mayAcknowledge }}
                        isCursor={cursor === row.number}
                      />
                    ))}
                  </ul>
                </section>
              ))}
              {resolved.hasNextPage && (
                <p className="incidents-more">
                  <Button isBusy={resolved.isFetchingNextPage} onClick={() => void resolved.fetchNextPage()}>
                    {words.older}
                  </Button>
                </p>
              )}
            </>
          )
        }
      </Queried>
    </>
  );
}

/** The chosen status is part of the URL; null: all. */
function useWanted(): [State | null, (state: State | null) => void] {
  const [params, setParams] = useSearchParams();
  const wanted = STATES.find((state) => state === params.get("state")) ?? null;
  return [wanted, (state) => setParams(state === null ? {} : { state }, { replace: true })];
}

type GroupName = keyof typeof words.groups;

/** The rows in groups: open, acknowledged, and resolved by day. Empty groups are left out. */
export function groupsOf(
  rows: readonly IncidentRow[],
  { now, zone }: Reader,
  wanted: State | null,
): { name: GroupName; rows: IncidentRow[] }[] {
  const groups = new Map<GroupName, IncidentRow[]>(
    (Object.keys(words.groups) as GroupName[]).map((name) => [name, []]),
  );
  for (const row of rows) {
    if (wanted !== null && row.state !== wanted) continue;
    const days = dayNumber(now, zone) - dayNumber(row.resolvedAt ?? now, zone);
    const resolved = days === 0 ? "today" : days === 1 ? "yesterday" : "earlier";
    groups.get(row.state === "resolved" ? resolved : row.state)?.push(row);
  }
  return [...groups].filter(([, some]) => some.length > 0).map(([name, some]) => ({ name, rows: some }));
}

type FilterProps = {
  counts: { open: number; acknowledged: number };
  wanted: State | null;
  onWanted: (state: State | null) => void;
};

function Filter({ counts, wanted, onWanted }: FilterProps) {
  return (
    <div className="incidents-filter" role="group" aria-label={words.filter}>
      {STATES.map((state) => (
        <button
          key={state}
          type="button"
          className="chip"
          aria-pressed={wanted === state}
          onClick={() => onWanted(wanted === state ? null : state)}
        >
          <StateMarkOf state={state} />
          {state !== "resolved" && `${counts[state]} `}
          {words.states[state]}
        </button>
      ))}
    </div>
  );
}

function StateMarkOf({ state }: { state: State }) {
  if (state === "acknowledged") return <Mark mark="acknowledged" />;
  return <StateShape state={state === "open" ? "down" : "up"} label={null} />;
}

function Head() {
  const { state, what, bar, who, lasted } = words.columns;
  return (
    <div className="incident is-head" aria-hidden="true">
      {[state, what, bar, who, lasted].map((text) => (
        <span key={text}>{text}</span>
      ))}
    </div>
  );
}

type LineProps = { project: string; row: IncidentRow; mayAcknowledge: boolean; isCursor: boolean };
const TAGS_SHOWN = 2;

function Line({ project, row, mayAcknowledge, isCursor }: LineProps) {
  const { state, number, checkCount, openCount, tags, nextStep } = row;
  const title = incidentTitle(row);
  const reader = { now: useNow(), zone: userZone };
  const severity = words.severities[row.severity];
  const about = [
    ...(checkCount > 1 && state !== "resolved" ? [words.openOf(openCount, checkCount)] : []),
    ...(severity === "" ? [] : [severity]),
    ...(row.isFlapping ? [words.flapping] : []),
  ];
  return (
    <li className={`incident is-${state}${isCursor ? " is-cursor" : ""}`} data-number={number}>
      <span className={`incident-state is-${state}`}>
        <StateMarkOf state={state} />
        {words.states[state]}
      </span>
      <div className="incident-what">
        <h3>
          <Link className="incident-link" href={pageHref("incident", { project, n: String(number) })}>
            <bdi>{title}</bdi>
          </Link>
          {checkCount > 1 && <span className="tag">{words.checks(checkCount)}</span>}
          <Tags names={tags} most={TAGS_SHOWN} />
        </h3>
        <p>
          {about.join(", ")}
          {nextStep !== null && (
            <>
              {about.length > 0 && ". "}
              {words.next[nextStep.kind]("")}
              <Until at={nextStep.at} />
            </>
          )}
        </p>
      </div>
      <div>
        <Bar row={row} now={reader.now} />
        <span className="incident-times figures">{timesText(row, reader)}</span>
      </div>
      <Who row={row} title={title} {...{ project, mayAcknowledge }} />
      <span className="incident-lasted figures">
        {formatSpan((row.resolvedAt ?? reader.now) - row.openedAt)}
      </span>
    </li>
  );
}

/** "05:23 → now", "yesterday 23:12 → 01:48". */
export function timesText({ openedAt, resolvedAt }: IncidentRow, reader: Reader): string {
  const day = (at: number) => formatDay(at, reader);
  const stamp = (at: number) => {
    const clock = formatClock(at, reader.zone);
    return day(at) === "today" ? clock : `${day(at)} ${clock}`;
  };
  if (resolvedAt === null) return `${stamp(openedAt)} → ${words.now}`;
  const isSameDay = day(openedAt) === day(resolvedAt);
  return `${stamp(openedAt)} → ${isSameDay ? formatClock(resolvedAt, reader.zone) : stamp(resolvedAt)}`;
}

/** How much of the time it was open, and how much acknowledged. */
function Bar({ row: { state, openedAt, resolvedAt, acknowledged }, now }: { row: IncidentRow; now: number }) {
  const end = resolvedAt ?? now;
  const handled = acknowledged !== null && state !== "open" ? Math.max(openedAt, acknowledged.at) : end;
  const open = Math.max(1, handled - openedAt);
  const rest = Math.max(0, end - handled);
  const label = words.bar(formatSpan(open), rest > 0 ? formatSpan(rest) : null);
  return (
    <svg
      className="incident-bar"
      viewBox="0 0 100 8"
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <BarParts open={open} acknowledged={rest} isOver={resolvedAt !== null} />
    </svg>
  );
}

function BarParts({ open, acknowledged, isOver }: { open: number; acknowledged: number; isOver: boolean }) {
  const width = isOver ? 100 : 84;
  const openWidth = (open / (open + acknowledged)) * width;
  return (
    <>
      <rect className="bar-open" x="0" y="0" width={openWidth} height="8" />
      {acknowledged > 0 && (
        <rect
          className="bar-handled"
          x={openWidth + 1}
          y="2"
          width={Math.max(0, width - openWidth - 1)}
          height="4"
        />
      )}
      {!isOver && <rect className="bar-ahead" x="86" y="0.5" width="13.5" height="7" />}
    </>
  );
}

type WhoProps = { project: string; row: IncidentRow; title: string; mayAcknowledge: boolean };

function Who({ project, row, title, mayAcknowledge }: WhoProps) {
  const [isBusy, setBusy] = useState(false);
  const { state, acknowledged, number } = row;
  if (state === "open" && mayAcknowledge) {
    const act = async () => {
      setBusy(true);
      await acknowledge(project, { incidents: [number] });
      setBusy(false);
    };
    return (
      <span className="incident-who">
        <Button keys="a" isBusy={isBusy} aria-label={words.acknowledgeOf(title)} onClick={() => void act()}>
          {words.acknowledge}
        </Button>
      </span>
    );
  }
  const isShown = acknowledged !== null && state !== "open";
  return (
    <span className={`incident-who clip${isShown ? "" : " muted"}`}>
      {isShown ? actorName(acknowledged.by) : words.notAcknowledged}
    </span>
  );
}

// The cursor of the list, moved by keys.

type CursorProps = { project: string; mayAcknowledge: boolean; rows: readonly IncidentRow[] };

/** The number of the incident under the cursor. */
function useCursor({ project, mayAcknowledge, rows }: CursorProps): number | null {
  const [, navigate] = useLocation();
  const [cursor, setCursor] = useState<number | null>(null);
  const at = rows.findIndex(({ number }) => number === cursor);
  const move = (by: 1 | -1) => {
    const row = rows[at === -1 ? 0 : Math.min(rows.length - 1, Math.max(0, at + by))];
    if (row === undefined) return;
    setCursor(row.number);
    document.querySelector(`[data-number="${row.number}"]`)?.scrollIntoView({ block: "nearest" });
  };
  const open = (event: KeyboardEvent) => {
    // A focused link or button handles the key itself.
    const own = event.target instanceof HTMLElement ? event.target.closest<HTMLElement>("a, button") : null;
    if (own !== null) own.click();
    else if (cursor !== null) navigate(pageHref("incident", { project, n: String(cursor) }));
  };
  const act = () => {
    if (rows[at]?.state === "open") void acknowledge(project, { incidents: [rows[at].number] });
  };
  const { group, down, up, open: openWord, acknowledge: actWord } = words.keys;
  useShortcuts([
    { keys: "j", label: down, group, run: () => move(1) },
    { keys: "k", label: up, group, run: () => move(-1) },
    { keys: "Enter", label: openWord, group, run: open },
    ...(mayAcknowledge ? [{ keys: "a", label: actWord, group, run: act }] : []),
  ]);
  return cursor;
}
