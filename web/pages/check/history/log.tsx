// Everything that came and happened, newest first: every signal that is kept, starts, log entries and ignored requests
// among them, changes to up and down, and what else was done. A signal opens beside the page.
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import type { DrawnState } from "../../../../src/contract/web/check-row.ts";
import { eventSentence } from "../../../../src/contract/web/event-sentence.ts";
import type { EventRow, EventsPage } from "../../../../src/contract/web/history.ts";
import { get } from "../../../api/api.ts";
import { readerZone } from "../../../boot/boot.ts";
import { useMinute } from "../../../live/clock.ts";
import { pageHref } from "../../../shell/page-address.ts";
import { Button } from "../../../ui/button.tsx";
import { StateShape } from "../../../ui/marks/state-shape.tsx";
import { Queried } from "../../../ui/page-state.tsx";
import { When } from "../../../ui/when.tsx";
import { logWords as words, runsWords } from "../../../words/check/page.ts";
import { runTitle } from "../../../words/check/run.ts";
import { eventsWords } from "../../../words/events.ts";
import { formatDuration, formatWhen, knownZone } from "../../../words/time.ts";
import { checkKey } from "../../../api/refresh-check.ts";
import { askedFor, LOG_KINDS, type LogKind } from "./log-kinds.ts";

/** `checkZone`: by whose clock the check is expected. */
export function Log({ id, checkZone }: { id: string; checkZone: string }) {
  const [chosen, setChosen] = useState<readonly LogKind[]>([]);
  const [zone, setZone] = useState(readerZone);
  const zones = [...new Set([readerZone, "UTC", knownZone(checkZone)])];
  const asked = askedFor(chosen);
  const query = useInfiniteQuery({
    queryKey: [...checkKey(id), "events", asked],
    queryFn: ({ pageParam }) => get<EventsPage>(`/checks/${id}/events`, { before: pageParam, ...asked }),
    initialPageParam: null as number | null,
    getNextPageParam: ({ before }) => before,
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <Chooser {...{ chosen, zone, zones }} onChosen={setChosen} onZone={setZone} />
      <Queried query={query} rows={6}>
        {({ pages }) => <Lines id={id} events={pages.flatMap(({ events }) => events)} zone={zone} />}
      </Queried>
      {query.hasNextPage && (
        <Button
          className="check-older"
          isBusy={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          {words.older}
        </Button>
      )}
    </>
  );
}

type ChooserProps = {
  chosen: readonly LogKind[];
  zone: string;
  zones: readonly string[];
  onChosen: (chosen: readonly LogKind[]) => void;
  onZone: (zone: string) => void;
};

function Chooser({ chosen, zone, zones, onChosen, onZone }: ChooserProps) {
  const turn = (kind: LogKind) =>
    onChosen(chosen.includes(kind) ? chosen.filter((one) => one !== kind) : [...chosen, kind]);
  return (
    <div className="check-log-bar">
      <span className="check-log-kinds" role="group" aria-label={words.filter}>
        {LOG_KINDS.map((kind) => (
          <button
            key={kind}
            type="button"
            className="chip is-quiet"
            aria-pressed={chosen.includes(kind)}
            onClick={() => turn(kind)}
          >
            {words.kinds[kind]}
          </button>
        ))}
      </span>
      <select
        className="select-bare"
        aria-label={eventsWords.zone}
        value={zone}
        onChange={(change) => onZone(change.target.value)}
      >
        {zones.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    </div>
  );
}

function Lines({ id, events, zone }: { id: string; events: readonly EventRow[]; zone: string }) {
  const { columns } = words;
  if (events.length === 0) return <p className="muted">{words.none}</p>;
  return (
    <table className="table check-runs check-log" aria-labelledby="check-runs">
      <thead>
        <tr>
          <th scope="col">{columns.what}</th>
          <th scope="col">{columns.when}</th>
          <th scope="col">{columns.took}</th>
          <th scope="col" className="is-wide">
            {columns.from}
          </th>
        </tr>
      </thead>
      <tbody>
        {events.map((event) => (
          <Line
            key={`${event.type} ${event.type === "signal" ? event.n : event.id}`}
            {...{ id, event, zone }}
          />
        ))}
      </tbody>
    </table>
  );
}

const SIGNAL_MARKS: Readonly<Record<string, DrawnState>> = { success: "up", fail: "down", start: "running" };
const EVENT_MARKS: Readonly<Record<string, DrawnState>> = { paused: "paused", not_observed: "new" };

function markOf(event: EventRow): DrawnState | undefined {
  if (event.type === "flip") return event.to;
  return event.type === "signal" ? SIGNAL_MARKS[event.kind] : EVENT_MARKS[event.kind];
}

function Line({ id, event, zone }: { id: string; event: EventRow; zone: string }) {
  const mark = markOf(event);
  const isSignal = event.type === "signal";
  return (
    <tr className={isSignal ? "is-link" : undefined}>
      <td>
        <span className="check-outcome">
          {mark === undefined ? <i className="check-no-mark" /> : <StateShape state={mark} label={null} />}
          {isSignal ? <Opens id={id} signal={event} /> : eventSentence(event)}
        </span>
        {isSignal && event.excerpt !== null && (
          <code className="clip" dir="auto">
            {event.excerpt}
          </code>
        )}
      </td>
      <td>
        <When at={event.at} zone={zone} />
      </td>
      <td>{isSignal && event.durationMs !== null ? formatDuration(event.durationMs) : runsWords.nothing}</td>
      <td className="is-wide muted">{isSignal ? event.source : event.type === "event" && event.by}</td>
    </tr>
  );
}

function Opens({ id, signal }: { id: string; signal: Extract<EventRow, { type: "signal" }> }) {
  const title = runTitle(signal);
  const when = formatWhen(signal.at, { now: useMinute(), zone: readerZone });
  return (
    <Link
      href={pageHref("run", { check: id, n: String(signal.n) })}
      className="cover"
      aria-label={words.open(title, when)}
    >
      {title}
    </Link>
  );
}
