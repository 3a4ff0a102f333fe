// What the change would have done: the check's real history under the old and under the new settings, before anything
// is saved.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { Replay, ReplayedAlert, ScheduleRequest } from "../../../../src/contract/web/history.ts";
import { send } from "../../../api/api.ts";
import { Button } from "../../../ui/button.tsx";
import { Icon } from "../../../ui/icon.tsx";
import { When } from "../../../ui/when.tsx";
import { missedText, replayWords as words } from "../../../words/check/edit.ts";
import { useReading } from "../../../parts/schedule/schedule-preview.tsx";
import { useSettled } from "../../../parts/use-settled.ts";

const TYPING_MS = 500;
const ALERTS_SHOWN = 12;

type Props = { id: string; asked: ScheduleRequest; onGrace: (seconds: number) => void };

export function ScheduleReplay({ id, asked, onGrace }: Props) {
  const settled = useSettled(asked, TYPING_MS);
  const reading = useReading(settled);
  const isRead = reading.data !== undefined && !reading.isPlaceholderData && !("error" in reading.data);
  const { data, isError } = useQuery({
    queryKey: ["replay", id, settled],
    queryFn: () => send<Replay>("POST", `/checks/${id}/replay`, settled),
    enabled: isRead,
    placeholderData: keepPreviousData,
    retry: false,
  });
  // What is wrong with the schedule stands beside it already.
  if (isError || (reading.data !== undefined && "error" in reading.data)) return null;
  return (
    <section className="edit-replay" aria-live="polite" aria-label={words.title}>
      <h3>{words.title}</h3>
      {data === undefined ? (
        <p className="muted">{words.reading}</p>
      ) : data.runCount === 0 ? (
        <p className="muted">{words.none}</p>
      ) : (
        <Outcome replay={data} graceSeconds={settled.graceSeconds} onGrace={onGrace} />
      )}
    </section>
  );
}

type OutcomeProps = { replay: Replay; graceSeconds: number; onGrace: (seconds: number) => void };

function Outcome({ replay, graceSeconds, onGrace }: OutcomeProps) {
  const { before, after, runCount, missedCount, proposedGraceSeconds } = replay;
  const isSame = before.length === after.length && before.every(({ at }, index) => at === after[index]?.at);
  return (
    <>
      <p>
        {words.over(runCount)}{" "}
        <b>{isSame ? words.same(after.length) : words.instead(after.length, before.length)}</b>,{" "}
        <span className={missedCount > 0 ? "edit-missed" : undefined}>
          {missedCount > 0 && <Icon name="warn" size={14} />}
          {missedText(replay)}
        </span>
        .
      </p>
      {proposedGraceSeconds !== null && proposedGraceSeconds !== graceSeconds && (
        <p className="edit-quiet">
          <Button onClick={() => onGrace(proposedGraceSeconds)}>{words.quiet(proposedGraceSeconds)}</Button>
          <span className="muted">{words.quietWhy}</span>
        </p>
      )}
      {!isSame && (
        <details>
          <summary>{words.alerts}</summary>
          <div className="edit-alerts">
            <Alerts title={words.before} alerts={before} />
            <Alerts title={words.after} alerts={after} />
          </div>
        </details>
      )}
    </>
  );
}

function Alerts({ title, alerts }: { title: string; alerts: readonly ReplayedAlert[] }) {
  return (
    <div>
      <h4>{title}</h4>
      <ul>
        {alerts.length === 0 && <li className="muted">{words.noAlerts}</li>}
        {alerts
          .toReversed()
          .slice(0, ALERTS_SHOWN)
          .map(({ at }) => (
            <li key={at}>
              <When at={at} />
            </li>
          ))}
        {alerts.length > ALERTS_SHOWN && <li className="muted">+{alerts.length - ALERTS_SHOWN}</li>}
      </ul>
    </div>
  );
}
