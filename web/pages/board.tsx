// The wall board: a screen that is read from a distance. It polls, keeps the last data while the server is away, and
// needs no input.
import "./board.css";
import { useQuery } from "@tanstack/react-query";
import { memo, type ReactNode, useLayoutEffect } from "react";
import type { Board, BoardCandle, BoardCard, BoardGroup, BoardTally } from "../../src/contract/api/board.ts";
import { type DrawnState, drawnAt } from "../../src/contract/api/check-row.ts";
import { call, get, isNotFound } from "../api.ts";
import { boot, userZone } from "../boot.ts";
import { serverNow, useNow } from "../live/clock.ts";
import { usePageTitle } from "../page-location.ts";
import { FuseBar, fuseShares, Mark, StateShape } from "../ui/marks.tsx";
import { boardWords as words } from "../words/board.ts";
import { formatAgo, formatClock, formatDuration, formatSpan, formatUntil } from "../words/format.ts";
import { cityOf, formatLongDay, isStale } from "./board-view.ts";

const REFRESH_MS = 5_000;

/** The board of a project, for its members. */
export function MemberBoard({ project }: { project: string }) {
  return (
    <LiveBoard
      name={project}
      read={(signal) => call("getBoard", { project }, signal)}
      zoneOf={() => userZone}
    />
  );
}

/** The board of a share link. */
export function SharedBoard({ token }: { token: string }) {
  return (
    <LiveBoard
      name={`shared ${token}`}
      read={(signal) => get<Board>(`/board/${encodeURIComponent(token)}`, signal)}
      zoneOf={({ tz }) => tz}
    />
  );
}

type LiveProps = {
  name: string;
  read: (signal: AbortSignal) => Promise<Board>;
  zoneOf: (board: Board) => string;
};

/** A screen on the wall is dark, whatever the theme of the account. */
function useDark(): void {
  useLayoutEffect(() => {
    const { dataset } = document.documentElement;
    const { theme } = dataset;
    dataset["theme"] = "dark";
    return () => {
      if (theme === undefined) delete dataset["theme"];
      else dataset["theme"] = theme;
    };
  }, []);
}

function LiveBoard({ name, read, zoneOf }: LiveProps) {
  useDark();
  const query = useQuery({
    queryKey: ["board", name],
    queryFn: async ({ signal }) => ({ board: await read(signal), readAt: serverNow() }),
    refetchInterval: REFRESH_MS,
    refetchIntervalInBackground: true,
    retry: false,
    // A browser that believes it is offline tries anyway.
    networkMode: "always",
    staleTime: 0,
  });
  const { data, error } = query;
  if (isNotFound(error)) return <Notice {...words.invalid} />;
  if (data === undefined) {
    return error === null ? <main className="board" aria-busy="true" /> : <Notice {...words.unreachable} />;
  }
  return (
    <Screen board={data.board} readAt={data.readAt} hasFailed={error !== null} zone={zoneOf(data.board)} />
  );
}

function Notice({ title, text }: { title: string; text: string }) {
  usePageTitle(title);
  return (
    <main className="board is-notice">
      <h1>{title}</h1>
      <p>{text}</p>
    </main>
  );
}

type ScreenProps = { board: Board; readAt: number; hasFailed: boolean; zone: string };

function Screen({ board, readAt, hasFailed, zone }: ScreenProps) {
  const now = useNow();
  const { headline, counts, total, cards, moreCount, monitoringGap } = board;
  const title = words.headline(headline);
  usePageTitle(`${title} · ${board.project}`);
  const isCut = isStale({ readAt, hasFailed, now });
  return (
    <main className={`board is-${headline.kind}`}>
      <header className="board-head">
        <div>
          <h1>{title}</h1>
          <p>
            {words.summary(counts, total)}
            {moreCount > 0 && ` ${words.more(moreCount)}.`}
          </p>
        </div>
        <div className="board-clock">
          <time dateTime={new Date(now).toISOString()}>{formatClock(now, zone)}</time>
          <span>
            {formatLongDay(now, zone)} · {cityOf(zone)}
          </span>
        </div>
      </header>
      {cards.length > 0 && (
        <section className="board-cards" aria-label={words.problems}>
          {cards.map((card, index) => (
            <Card key={index} card={card} now={now} zone={zone} />
          ))}
        </section>
      )}
      <Groups board={board} now={now} />
      <footer className="board-foot">
        {board.next.length > 0 && (
          <span className="board-next">
            {words.next}
            {board.next.map(({ name, at }, index) => (
              <span key={index}>
                <b>{formatClock(at, zone)}</b> {name === "" ? words.unnamed : name}
              </span>
            ))}
          </span>
        )}
        <span className="board-gap" />
        {monitoringGap !== null && (
          <span>
            {words.gap(formatClock(monitoringGap.fromAt, zone), formatClock(monitoringGap.toAt, zone))}
          </span>
        )}
        {boot.alertDelayMs !== null && (
          <span>
            {words.alertDelay} <b>{formatDuration(boot.alertDelayMs)}</b>
          </span>
        )}
        {isCut ? (
          <span className="board-cut" role="status">
            <StateShape state="late" label={null} />
            <b>{words.disconnected(formatClock(readAt, zone))}</b> {words.stale}
          </span>
        ) : (
          <span>
            <i className="board-dot" />
            {words.live}, {words.updated(formatAgo(readAt, now))}
          </span>
        )}
      </footer>
    </main>
  );
}

// The most important problems.

type CardProps<C extends BoardCard = BoardCard> = { card: C; now: number; zone: string };

function Card({ card, now, zone }: CardProps) {
  switch (card.kind) {
    case "open":
    case "acknowledged":
      return <IncidentCard card={card} now={now} zone={zone} />;
    case "down":
      return (
        <Problem
          kind="open"
          shape={<StateShape state="down" label={null} />}
          title={card.name || words.unnamed}
        >
          {card.since !== null && <span className="board-number">{formatSpan(now - card.since)}</span>}
          <p>{words.down(card.reason, card.exitStatus)}</p>
          <p>{words.noAlert}</p>
        </Problem>
      );
    case "late":
      return (
        <Problem
          kind="late"
          shape={<StateShape state="late" label={null} />}
          title={card.name || words.unnamed}
        >
          {card.fuse !== null && (
            <>
              <span className="board-number">{formatUntil(card.fuse.alertAt, now)}</span>
              <p>{words.late}</p>
              <FuseBar row={{ state: "late", fuse: card.fuse, runningSince: null }} now={now} />
              <p>{words.expected(formatClock(card.fuse.lateAt, zone))}</p>
            </>
          )}
        </Problem>
      );
  }
}

function IncidentCard({ card, now, zone }: CardProps<Extract<BoardCard, { kind: "open" | "acknowledged" }>>) {
  const { kind, openedAt, acknowledged, nextStepAt } = card;
  const shape = kind === "open" ? <StateShape state="down" label={null} /> : <Mark mark="acknowledged" />;
  return (
    <Problem kind={kind} shape={shape} title={words.incident(card)}>
      <span className="board-number">{formatSpan(now - openedAt)}</span>
      <p>{words.cause(card)}</p>
      {acknowledged === null ? (
        <p>
          <b>{words.notAcknowledged}</b>{" "}
          {nextStepAt !== null && nextStepAt > now && words.reminder(formatUntil(nextStepAt, now))}
        </p>
      ) : (
        <p>
          <b>{words.acknowledged(acknowledged.by, formatClock(acknowledged.at, zone))}</b>
        </p>
      )}
    </Problem>
  );
}

function Problem(props: {
  kind: "open" | "acknowledged" | "late";
  shape: ReactNode;
  title: string;
  children: ReactNode;
}) {
  return (
    <article className={`board-card is-${props.kind}`}>
      <h2>
        {props.shape}
        <span>{props.title}</span>
      </h2>
      {props.children}
    </article>
  );
}

// The checks by tag: one candle each, or a bar for each group of a large project.

/** With fewer, candles are drawn larger. */
const FEW_CANDLES_MAX = 36;
const FEW_SUMMARIES_MAX = 8;
/** With more, candles are drawn smaller. */
const ROOMY_CANDLES_MAX = 150;
const ROOMY_GROUPS_MAX = 10;

function Groups({ board, now }: { board: Board; now: number }) {
  const { groups, rest, isSummary, total } = board;
  if (total === 0) return <div />;
  const isDense = total > ROOMY_CANDLES_MAX || groups.length > ROOMY_GROUPS_MAX;
  const summary = groups.length > FEW_SUMMARIES_MAX ? " is-summary is-many" : " is-summary";
  const kind = isSummary ? summary : isDense ? " is-dense" : total <= FEW_CANDLES_MAX ? " is-few" : "";
  return (
    <section className={`board-field${kind}`} aria-label={words.groups}>
      <svg className="board-defs" aria-hidden="true">
        <defs>
          <pattern
            id="board-hatch"
            width="5"
            height="5"
            patternUnits="userSpaceOnUse"
            patternTransform="rotate(45)"
          >
            <path d="M0 0V5" stroke="var(--line-strong)" strokeWidth="2" />
          </pattern>
        </defs>
      </svg>
      {groups.map((group) => (
        <Group
          key={group.tag ?? ""}
          group={group}
          name={group.tag ?? (groups.length === 1 && rest === null ? words.allChecks : words.untagged)}
          isSummary={isSummary}
          now={now}
        />
      ))}
      {rest !== null && (
        <Group group={{ tag: null, counts: rest, candles: [] }} name={words.rest} isSummary now={now} />
      )}
      <p className="board-caption">{isSummary ? words.summaryCaption : words.caption}</p>
    </section>
  );
}

function totalOf({ down, late, up, new: fresh, paused }: BoardTally): number {
  return down + late + up + fresh + paused;
}

type GroupProps = { group: BoardGroup; name: string; isSummary: boolean; now: number };

function Group({ group, name, isSummary, now }: GroupProps) {
  const { counts, candles } = group;
  const total = totalOf(counts);
  const label = words.groupLabel(name, total, counts);
  return (
    <div className="board-group">
      <h2>
        <span className="clip">{name}</span> <small>{words.groupCount(counts, total)}</small>
      </h2>
      {isSummary && <Shares counts={counts} label={label} />}
      {candles.length > 0 && (
        <div className="board-candles" role="img" aria-label={label}>
          {candles.map((candle, index) => (
            <Candle key={index} {...shapeOf(candle, now)} />
          ))}
        </div>
      )}
    </div>
  );
}

function Shares({ counts, label }: { counts: BoardTally; label: string }) {
  const { down, late, up, new: fresh, paused } = counts;
  const parts = { down, late, up, idle: fresh + paused };
  return (
    <div className="board-shares" role="img" aria-label={label}>
      {Object.entries(parts).map(
        ([state, count]) =>
          count > 0 && <i key={state} className={`is-${state}`} style={{ flexGrow: count }} />,
      )}
    </div>
  );
}

const HEIGHT = 104;
/** Steps in which a candle grows, so that few of them are drawn again each second. */
const STEPS = 208;

type Drawn = { state: DrawnState; used: number; grace: number };

function shapeOf(candle: BoardCandle, now: number): Drawn {
  const state = drawnAt(candle, now);
  const { used, grace } = candle.fuse === null ? { used: 0, grace: 1 } : fuseShares(candle.fuse, now);
  return { state, used: Math.round(used * STEPS) / STEPS, grace: Math.round(grace * STEPS) / STEPS };
}

/** Solid up to the expected time, hatched during the grace period; filled from below as time passes. */
const Candle = memo(({ state, used, grace }: Drawn) => {
  const graceY = HEIGHT * (1 - grace);
  const y = Math.min(HEIGHT * (1 - used), HEIGHT - 2);
  return (
    <svg viewBox={`0 0 15 ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <rect x="1" width="13" height={graceY} rx="4" fill="url(#board-hatch)" />
      <rect x="1" y={graceY} width="13" height={HEIGHT - graceY} rx="4" fill="var(--raised)" />
      {state === "down" ? (
        <>
          <rect x="1" width="13" height={HEIGHT} rx="4" fill="var(--down-mark)" />
          <path d="M7.5 6 12 11l-4.5 5L3 11z" fill="var(--bg)" />
        </>
      ) : state === "paused" || state === "new" ? (
        <path d={`M5 ${HEIGHT - 16}v12M10 ${HEIGHT - 16}v12`} stroke="var(--idle-mark)" strokeWidth="2.5" />
      ) : (
        <>
          <rect x="1" y={y} width="13" height={HEIGHT - y} rx="4" fill={FILLS[state]} />
          {state === "running" && <path d={`M1 ${y + 3}h13`} stroke="var(--bg)" strokeWidth="2" />}
          {state === "late" && <circle cx="7.5" cy={y + 9} r="3.4" fill="var(--bg)" />}
        </>
      )}
    </svg>
  );
});

const FILLS = { up: "var(--up-mark)", late: "var(--late-mark)", running: "var(--run-mark)" } as const;
