// The timeline of a check, to scale, and the explanation of its last alert.
import { Link } from "wouter";
import { type CheckRow, drawnAt } from "../../src/contract/api/check-row.ts";
import type { CheckPage } from "../../src/contract/api/check-page.ts";
import type { Explanation, ExplanationStep, RunRow } from "../../src/contract/api/history.ts";
import { checkName } from "../../src/contract/api/words.ts";
import { userZone } from "../boot.ts";
import { useMinute, useNow } from "../live/clock.ts";
import { pageHref } from "../page-location.ts";
import { useWidth } from "../parts/hooks.ts";
import { Drawer } from "../ui/dialog.tsx";
import { Queried } from "../ui/page-state.tsx";
import {
  type Delivery,
  explainWords,
  firstDeliveryMs,
  formatMoment,
  hopWords,
  silenceOf,
  stepText,
  summaryOf,
  deliveryText,
  trackWords,
  zoneSum,
} from "../words/check.ts";
import {
  formatClock,
  formatDay,
  formatDuration,
  formatExact,
  formatWhen,
  type Reader,
} from "../words/format.ts";
import { useExplanation } from "./use-check.ts";

/** Top and height of each kind of bar, from the line. */
const BOXES: Readonly<Record<BarKind, { y: number; height: number; minWidth: number }>> = {
  success: { y: -8, height: 16, minWidth: 10 },
  "late-run": { y: -8, height: 16, minWidth: 10 },
  fail: { y: -8, height: 16, minWidth: 10 },
  running: { y: -8, height: 16, minWidth: 10 },
  expected: { y: -12, height: 24, minWidth: 12 },
  grace: { y: -6, height: 12, minWidth: 2 },
  late: { y: -6, height: 12, minWidth: 2 },
  down: { y: -6, height: 12, minWidth: 3 },
};
/** How far the lanes of labels lie from the line. */
const LANES_Y = [-32, -48, 42, 58] as const;
/** The height that the marks need on a side without labels. */
const MARKS_REACH = 28;
const WIDTH_FIRST = 900;

type Props = { page: CheckPage; row: CheckRow; runs: readonly RunRow[] };

export function TimeTrack({ page, row, runs }: Props) {
  const now = useNow();
  const track = trackOf({
    row,
    runs,
    now,
    missedAt: page.missedAt,
    usualMs: page.usual?.medianMs ?? 0,
  });
  if (track === null) return null;
  return <TrackPicture track={track} reader={{ now, zone: userZone }} runningSince={row.runningSince} />;
}

type PictureProps = { track: Track; reader: Reader; runningSince: number | null };

function TrackPicture({ track, reader, runningSince }: PictureProps) {
  const [width, ref] = useWidth<HTMLDivElement>(WIDTH_FIRST);
  const labels = placeLabels(labelsOf(track, { runningSince, reader, width }), width);
  const lanes = new Set(labels.map(({ lane }) => lane));
  const above = lanes.has(1) ? 60 : lanes.has(0) ? 44 : MARKS_REACH;
  const below = lanes.has(3) ? 62 : lanes.has(2) ? 46 : MARKS_REACH;
  return (
    <div className="check-track">
      <div ref={ref}>
        <svg
          height={above + below}
          width="100%"
          role="img"
          aria-label={trackWords.label(labels.map(({ text }) => text))}
        >
          <g transform={`translate(0 ${above})`}>
            <line className="track-line" x1="0" x2="100%" y1="0" y2="0" />
            {labels.map((label) => (
              <Lead key={label.kind} label={label} />
            ))}
            {track.bars.map((bar, index) => (
              <TrackBar key={index} bar={bar} track={track} />
            ))}
            {track.alertAt !== null && <Post at={track.alertAt} track={track} is="alert" />}
            {track.isPast !== true && <Post at={track.now} track={track} is="now" />}
            {labels.map((label) => (
              <Label key={label.kind} label={label} width={width} />
            ))}
          </g>
        </svg>
      </div>
      <Keys kinds={new Set(track.bars.map(({ kind }) => kind))} />
    </div>
  );
}

/** From a mark to its label. */
function Lead({ label: { x, lane } }: { label: Placed }) {
  return (
    <line className="track-lead" x1={x} x2={x} y1="0" y2={(LANES_Y[lane] ?? 0) + (lane < 2 ? 3 : -10)} />
  );
}

function Label({ label, width }: { label: Placed; width: number }) {
  const { kind, text, left, lane } = label;
  const wide = labelWidth(text);
  const y = LANES_Y[lane] ?? 0;
  const place =
    left === 0
      ? { x: 0, textAnchor: "start" as const }
      : left + wide >= width
        ? { x: width, textAnchor: "end" as const }
        : { x: left + wide / 2, textAnchor: "middle" as const };
  return (
    <text className={`is-${kind}`} y={y} {...place}>
      {text}
    </text>
  );
}

function TrackBar({ bar, track }: { bar: Bar; track: Track }) {
  const { y, height, minWidth } = BOXES[bar.kind];
  const x = placeOf(bar.fromAt, track);
  const width = placeOf(bar.toAt, track) - x;
  // Bars that are too short to see get a minimum width.
  const style = { width: `max(${minWidth}px, ${width}%)` };
  return <rect className={`track-${bar.kind}`} x={`${x}%`} y={y} height={height} rx="3" style={style} />;
}

function Post({ at, track, is }: { at: number; track: Track; is: "alert" | "now" }) {
  const x = `${placeOf(at, track)}%`;
  const reach = is === "now" ? 26 : 18;
  return <line className={`track-post is-${is}`} x1={x} x2={x} y1={-reach} y2={reach} />;
}

/** The legend, for the colors that are shown. */
function Keys({ kinds }: { kinds: ReadonlySet<BarKind> }) {
  const shown = (Object.keys(trackWords.keys) as BarKind[]).filter((kind) => kinds.has(kind));
  return (
    <ul className="ninety-keys track-keys" aria-hidden="true">
      {shown.map((kind) => (
        <li key={kind}>
          <svg width="12" height="12">
            <rect className={`track-${kind}`} x="1" y="1" width="10" height="10" rx="2" />
          </svg>
          {trackWords.keys[kind]}
        </li>
      ))}
    </ul>
  );
}

/** On a narrower track, labels show only the time and not the duration. */
const NARROW = 600;

function labelsOf(
  track: Track,
  { runningSince, reader, width }: Omit<PictureProps, "track"> & { width: number },
): Labelled[] {
  const { last, expectedAt, alertAt, now } = track;
  const clock = (at: number) => {
    const day = formatDay(at, reader);
    return day === "today" ? formatClock(at, reader.zone) : formatWhen(at, reader);
  };
  const label = (kind: Labelled["kind"], at: number | null, text: (clock: string) => string): Labelled[] =>
    at === null ? [] : [{ kind, text: text(clock(at)), x: (placeOf(at, track) / 100) * width }];
  const lastMs = last?.durationMs ?? null;
  const took = lastMs === null || width < NARROW ? null : formatDuration(lastMs);
  return [
    ...label("last", last?.at ?? null, (at) =>
      last?.outcome === "fail" ? trackWords.failed(at, took) : trackWords.success(at, took),
    ),
    ...label("started", runningSince, trackWords.started),
    ...label("expected", expectedAt, trackWords.expected),
    ...label("alert", alertAt, trackWords.alert),
    ...label("now", track.isPast === true ? null : now, () => trackWords.now(formatClock(now, reader.zone))),
  ];
}

// Positions on the timeline, in percent of its width.

export type BarKind = "success" | "late-run" | "fail" | "running" | "expected" | "grace" | "late" | "down";
export type Bar = { kind: BarKind; fromAt: number; toAt: number };
export type TrackFacts = {
  row: Pick<CheckRow, "state" | "fuse" | "runningSince" | "downSince" | "downReason" | "lastPingAt">;
  runs: readonly RunRow[];
  /** When the missing ping was expected; null: the check is down for another reason. */
  missedAt: number | null;
  usualMs: number;
  now: number;
};
export type Track = {
  fromAt: number;
  toAt: number;
  bars: Bar[];
  expectedAt: number | null;
  alertAt: number | null;
  /** The newest run that ended, if it is drawn. */
  last: Pick<RunRow, "outcome" | "at" | "durationMs"> | null;
  now: number;
  /** It describes the past. */
  isPast?: boolean;
};

const EDGE_SHARE = 0.03;
/**
 * A run that is further back than this multiple of the relevant time is not drawn: it would leave no room for the rest.
 */
const RUNS_DRAWN_MAX = 40;

/** The track; null if no ping is expected and none has arrived. */
export function trackOf(given: TrackFacts): Track | null {
  // The page's clock may be a moment behind the server's: what has arrived is not in the future.
  const facts = { ...given, now: Math.max(given.now, given.row.lastPingAt ?? given.now) };
  const { row, runs, now } = facts;
  const state = drawnAt(row, now);
  if (state === "new" || state === "paused") return null;
  const ended = runs.filter(({ outcome }) => outcome === "success" || outcome === "fail");
  const last = lastLabeled(facts, ended);
  const { expectedAt, alertAt } = deadlinesOf(facts);
  const lastFromAt = last === null ? (row.lastPingAt ?? now) : (last.startAt ?? last.at);
  const first = Math.min(lastFromAt, row.runningSince ?? now, expectedAt ?? now, now);
  const end = Math.max(now, alertAt ?? now);
  const marginMs = Math.max(1_000, end - first) * EDGE_SHARE;
  const domain = { fromAt: first - marginMs, toAt: end + marginMs };
  const drawn = ended.filter(({ at }) => at >= domain.fromAt).slice(0, RUNS_DRAWN_MAX);
  const bars = [...waitingBars(facts, { expectedAt, alertAt }), ...drawn.map(runBar), ...runningBar(facts)];
  return { ...domain, bars, expectedAt, alertAt, last, now };
}

/** The last success before it went down, or simply the last run. */
function lastLabeled({ row }: TrackFacts, ended: readonly RunRow[]): RunRow | null {
  if (row.state !== "down") return ended[0] ?? null;
  return ended.find(({ outcome }) => outcome === "success") ?? ended[0] ?? null;
}

function deadlinesOf({ row, missedAt }: TrackFacts): Pick<Track, "expectedAt" | "alertAt"> {
  if (row.state === "down") {
    if (row.downSince === null) return { expectedAt: null, alertAt: null };
    return { expectedAt: row.downReason === "timeout" ? missedAt : null, alertAt: row.downSince };
  }
  if (row.fuse === null) return { expectedAt: null, alertAt: null };
  const { lateAt, alertAt } = row.fuse;
  // During a run, only its end is expected.
  return { expectedAt: row.runningSince === null ? lateAt : null, alertAt };
}

function waitingBars({ row, usualMs, now }: TrackFacts, due: Pick<Track, "expectedAt" | "alertAt">): Bar[] {
  const bars: Bar[] = [];
  const { expectedAt, alertAt } = due;
  if (expectedAt !== null && alertAt !== null) {
    bars.push({ kind: "grace", fromAt: expectedAt, toAt: alertAt });
    if (now > expectedAt) bars.push({ kind: "late", fromAt: expectedAt, toAt: Math.min(now, alertAt) });
    bars.push({ kind: "expected", fromAt: expectedAt, toAt: expectedAt + usualMs });
  }
  if (row.state === "down" && alertAt !== null) bars.push({ kind: "down", fromAt: alertAt, toAt: now });
  return bars;
}

function runBar({ outcome, isLate, at, startAt }: RunRow): Bar {
  const kind = outcome === "fail" ? "fail" : isLate ? "late-run" : "success";
  return { kind, fromAt: startAt ?? at, toAt: at };
}

function runningBar({ row, now }: TrackFacts): Bar[] {
  return row.runningSince === null ? [] : [{ kind: "running", fromAt: row.runningSince, toAt: now }];
}

/** The timeline of an explained alert: last ping, expected time and deadline. */
export function trackOfSteps(steps: readonly ExplanationStep[], now: number): Track | null {
  const down = steps.find((step) => step.kind === "down");
  if (down === undefined) return null;
  const success = steps.find((step) => step.kind === "success");
  const started = steps.find((step) => step.kind === "started");
  const expected = steps.find((step) => step.kind === "expected");
  const first = Math.min(success?.at ?? down.at, started?.at ?? down.at, expected?.at ?? down.at);
  const marginMs = Math.max(1_000, down.at - first) * EDGE_SHARE;
  const bars: Bar[] = [];
  if (success !== undefined) bars.push({ kind: "success", fromAt: success.at, toAt: success.at });
  if (expected !== undefined) {
    bars.push({ kind: "late", fromAt: expected.at, toAt: down.at });
    bars.push({ kind: "expected", fromAt: expected.at, toAt: expected.at });
  }
  if (started !== undefined) bars.push({ kind: "running", fromAt: started.at, toAt: down.at });
  if (down.rule === "failure") bars.push({ kind: "fail", fromAt: down.at, toAt: down.at });
  return {
    fromAt: first - marginMs,
    toAt: down.at + 2 * marginMs,
    bars: [...bars, { kind: "down", fromAt: down.at, toAt: down.at + 2 * marginMs }],
    expectedAt: expected?.at ?? null,
    alertAt: down.at,
    last: success === undefined ? null : { outcome: "success", at: success.at, durationMs: null },
    now,
    isPast: true,
  };
}

/** The place of an instant, in percent of the width. */
export function placeOf(at: number, { fromAt, toAt }: Pick<Track, "fromAt" | "toAt">): number {
  const share = (at - fromAt) / Math.max(1, toAt - fromAt);
  return Number((Math.min(1, Math.max(0, share)) * 100).toFixed(3));
}

// Positions of the labels: next to their marks, without overlaps.

/** A labelled mark, in pixels from the left. */
export type Labelled = { kind: "last" | "started" | "expected" | "alert" | "now"; text: string; x: number };

/** Lanes from the line outwards: 0 and 1 lie above it, 2 and 3 below. */
export type Placed = Labelled & { left: number; lane: number };

/** A digit or letter of the label's type is rarely wider than this. In pixels. */
const LETTER_WIDTH = 6.6;
const GAP = 10;
/** The preferred lanes of each kind: expected times and now above, pings and alerts below. */
const LANES: Readonly<Record<Labelled["kind"], readonly number[]>> = {
  last: [2, 3, 0, 1],
  started: [2, 3, 0, 1],
  expected: [0, 1, 2, 3],
  alert: [2, 3, 0, 1],
  now: [0, 1, 2, 3],
};

const LANES_COUNT = 4;

/** The width reserved for a text. */
export function labelWidth(text: string): number {
  return Math.ceil(text.length * LETTER_WIDTH);
}

/**
 * Puts each label into the first lane that has room for it, as near to its mark as the edges allow. There are no more
 * labels than lanes, so in the worst case each has one to itself: if a check that is down by missed deadline has started again,
 * the expected run has its mark and no label.
 */
export function placeLabels(labels: readonly Labelled[], width: number): Placed[] {
  const placed: Placed[] = [];
  const isCrowded = labels.length > LANES_COUNT;
  for (const label of labels.filter(({ kind }) => !isCrowded || kind !== "expected")) {
    const wide = labelWidth(label.text);
    const left = Math.max(0, Math.min(width - wide, label.x - wide / 2));
    const isFree = (lane: number) =>
      placed.every(
        (other) =>
          other.lane !== lane ||
          left >= other.left + labelWidth(other.text) + GAP ||
          left + wide + GAP <= other.left,
      );
    const lanes = LANES[label.kind];
    placed.push({ ...label, left, lane: lanes.find(isFree) ?? lanes[0] ?? 0 });
  }
  return placed;
}

// The explanation: a summary, and all steps in a drawer.

export function LastAlert({ page, onMore }: { page: CheckPage; onMore: () => void }) {
  const query = useExplanation(page.row.id, { flip: null, isWanted: page.lastFlip !== null });
  // A check that came up for the first time has had no alert.
  if (page.lastFlip === null || query.isError || query.data?.flip.to === "up") return null;
  return (
    <section
      className={`panel${page.row.state === "down" ? " check-explanation" : ""}`}
      aria-labelledby="check-explanation"
    >
      <h2 id="check-explanation">{page.row.state === "down" ? explainWords.title : explainWords.past}</h2>
      <Queried query={query} rows={4}>
        {(explanation) => (
          <>
            <ExplanationSteps id={page.row.id} explanation={explanation} />
            <button type="button" className="link check-panel-more" onClick={onMore}>
              {explainWords.more}
            </button>
          </>
        )}
      </Queried>
    </section>
  );
}

type DrawerProps = { page: CheckPage; flip: number | null; isOpen: boolean; onClose: () => void };

export function ExplainDrawer({ page, flip, isOpen, onClose }: DrawerProps) {
  const query = useExplanation(page.row.id, { flip, isWanted: isOpen });
  const name = checkName(page.row);
  const title = query.data?.flip.to === "up" ? explainWords.drawerUp(name) : explainWords.drawer(name);
  return (
    <Drawer isOpen={isOpen} onClose={onClose} title={title}>
      <Queried query={query}>
        {(explanation) => <AtLength id={page.row.id} explanation={explanation} />}
      </Queried>
    </Drawer>
  );
}

function AtLength({ id, explanation }: { id: string; explanation: Explanation }) {
  const reader = { now: useMinute(), zone: userZone };
  const { steps, zone, isEditedSince } = explanation;
  const expected = steps.find(isExpected);
  const track = trackOfSteps(steps, reader.now);
  const deliveredMs = firstDeliveryMs(explanation);
  const isNotified = steps.some(({ kind }) => kind === "notified");
  return (
    <div className="check-explained">
      <p className="check-summary">{summaryOf(explanation, reader)}</p>
      {track !== null && (
        <TrackPicture
          track={track}
          reader={reader}
          runningSince={steps.find(({ kind }) => kind === "started")?.at ?? null}
        />
      )}
      {isEditedSince && <p className="check-note">{explainWords.edited}</p>}
      <h3>{explainWords.steps}</h3>
      <ExplanationSteps id={id} explanation={explanation} />
      {expected !== undefined && zone !== "UTC" && (
        <>
          <h3>{explainWords.zone}</h3>
          <p>{zoneSum(expected, { zone, reader })}</p>
        </>
      )}
      <h3>{explainWords.hops}</h3>
      {!isNotified && <p className="muted">{silenceOf(explanation)}</p>}
      {isNotified && <DeliverySteps explanation={explanation} />}
      {deliveredMs !== null && <p>{explainWords.total(deliveredMs)}</p>}
    </div>
  );
}

function isExpected(step: ExplanationStep): step is Extract<ExplanationStep, { kind: "expected" }> {
  return step.kind === "expected";
}

// The steps of an explanation.

function ExplanationSteps({ id, explanation }: { id: string; explanation: Explanation }) {
  const now = useMinute();
  const reader = { now, zone: userZone };
  return (
    <ol className="check-steps">
      {explanation.steps.map((step, index) => {
        const day = formatDay(step.at, reader);
        const before = explanation.steps[index - 1];
        const isNewDay = before === undefined || formatDay(before.at, reader) !== day;
        return (
          <li key={index} className={`is-${toneOf(step)}`}>
            <time dateTime={new Date(step.at).toISOString()} title={formatExact(step.at, userZone)}>
              {isNewDay && !(index === 0 && day === "today") && <span className="step-day">{day}</span>}
              {formatMoment(step.at, userZone)}
            </time>
            <StepText id={id} step={step} text={stepText(step, { zone: explanation.zone, reader })} />
          </li>
        );
      })}
    </ol>
  );
}

function StepText({ id, step, text }: { id: string; step: ExplanationStep; text: string }) {
  const n = step.kind === "success" || step.kind === "failed" ? step.n : null;
  if (n === null) return <span>{text}</span>;
  return (
    <span>
      <Link className="link" href={pageHref("run", { check: id, n: String(n) })}>
        {text}
      </Link>
    </span>
  );
}

function toneOf(step: ExplanationStep): string {
  if (step.kind === "down" || step.kind === "failed") return "bad";
  if (step.kind === "notified") return step.state === "dead" ? "bad" : "told";
  return step.kind === "success" || step.kind === "up" ? "good" : "plain";
}

// The steps of each delivery: created, sent, answered.

function DeliverySteps({ explanation: { flip, steps } }: { explanation: Explanation }) {
  const reader = { now: useMinute(), zone: userZone };
  const deliveries = steps.filter((step): step is Delivery => step.kind === "notified");
  return (
    <ul className="check-delivery-steps" aria-label={explainWords.hops}>
      {deliveries.map((delivery) => (
        <li key={delivery.id}>
          <b dir="auto" className={delivery.state === "dead" ? "is-bad" : undefined}>
            {deliveryText(delivery, reader)}
          </b>
          <ol>
            {hopsOf(delivery, flip.at).map(({ at, text, sinceMs }) => (
              <li key={text}>
                <time>{formatMoment(at, userZone)}</time> {text}
                {sinceMs > 0 && <span className="muted"> +{formatDuration(sinceMs)}</span>}
              </li>
            ))}
          </ol>
        </li>
      ))}
    </ul>
  );
}

type Hop = { at: number; text: string; sinceMs: number };

function hopsOf({ createdAt, attemptedAt, settledAt, attempts }: Delivery, flipAt: number): Hop[] {
  const moments: [number | null, string][] = [
    [createdAt, hopWords.queued],
    [attemptedAt, attempts > 1 ? hopWords.lastTry(attempts) : hopWords.sent],
    [settledAt, hopWords.completed],
  ];
  let before = flipAt;
  return moments.flatMap(([at, text]) => {
    if (at === null) return [];
    const hop = { at, text, sinceMs: Math.max(0, at - before) };
    before = at;
    return [hop];
  });
}
