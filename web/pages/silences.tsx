// The silences page: active, planned and past silences, each with its times of this week.
import "./silences.css";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { LIST_PAGE_MAX } from "../../src/contract/api/limits.ts";
import type { NewSilence, Silence } from "../../src/contract/api/silences.ts";
import { call } from "../api.ts";
import { mayIn, userZone } from "../boot.ts";
import { serverNow, useMinute } from "../live/clock.ts";
import { type PageProps, usePageTitle } from "../page-location.ts";
import { useReading } from "../parts/schedule.tsx";
import { useShortcuts } from "../shortcuts.ts";
import { Button } from "../ui/button.tsx";
import { DocsLink } from "../ui/docs-link.tsx";
import { Mark, StateShape } from "../ui/marks.tsx";
import { Empty, Queried } from "../ui/page-state.tsx";
import { toast, toastError } from "../ui/toast.tsx";
import {
  dayNumber,
  formatSpan,
  formatUntil,
  formatWhen,
  instantOfLocal,
  localMinute,
} from "../words/format.ts";
import { rangeText, scopeText, silenceName, silencesWords as words } from "../words/silences.ts";
import { formOf, idsOf, newForm, SilenceDrawer, type SilenceForm } from "./silence-form.tsx";
import { silencesKey, useCurrentSilences } from "./use-silences.ts";

/** The form that is open over the page. */
type OpenForm = { start: SilenceForm; edited: Silence | null } | null;

export function SilencesPage({ params }: PageProps) {
  const project = params.project ?? "";
  const current = useCurrentSilences(project);
  const ended = useEnded(project);
  const [form, setForm] = useState<OpenForm>(null);
  const maySilence = mayIn(project, "silence");
  const active = current.data?.filter(({ state }) => state === "active") ?? [];
  const past = ended.data?.pages.flatMap(({ silences }) => silences) ?? [];
  const isNone = current.data?.length === 0 && ended.isSuccess && past.length === 0;
  const title =
    current.data === undefined ? words.tab : isNone ? words.none.title : words.title(active.length);
  usePageTitle(title);
  const create = () => setForm({ start: newForm([], userZone), edited: null });
  useShortcuts(maySilence ? [{ keys: "n", label: words.new, group: words.tab, run: create }] : []);
  const row = { project, maySilence, onForm: setForm };
  return (
    <>
      <header className="top">
        <h1>{title}</h1>
        <DocsLink to="silences" />
        {maySilence && !isNone && (
          <Button kind="primary" keys="n" onClick={create}>
            {words.new}
          </Button>
        )}
      </header>
      <Queried query={current}>
        {(silences) =>
          isNone ? (
            <Empty
              title={words.none.title}
              docs="silences"
              action={
                maySilence && (
                  <Button kind="primary" keys="n" onClick={create}>
                    {words.new}
                  </Button>
                )
              }
            >
              <p>{maySilence ? words.none.text : words.none.readOnly}</p>
            </Empty>
          ) : (
            <>
              <p className="silences-about">{words.about}</p>
              <div className="silences">
                <WeekHead />
                <Group {...row} name="active" silences={active} />
                <Group
                  {...row}
                  name="upcoming"
                  silences={silences.filter(({ state }) => state === "upcoming")}
                />
                <Group {...row} name="ended" silences={past} />
              </div>
              {ended.hasNextPage && (
                <p className="silences-more">
                  <Button isBusy={ended.isFetchingNextPage} onClick={() => void ended.fetchNextPage()}>
                    {words.older}
                  </Button>
                </p>
              )}
              <Legend />
            </>
          )
        }
      </Queried>
      {form !== null && <SilenceDrawer project={project} {...form} onClose={() => setForm(null)} />}
    </>
  );
}

/** Silences that have ended, newest first. */
function useEnded(project: string) {
  return useInfiniteQuery({
    queryKey: [...silencesKey(project), "ended"],
    queryFn: ({ pageParam, signal }) => {
      const query = {
        state: "ended",
        limit: LIST_PAGE_MAX,
        ...(pageParam !== null && { cursor: pageParam }),
      } as const;
      return call("listSilences", { project, query }, signal);
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
  });
}

type Given = { project: string; maySilence: boolean; onForm: (form: OpenForm) => void };

function Group({
  name,
  silences,
  ...given
}: Given & { name: Silence["state"]; silences: readonly Silence[] }) {
  if (silences.length === 0) return null;
  return (
    <section aria-labelledby={`silences-${name}`}>
      <h2 className="silences-group" id={`silences-${name}`}>
        {words.groups[name]}
      </h2>
      <ul>
        {silences.map((silence) => (
          <Line key={silence.id} silence={silence} {...given} />
        ))}
      </ul>
    </section>
  );
}

function Line({ silence, ...given }: Given & { silence: Silence }) {
  const { state, checks } = silence;
  const firings = useFirings(silence);
  return (
    <li className={`silence is-${state}`}>
      <div className="silence-what">
        <h3>
          {state === "ended" ? (
            <StateShape state="up" label={null} />
          ) : (
            <Mark mark={state === "active" ? "silenced" : "planned"} />
          )}
          <span className="sr">{words.marks[state]}</span>
          <span dir="auto">{silence.reason === "" ? words.noReason : silence.reason}</span>
          <span className="tag">{scopeText(silence)}</span>
          {checks !== null && checks.length > 1 && <span className="tag">{words.checks(checks.length)}</span>}
        </h3>
        <p>
          <TimesText silence={silence} sentence={firings.sentence} />
        </p>
      </div>
      <Week silence={silence} nextAt={firings.nextAt} />
      <div className="silence-end">
        <Acts silence={silence} {...given} />
        <span className="figures">
          <LeftText silence={silence} />
        </span>
      </div>
    </li>
  );
}

/** The next times of a recurring silence, and its schedule in words. */
function useFirings({ schedule, tz }: Silence): { nextAt: readonly number[]; sentence: string | null } {
  const { data } = useReading({
    kind: "cron",
    // Not used for an expression.
    timeoutSeconds: 3_600,
    graceSeconds: 3_600,
    schedule: schedule ?? "",
    tz: tz ?? "UTC",
  });
  if (schedule === null || data === undefined || "error" in data) return { nextAt: [], sentence: null };
  return data;
}

function TimesText({ silence, sentence }: { silence: Silence; sentence: string | null }) {
  const reader = { now: useMinute(), zone: userZone };
  const { state, from, until, duration, endedAt, createdBy, untilSuccess } = silence;
  const span = formatSpan((duration ?? 0) * 1_000);
  const when =
    until === null
      ? words.each(sentence ?? silence.schedule ?? "", span)
      : state === "active"
        ? words.until(formatWhen(until, reader))
        : rangeText({ from, until: Math.min(until, endedAt ?? until) }, reader);
  const parts = [
    when,
    ...(until === null && endedAt !== null ? [words.endedAt(formatWhen(endedAt, reader))] : []),
    ...(createdBy === null ? [] : [words.by(createdBy)]),
  ];
  return `${capital(parts.join(", "))}.${untilSuccess && state !== "ended" ? ` ${words.untilSuccess}` : ""}`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function LeftText({ silence: { state, window } }: { silence: Silence }) {
  const now = useMinute();
  if (window === null || state === "ended") return null;
  return state === "active" ? words.left(formatSpan(window.until - now)) : formatUntil(window.from, now);
}

function Acts({ silence, project, maySilence, onForm }: Given & { silence: Silence }) {
  const client = useQueryClient();
  const [isBusy, setBusy] = useState(false);
  if (!maySilence) return null;
  const name = silenceName(silence);
  const refresh = () => client.invalidateQueries({ queryKey: silencesKey(project) });
  const isActive = silence.state === "active";
  const end = async () => {
    setBusy(true);
    try {
      await call("endSilence", { project, silence: silence.id });
      const undo = async () => {
        await call("createSilence", { project, body: againOf(silence, serverNow()) });
        await refresh();
      };
      toast({ text: isActive ? words.ended(name) : words.canceled(name), undo });
      await refresh();
    } catch (error) {
      toastError(error);
    } finally {
      setBusy(false);
    }
  };
  const open = (isRepeated: boolean) =>
    onForm({
      start: formOf(silence, { zone: userZone, isRepeated }),
      edited: isRepeated ? null : silence,
    });
  if (silence.state === "ended") {
    return (
      <Button aria-label={words.repeatOf(name)} onClick={() => open(true)}>
        {words.repeat}
      </Button>
    );
  }
  return (
    <span className="silence-acts">
      <Button kind="bare" aria-label={words.editOf(name)} onClick={() => open(false)}>
        {words.edit}
      </Button>
      <Button
        isBusy={isBusy}
        aria-label={isActive ? words.endOf(name) : words.cancelOf(name)}
        onClick={() => void end()}
      >
        {isActive ? words.end : words.cancel}
      </Button>
    </span>
  );
}

/** The request that creates the rest of a silence again, after it was ended by mistake. */
export function againOf(silence: Silence, now: number): NewSilence {
  const { checks, tag, from, until, schedule, tz, duration, holdAfter, untilSuccess, reason } = silence;
  return {
    ...(tag !== null && { tag }),
    ...(checks !== null && { checks: idsOf(checks) }),
    ...(from > now && { from }),
    ...(until !== null && { until, untilSuccess }),
    ...(schedule !== null && { schedule, tz: tz ?? "UTC", duration: duration ?? 0 }),
    holdAfter,
    reason,
  };
}

// The week of a silence: yesterday and the six days from today on.

const WEEK_DAYS = 7;
const WEEK_PX = 380;
const DAY_MS = 86_400_000;

/** Midnights in the user's zone: the beginning of each day, and the end of the last. */
export function weekOf(now: number, zone: string): number[] {
  const noon = dayNumber(now, zone) * DAY_MS + DAY_MS / 2;
  return Array.from({ length: WEEK_DAYS + 1 }, (_, day) => {
    const date = new Date(noon + (day - 1) * DAY_MS).toISOString().slice(0, "2026-11-15".length);
    return instantOfLocal(`${date}T00:00`, zone) ?? now;
  });
}

export type Span = { from: number; until: number };

/** The times of a silence within a week. */
export function spansOf(
  { from, until, window, duration, endedAt }: Silence,
  nextAt: readonly number[],
  { begins, ends }: { begins: number; ends: number },
): Span[] {
  const stop = endedAt ?? Number.POSITIVE_INFINITY;
  const all =
    until !== null
      ? [{ from, until }]
      : [
          ...(window === null ? [] : [window]),
          ...nextAt
            .filter((at) => at >= from && (window === null || at >= window.until))
            .map((at) => ({ from: at, until: at + (duration ?? 0) * 1_000 })),
        ];
  return all
    .map((span) => ({ from: Math.max(span.from, begins), until: Math.min(span.until, ends, stop) }))
    .filter((span) => span.from < span.until);
}

const EMPTY_PX = 5;

function Week({ silence, nextAt }: { silence: Silence; nextAt: readonly number[] }) {
  const now = useMinute();
  const days = weekOf(now, userZone);
  const [begins = now] = days;
  const ends = days.at(-1) ?? now;
  const x = (at: number) => ((at - begins) / (ends - begins)) * WEEK_PX;
  const spans = spansOf(silence, nextAt, { begins, ends });
  const reader = { now, zone: userZone };
  return (
    <svg
      className="silence-week"
      viewBox={`0 0 ${WEEK_PX} 40`}
      preserveAspectRatio="none"
      role="img"
      aria-label={words.weekLabel(spans.map((span) => rangeText(span, reader)))}
    >
      <path className="week-days" d={days.map((at) => `M${x(at).toFixed(1)} 4V36`).join("")} />
      <path className="week-line" d={`M0 20H${WEEK_PX}`} />
      {spans.map((span) => {
        const box = {
          x: x(span.from).toFixed(1),
          y: 11,
          width: Math.max(EMPTY_PX, x(span.until) - x(span.from)).toFixed(1),
          height: 18,
          rx: 3,
        };
        return (
          <g key={span.from}>
            <rect {...box} className="week-ground" />
            <rect {...box} className={span.from > now ? "week-span is-ahead" : "week-span"} />
          </g>
        );
      })}
      <path className="week-now" d={`M${x(now).toFixed(1)} 2V38`} />
    </svg>
  );
}

/** The days above the weeks, and the hatch that they are drawn with. */
function WeekHead() {
  const now = useMinute();
  const days = weekOf(now, userZone);
  const [begins = now] = days;
  const ends = days.at(-1) ?? now;
  return (
    <div className="silence is-head" aria-hidden="true">
      <span>{words.week}</span>
      <svg className="silence-week" viewBox={`0 0 ${WEEK_PX} 22`}>
        <defs>
          <pattern
            id="week-hush"
            width="5"
            height="5"
            patternUnits="userSpaceOnUse"
            patternTransform="rotate(45)"
          >
            <path d="M0 0V5" stroke="var(--ink-3)" strokeWidth="2" />
          </pattern>
        </defs>
        {days.slice(0, WEEK_DAYS).map((at) => (
          <text key={at} x={((at - begins) / (ends - begins)) * WEEK_PX + 3} y="15">
            {dayName(at)}
          </text>
        ))}
      </svg>
      <span />
    </div>
  );
}

const DAY_NAME = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", timeZone: userZone });

function dayName(at: number): string {
  // Noon, so that a day without a midnight has its own name.
  return DAY_NAME.format(
    instantOfLocal(`${localMinute(at + DAY_MS / 2, userZone).slice(0, 10)}T12:00`, userZone) ?? at,
  ).replace(",", "");
}

function Legend() {
  return (
    <p className="silences-keys" aria-hidden="true">
      <span>
        <i />
        {words.legend.active}
      </span>
      <span>
        <i className="is-ahead" />
        {words.legend.upcoming}
      </span>
    </p>
  );
}
