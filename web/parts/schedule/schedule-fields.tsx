// When a signal is expected: a period, a cron or an OnCalendar expression with its zone, and the grace time. For one
// check, or for many at once.
import "./schedule.css";
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, type RefObject, useRef } from "react";
import { readerZone } from "../../boot/boot.ts";
import { TextArea } from "../../ui/field.tsx";
import { editWords as words } from "../../words/check/edit.ts";
import { ZoneField } from "../zone/zone-field.tsx";
import { readChange, type Schedule, scheduleOf } from "./reading.ts";
import { ExpressionRemarks, readingOf, useTypedReading } from "./schedule-preview.tsx";
import { SpanField } from "./span-field.tsx";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const PERIODS = [MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 6 * HOUR, 12 * HOUR, DAY, 7 * DAY, 30 * DAY];
const GRACES = [MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 12 * HOUR, DAY];

/** A form that has these fields, and may have more. */
export type FieldsProps<Form = Schedule> = {
  form: Form;
  /** A function is given what the form has by then. */
  set: (change: Partial<Form> | ((was: Form) => Partial<Form>)) => void;
  /** The mistake beside a field, if it is about one of these. */
  at: (...names: (keyof Form)[]) => { error?: string };
};

/** `preview`: how the server reads it, beside what is typed. */
export function ScheduleFields({ form, set, at, preview }: FieldsProps & { preview: ReactNode }) {
  const zoneChosen = useRef(false);
  const choose = useChoice({ form, set, zoneChosen });
  const typed = useTypedReading(form, set);
  /** A refusal of what was sent counts until something else is typed. */
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
        seconds={form.graceSeconds}
        onChange={(graceSeconds) => set({ graceSeconds })}
        presets={GRACES}
        {...wrong("graceSeconds")}
      />
    </>
  );
}

type ChoiceProps = Pick<FieldsProps, "form" | "set"> & {
  /** Whether somebody has chosen a zone since the form was opened. */
  zoneChosen: RefObject<boolean>;
};

/** Changes to another kind at once; what becomes of the expression, when the server has said how it reads it. */
function useChoice({ form, set, zoneChosen }: ChoiceProps) {
  const queryClient = useQueryClient();
  return async (kind: Schedule["kind"]) => {
    if (kind === form.kind) return;
    set({ kind });
    if (kind === "simple") return;
    // Where the server cannot be asked, what is written stays.
    const reading = await queryClient.fetchQuery(readingOf(scheduleOf(form))).catch(() => null);
    if (reading === null) return;
    const { schedule } = form;
    const read = { kind, schedule, readAs: reading.scheduleKind, readerZone };
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
