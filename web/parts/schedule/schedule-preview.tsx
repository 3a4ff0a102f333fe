// The schedule that is being typed, as the server reads it: a sentence and the next ten times.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { SchedulePreview as Preview, ScheduleRequest } from "../../../src/contract/web/history.ts";
import { send, troubleText } from "../../api/api.ts";
import { readerZone } from "../../boot/boot.ts";
import { useMinute } from "../../live/clock.ts";
import { editWords as words } from "../../words/check/edit.ts";
import { formatClock, formatWhen } from "../../words/time.ts";
import { useSettled } from "../use-settled.ts";

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

export function SchedulePreview({ asked }: { asked: ScheduleRequest }) {
  const settled = useSettled(asked, TYPING_MS);
  const { data, error } = useReading(settled);
  if (error !== null) return <p className="edit-preview mistake">{troubleText(error)}</p>;
  // What was typed before is no answer to nothing.
  if (data === undefined || (settled.kind !== "simple" && settled.schedule === "")) return null;
  if ("error" in data) {
    return (
      <p className="edit-preview mistake" role="status">
        {data.error}
      </p>
    );
  }
  return (
    <div className="edit-preview" role="status">
      <b>{data.sentence}</b>
      {settled.kind === "simple" ? (
        <span className="hint">{words.periodNote}</span>
      ) : (
        <Times nextAt={data.nextAt} zone={settled.tz} />
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
