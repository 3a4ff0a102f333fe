// The schedule that is being typed, as the server reads it: a sentence and the next ten times.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { SchedulePreview as Preview, ScheduleRequest } from "../../../src/contract/web/history.ts";
import { send, Trouble, troubleText } from "../../api/api.ts";
import { readerZone } from "../../boot/boot.ts";
import { useMinute } from "../../live/clock.ts";
import { Icon } from "../../ui/icon.tsx";
import { editWords as words } from "../../words/check/edit.ts";
import { formatClock, formatWhen } from "../../words/time.ts";
import { useSettled } from "../use-settled.ts";
import { scheduleOf } from "./reading.ts";

const TYPING_MS = 250;

/** The question how the server reads a schedule. Whoever asks the same at the same time shares the answer. */
export function readingOf(asked: ScheduleRequest) {
  return {
    queryKey: ["schedule", asked],
    queryFn: () => send<Preview>("POST", "/schedule", asked),
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

/** How the server reads what is being typed, and what is wrong with it, by the field. */
export type TypedReading = {
  reading: Preview | undefined;
  /** The macro that the expression was typed as; null: it was none. */
  macro: { text: string; expression: string } | null;
  errorAt: (...names: string[]) => string | undefined;
};

type Set = (change: (was: ScheduleRequest) => Partial<ScheduleRequest>) => void;

/** Spells out a macro such as @daily in the field itself: that is what is stored. */
export function useTypedReading(form: ScheduleRequest, set: Set): TypedReading {
  const asked = useSettled(scheduleOf(form), TYPING_MS);
  const { data, error, isPlaceholderData } = useReading(asked);
  const [macro, setMacro] = useState<TypedReading["macro"]>(null);
  const expanded = isPlaceholderData ? null : (data?.expanded ?? null);
  useEffect(() => {
    if (expanded === null) return;
    const text = asked.schedule;
    setMacro({ text, expression: expanded });
    set((was) => (was.schedule.trim() === text ? { schedule: expanded } : {}));
    // The function that sets is another one each time, and does the same.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [expanded, asked.schedule]);
  const isEmpty = asked.kind !== "simple" && asked.schedule === "";
  const reading = isEmpty || error !== null ? undefined : data;
  return {
    reading,
    macro: macro !== null && macro.expression === form.schedule ? macro : null,
    errorAt: (...names) => {
      if (error instanceof Trouble && error.field !== null) {
        return names.includes(error.field) ? error.message : undefined;
      }
      const isWrong = reading !== undefined && "error" in reading && names.includes("schedule");
      return isWrong ? reading.error : undefined;
    },
  };
}

/** Below the expression: what its macro stands for, and what it does that was hardly meant. */
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

export function SchedulePreview({ asked }: { asked: ScheduleRequest }) {
  const settled = useSettled(asked, TYPING_MS);
  const { data, error } = useReading(settled);
  // What is wrong with a field stands beside that field.
  if (error instanceof Trouble && error.field !== null) return null;
  if (error !== null) return <p className="edit-preview mistake">{troubleText(error)}</p>;
  // What was typed before is no answer to nothing.
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

/** In the zone of the schedule, with the reader's clock beside it where that is another. */
function Times({ nextAt, zone }: { nextAt: readonly number[]; zone: string }) {
  const now = useMinute();
  const isElsewhere = nextAt.some((at) => formatClock(at, zone) !== formatClock(at, readerZone));
  return (
    <>
      <span className="hint">
        {words.next} {words.nextZone(zone)}
        {isElsewhere && ` · ${words.nextHere(readerZone)}`}
      </span>
      <ol className="edit-times figures">
        {nextAt.map((at) => (
          <li key={at}>
            {formatWhen(at, { now, zone })}
            {isElsewhere && <span className="muted"> · {formatWhen(at, { now, zone: readerZone })}</span>}
          </li>
        ))}
      </ol>
    </>
  );
}
