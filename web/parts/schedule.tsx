// The schedule fields: interval, cron or OnCalendar with time zone, and grace period. For one or many checks.
import "./schedule.css";
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, type RefObject, useEffect, useRef, useState } from "react";
import type { SchedulePreview, ScheduleRequest } from "../../src/contract/api/history.ts";
import type { DocsTopic } from "../../src/contract/api/docs.ts";
import { ApiError, call, errorText } from "../api.ts";
import { userZone } from "../boot.ts";
import { useMinute } from "../live/clock.ts";
import { Icon } from "../ui/button.tsx";
import { Field, TextArea } from "../ui/field.tsx";
import { formatClock, formatSpan, formatWhen } from "../words/format.ts";
import { editWords as words } from "../words/schedule.ts";
import { useDebounced } from "./hooks.ts";
import { ZoneField } from "./zone-field.tsx";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const PERIODS = [MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 6 * HOUR, 12 * HOUR, DAY, 7 * DAY, 30 * DAY];
const GRACES = [MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 12 * HOUR, DAY];

/** A form that has these fields, and may have more. */
export type FieldsProps<Form = Schedule> = {
  form: Form;
  /** A function gets the current fields of the form. */
  set: (change: Partial<Form> | ((was: Form) => Partial<Form>)) => void;
  /** The error of a field, if it is about one of these. */
  at: (...names: (keyof Form)[]) => { error?: string };
};

/** `preview`: how the server reads the input. */
export function ScheduleFields({ form, set, at, preview }: FieldsProps & { preview: ReactNode }) {
  const zoneChosen = useRef(false);
  const choose = useChoice({ form, set, zoneChosen });
  const typed = useTypedReading(form, set);
  /** A rejection of the form is shown until something else is typed. */
  const wrong = (...names: (keyof Schedule)[]) => {
    const error = typed.errorAt(...names);
    return error === undefined ? at(...names) : { error };
  };
  return (
    <>
      <fieldset className="edit-kinds">
        <legend className="sr">{words.kind}</legend>
        <div className="check-switch">
          {(["simple", "cron", "oncalendar"] as const).map((kind) => (
            <button
              key={kind}
              type="button"
              aria-pressed={form.kind === kind}
              onClick={() => void choose(kind)}
            >
              {words.kinds[kind]}
            </button>
          ))}
        </div>
      </fieldset>
      {form.kind === "simple" ? (
        <SpanField
          label={words.every}
          seconds={form.timeoutSeconds}
          onChange={(timeoutSeconds) => set({ timeoutSeconds })}
          presets={PERIODS}
          {...wrong("timeoutSeconds")}
        />
      ) : (
        <Expression
          form={form}
          set={set}
          at={wrong}
          remarks={<ExpressionRemarks typed={typed} />}
          onZone={(tz) => {
            zoneChosen.current = true;
            set({ tz });
          }}
        />
      )}
      {preview}
      <SpanField
        label={words.grace}
        docs="gracePeriod"
        seconds={form.graceSeconds}
        onChange={(graceSeconds) => set({ graceSeconds })}
        presets={GRACES}
        {...wrong("graceSeconds")}
      />
    </>
  );
}

type ChoiceProps = Pick<FieldsProps, "form" | "set"> & {
  /** Whether the user has chosen a zone since the form was opened. */
  zoneChosen: RefObject<boolean>;
};

/** Changes to another kind immediately; the expression changes when the server has detected its language. */
function useChoice({ form, set, zoneChosen }: ChoiceProps) {
  const queryClient = useQueryClient();
  return async (kind: Schedule["kind"]) => {
    if (kind === form.kind) return;
    set({ kind });
    if (kind === "simple") return;
    // If the request fails, the text stays.
    const reading = await queryClient.fetchQuery(readingOf(scheduleOf(form))).catch(() => null);
    if (reading === null) return;
    const { schedule } = form;
    const read = { kind, schedule, readAs: reading.scheduleKind, readerZone: userZone };
    set((was) => readChange(was, { ...read, isZoneChosen: zoneChosen.current }));
  };
}

type ExpressionProps = FieldsProps & { remarks: ReactNode; onZone: (tz: string) => void };

function Expression({ form, set, at, remarks, onZone }: ExpressionProps) {
  const isCron = form.kind === "cron";
  return (
    <>
      <div className="edit-expression">
        <TextArea
          label={isCron ? words.cron : words.oncalendar}
          hint={isCron ? words.cronHint : words.oncalendarHint}
          docs={isCron ? "cron" : "oncalendar"}
          className="edit-code"
          rows={Math.min(6, Math.max(1, form.schedule.split("\n").length))}
          value={form.schedule}
          onChange={(event) => set({ schedule: event.target.value })}
          spellCheck={false}
          autoComplete="off"
          {...at("schedule", "kind")}
        />
        <ZoneField label={words.zone} value={form.tz} onChange={onZone} {...at("tz")} />
      </div>
      {remarks}
    </>
  );
}

// The typed schedule as the server reads it: a sentence and the next ten times.

const TYPING_MS = 250;

/** How the server reads a schedule. Equal requests at the same time share the response. */
function readingOf(asked: ScheduleRequest) {
  return {
    queryKey: ["schedule", asked],
    queryFn: () => call("previewSchedule", { body: asked }),
  };
}

/** How the server reads a schedule that is being typed. */
export function useReading(asked: ScheduleRequest) {
  return useQuery({
    ...readingOf(asked),
    enabled: asked.kind === "simple" || asked.schedule !== "",
    placeholderData: keepPreviousData,
    retry: false,
  });
}

/** How the server reads the input, and what is wrong with it, by field. */
export type TypedReading = {
  reading: SchedulePreview | undefined;
  /** The macro that was typed; null: it was none. */
  macro: { text: string; expression: string } | null;
  errorAt: (...names: string[]) => string | undefined;
};

type Set = (change: (was: ScheduleRequest) => Partial<ScheduleRequest>) => void;

/** Replaces a macro such as @daily in the field by its expression: that is what is stored. */
export function useTypedReading(form: ScheduleRequest, set: Set): TypedReading {
  const asked = useDebounced(scheduleOf(form), TYPING_MS);
  const { data, error, isPlaceholderData } = useReading(asked);
  const [macro, setMacro] = useState<TypedReading["macro"]>(null);
  const expanded = isPlaceholderData ? null : (data?.expanded ?? null);
  useEffect(() => {
    if (expanded === null) return;
    const text = asked.schedule;
    setMacro({ text, expression: expanded });
    set((was) => (was.schedule.trim() === text ? { schedule: expanded } : {}));
    // The setter is a new function on each render, and does the same.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [expanded, asked.schedule]);
  const isEmpty = asked.kind !== "simple" && asked.schedule === "";
  const reading = isEmpty || error !== null ? undefined : data;
  return {
    reading,
    macro: macro !== null && macro.expression === form.schedule ? macro : null,
    errorAt: (...names) => {
      if (error instanceof ApiError && error.field !== null) {
        return names.includes(error.field) ? error.message : undefined;
      }
      const isWrong = reading !== undefined && "error" in reading && names.includes("schedule");
      return isWrong ? reading.error : undefined;
    },
  };
}

/** Below the expression: what its macro stands for, and warnings about likely mistakes. */
export function ExpressionRemarks({ typed: { reading, macro } }: { typed: TypedReading }) {
  const remarks = reading !== undefined && "remarks" in reading ? reading.remarks : [];
  return (
    <div className="edit-remarks" role="status">
      {macro !== null && <p className="hint">{words.macro(macro.text, macro.expression)}</p>}
      {remarks.map(({ kind, text }) => (
        <p key={text} className={kind === "warning" ? "warning" : "hint"}>
          {kind === "warning" && <Icon name="warn" size={14} />}
          <span>{text}</span>
        </p>
      ))}
    </div>
  );
}

export function PreviewPanel({ asked }: { asked: ScheduleRequest }) {
  const settled = useDebounced(asked, TYPING_MS);
  const { data, error } = useReading(settled);
  // The error of a field is shown next to that field.
  if (error instanceof ApiError && error.field !== null) return null;
  if (error !== null) return <p className="edit-preview mistake">{errorText(error)}</p>;
  // The previous result does not belong to an empty field.
  if (data === undefined || "error" in data || (settled.kind !== "simple" && settled.schedule === ""))
    return null;
  return (
    <div className="edit-preview" role="status">
      <b>{data.sentence}</b>
      {settled.kind === "simple" ? (
        <span className="hint">{words.periodNote}</span>
      ) : (
        <Times nextAt={data.nextAt} zone={data.tz} />
      )}
    </div>
  );
}

/** In the zone of the schedule, with the user's time beside it if the zones differ. */
function Times({ nextAt, zone }: { nextAt: readonly number[]; zone: string }) {
  const now = useMinute();
  const isElsewhere = nextAt.some((at) => formatClock(at, zone) !== formatClock(at, userZone));
  return (
    <>
      <span className="hint">
        {words.next} {words.nextZone(zone)}
        {isElsewhere && ` · ${words.nextHere(userZone)}`}
      </span>
      <ol className="edit-times figures">
        {nextAt.map((at) => (
          <li key={at}>
            {formatWhen(at, { now, zone })}
            {isElsewhere && <span className="muted"> · {formatWhen(at, { now, zone: userZone })}</span>}
          </li>
        ))}
      </ol>
    </>
  );
}

// The fields as values, and how the server's response changes them.

export type Schedule = ScheduleRequest;

/** The initial expression when the user changes the kind. */
const SAMPLES = { cron: "0 3 * * *", oncalendar: "*-*-* 03:00" } as const;

/** The default zone of a check. */
const UNCHOSEN_ZONE = "UTC";

export type ReadSchedule = {
  /** The chosen kind, and the expression that was sent to the server. */
  kind: "cron" | "oncalendar";
  schedule: string;
  /** The language that the server has detected. */
  readAs: SchedulePreview["scheduleKind"];
  readerZone: string;
  /** The user has chosen the zone in this form: it stays, even if it is the default. */
  isZoneChosen: boolean;
};

/**
 * What follows from the server's response: an expression in another language is replaced by an example, and the first
 * expression gets the user's time zone. Nothing changes if the user has changed the fields since.
 */
export function readChange(
  was: Schedule,
  { kind, schedule, readAs, readerZone: zone, isZoneChosen }: ReadSchedule,
): Partial<Schedule> {
  if (was.kind !== kind || was.schedule !== schedule || readAs === kind) return {};
  const isOwnClock = readAs === null && was.tz === UNCHOSEN_ZONE && !isZoneChosen;
  return { schedule: SAMPLES[kind], ...(isOwnClock && { tz: zone }) };
}

/** The request that is sent while the user types. */
export function scheduleOf({ kind, timeoutSeconds, graceSeconds, schedule, tz }: Schedule): Schedule {
  return { kind, timeoutSeconds, graceSeconds, schedule: schedule.trim(), tz };
}

// A duration: a number and its unit.

type Props = {
  label: string;
  docs?: DocsTopic;
  seconds: number;
  onChange: (seconds: number) => void;
  presets: readonly number[];
  error?: string;
};

export function SpanField({ label, docs, seconds, onChange, presets, error }: Props) {
  const [span, setSpan] = useState<Span>(() => spanOf(seconds));
  // A value that was not typed came from outside: a preset, or a suggestion.
  const shown = secondsOf(span) === seconds ? span : spanOf(seconds);
  const type = (next: Span) => {
    setSpan(next);
    onChange(secondsOf(next));
  };
  return (
    <div className="edit-span">
      <Field label={label} {...(docs !== undefined && { docs })} {...(error !== undefined && { error })}>
        {(given) => (
          <span className="edit-span-row">
            <input
              {...given}
              className="input"
              inputMode="decimal"
              value={shown.count}
              onChange={(event) => type({ ...shown, count: event.target.value })}
            />
            <select
              className="input select"
              aria-label={`${label}: ${words.unit}`}
              value={shown.unit}
              onChange={(event) => type({ ...shown, unit: event.target.value as Unit })}
            >
              {Object.entries(words.units).map(([unit, name]) => (
                <option key={unit} value={unit}>
                  {name}
                </option>
              ))}
            </select>
          </span>
        )}
      </Field>
      <div className="edit-presets" role="group" aria-label={`${label}: ${words.presets}`}>
        {presets.map((preset) => (
          <button
            key={preset}
            type="button"
            className="chip is-quiet"
            aria-pressed={preset === seconds}
            onClick={() => type(spanOf(preset))}
          >
            {formatSpan(preset * 1_000)}
          </button>
        ))}
      </div>
    </div>
  );
}

// Parsing of durations.

export const UNIT_SECONDS = { minutes: 60, hours: 3_600, days: 86_400, weeks: 604_800 } as const;
export type Unit = keyof typeof UNIT_SECONDS;
/** A duration as it is typed. */
export type Span = { count: string; unit: Unit };

/** The largest unit in which it is a whole number. */
export function spanOf(seconds: number): Span {
  const units = (Object.keys(UNIT_SECONDS) as Unit[]).toReversed();
  const unit = units.find((one) => seconds % UNIT_SECONDS[one] === 0 && seconds >= UNIT_SECONDS[one]);
  const chosen = unit ?? "minutes";
  return { count: String(Number((seconds / UNIT_SECONDS[chosen]).toFixed(4))), unit: chosen };
}

/** Whole seconds; 0 if it is not a number. */
export function secondsOf({ count, unit }: Span): number {
  const number = Number(count.replace(",", "."));
  return Number.isFinite(number) && number > 0 ? Math.round(number * UNIT_SECONDS[unit]) : 0;
}
