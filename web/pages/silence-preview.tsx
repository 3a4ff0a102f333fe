// What a silence would cover, as the server sees it: the checks, their expected runs, and what is sent at its end.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { COUNTED_RUNS_MAX } from "../../src/contract/api/limits.ts";
import type { NewSilence, SilencePreview } from "../../src/contract/api/silences.ts";
import { checkName } from "../../src/contract/api/words.ts";
import { call, errorText } from "../api.ts";
import { userZone } from "../boot.ts";
import { serverNow, useMinute } from "../live/clock.ts";
import { useDebounced, useWidth } from "../parts/hooks.ts";
import { Mark, StateShape } from "../ui/marks.tsx";
import { formatClock, formatSpan, formatWhen, shortened } from "../words/format.ts";
import { silenceFormWords as words } from "../words/silence-form.ts";
import { rangeText } from "../words/silences.ts";

const PREVIEW_MS = 400;

/** `asked`: the request that would create it; null: something is missing in the form. */
export function usePreview(project: string, asked: NewSilence | null) {
  const body = asked === null ? null : previewBody(asked);
  const settled = useDebounced(body, PREVIEW_MS);
  return useQuery({
    queryKey: ["silence-preview", project, settled],
    queryFn: ({ signal }) => call("previewSilence", { project, body: settled ?? {} }, signal),
    enabled: settled !== null && body !== null,
    placeholderData: keepPreviousData,
    retry: false,
    staleTime: 0,
  });
}

/** A silence that has begun is previewed from now on. */
function previewBody({ from, ...body }: NewSilence): NewSilence {
  return { ...body, ...(from !== undefined && from > serverNow() && { from }) };
}

export function Coverage({ preview, error }: { preview: SilencePreview | undefined; error: unknown }) {
  const now = useMinute();
  if (error !== null) {
    return (
      <p className="mistake" role="alert">
        {errorText(error)}
      </p>
    );
  }
  if (preview === undefined) return null;
  const { checkCount, windows, holdAfter } = preview;
  const [first, ...more] = windows;
  const reader = { now, zone: userZone };
  const until = first === undefined ? null : formatWhen(first.until, reader);
  return (
    <section className="silence-cover" aria-label={words.preview}>
      {first !== undefined && <CoverChart preview={preview} window={first} />}
      <div className="silence-facts" role="status">
        <p className="silence-note">
          <Mark mark="silenced" />
          <span>{checkCount === 0 ? words.nothing : <CoverText preview={preview} />}</span>
        </p>
        {first !== undefined && <DueNote preview={preview} until={first.until} />}
        {until !== null && (
          <p className="silence-note">
            <StateShape state="down" label={null} />
            <span>
              {holdAfter === 0 ? words.atEnd(until) : words.atEndHold(until, formatSpan(holdAfter * 1_000))}
            </span>
          </p>
        )}
      </div>
      {more.length > 0 && (
        <p className="hint">
          {words.windows}: {windows.map((window) => rangeText(window, reader)).join(" · ")}
        </p>
      )}
    </section>
  );
}

/** "14 checks, 31 expected runs". Only the first checks have their runs counted. */
function CoverText({ preview: { checkCount, checks } }: { preview: SilencePreview }) {
  const runs = checks.reduce((sum, { runCount }) => sum + runCount, 0);
  const isMore = checkCount > checks.length || checks.some(({ runCount }) => runCount >= COUNTED_RUNS_MAX);
  return (
    <>
      <b>
        {words.covers(checkCount)}
        {runs > 0 && `, ${words.runs(runs, isMore)}`}
      </b>
      . {words.inside}
    </>
  );
}

/** The check that is expected latest in the window has the least time to report. */
function DueNote({ preview, until }: { preview: SilencePreview; until: number }) {
  const reader = { now: useMinute(), zone: userZone };
  const last = preview.checks
    .filter(({ runCount, firstRunAt }) => runCount === 1 && firstRunAt !== null)
    .toSorted((a, b) => (b.firstRunAt ?? 0) - (a.firstRunAt ?? 0))[0];
  if (last === undefined || last.firstRunAt === null) return null;
  return (
    <p className="silence-note is-late">
      <StateShape state="late" label={null} />
      <span>
        <b>
          <bdi>{checkName(last)}</bdi>
        </b>{" "}
        {words.due(formatWhen(last.firstRunAt, reader))} {words.dueEnd(formatClock(until, userZone))}
      </span>
    </p>
  );
}

const CHART_ROWS = 7;
const CHART_WIDTH = 558;
const LABEL_PX = 132;
const RUNS_PX = 64;
const ROW_PX = 25;
const TOP_PX = 24;
const NAME_LETTERS = 18;

type ChartProps = { preview: SilencePreview; window: { from: number; until: number } };

/** The checks with a run in the window, and when the first of these is expected. */
function CoverChart({ preview, window: { from, until } }: ChartProps) {
  const [width, place] = useWidth<HTMLDivElement>(CHART_WIDTH);
  const reader = { now: useMinute(), zone: userZone };
  const covered = preview.checks.filter(({ runCount }) => runCount > 0);
  const shown = covered.slice(0, CHART_ROWS);
  if (shown.length === 0) return null;
  const margin = (until - from) * 0.12;
  const scale = (width - LABEL_PX - RUNS_PX) / (until - from + 2 * margin);
  const x = (at: number) => LABEL_PX + (at - from + margin) * scale;
  const bottom = TOP_PX + shown.length * ROW_PX + 4;
  const rest = preview.checkCount - shown.length;
  return (
    <figure className="silence-chart">
      <div ref={place}>
        <svg
          width={width}
          height={bottom + 2}
          role="img"
          aria-label={words.chart(formatWhen(from, reader), formatWhen(until, reader))}
        >
          <defs>
            <pattern
              id="silence-hush"
              width="7"
              height="7"
              patternUnits="userSpaceOnUse"
              patternTransform="rotate(45)"
            >
              <path d="M0 0V7" stroke="var(--idle-mark)" strokeWidth="1.4" />
            </pattern>
          </defs>
          <rect
            className="chart-ground"
            x={x(from)}
            y={TOP_PX - 4}
            width={x(until) - x(from)}
            height={bottom - TOP_PX + 4}
            rx="4"
          />
          <rect
            className="chart-hush"
            x={x(from)}
            y={TOP_PX - 4}
            width={x(until) - x(from)}
            height={bottom - TOP_PX + 4}
            rx="4"
          />
          {shown.map(({ id, name, runCount, firstRunAt }, index) => {
            const y = TOP_PX + 12 + index * ROW_PX;
            return (
              <g key={id}>
                <text x="0" y={y + 4}>
                  {shortened(checkName({ name }), NAME_LETTERS)}
                </text>
                {firstRunAt !== null && (
                  <rect className="chart-run" x={x(firstRunAt)} y={y - 6} width="8" height="12" rx="2.5" />
                )}
                <text className="chart-runs" x={width} y={y + 4} textAnchor="end">
                  {words.chartRuns(runCount, runCount >= COUNTED_RUNS_MAX)}
                </text>
              </g>
            );
          })}
          <path
            className="chart-edge"
            d={`M${x(from)} ${TOP_PX - 8}V${bottom}M${x(until)} ${TOP_PX - 8}V${bottom}`}
          />
          <text className="chart-clock" x={x(from)} y="11" textAnchor="middle">
            {formatClock(from, userZone)}
          </text>
          <text className="chart-clock" x={x(until)} y="11" textAnchor="middle">
            {formatClock(until, userZone)}
          </text>
        </svg>
      </div>
      <figcaption className="silence-keys">
        <span>
          <i className="key-hush" />
          {words.chartKeys.window}
        </span>
        <span>
          <i className="key-run" />
          {words.chartKeys.first}
        </span>
        {rest > 0 && <span>{words.chartMore(rest)}</span>}
      </figcaption>
    </figure>
  );
}
