// Everything that came and happened, newest first: every signal that is kept, starts, log entries and ignored requests
// among them, changes to up and down, and what else was done. A signal opens beside the page.
import { useInfiniteQuery } from "@tanstack/react-query";
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
import { formatDuration, formatWhen } from "../../../words/time.ts";
import { checkKey } from "../../../api/refresh-check.ts";

export function Log({ id }: { id: string }) {
  const query = useInfiniteQuery({
    queryKey: [...checkKey(id), "events"],
    queryFn: ({ pageParam }) => get<EventsPage>(`/checks/${id}/events`, { before: pageParam }),
    initialPageParam: null as number | null,
    getNextPageParam: ({ before }) => before,
  });
  const { columns } = words;
  return (
    <Queried query={query} rows={6}>
      {({ pages }) => (
        <>
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
              {pages
                .flatMap(({ events }) => events)
                .map((event) => (
                  <Line
                    key={`${event.type} ${event.type === "signal" ? event.n : event.id}`}
                    {...{ id, event }}
                  />
                ))}
            </tbody>
          </table>
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
      )}
    </Queried>
  );
}

const SIGNAL_MARKS: Readonly<Record<string, DrawnState>> = { success: "up", fail: "down", start: "running" };
const EVENT_MARKS: Readonly<Record<string, DrawnState>> = { paused: "paused", not_observed: "new" };

function markOf(event: EventRow): DrawnState | undefined {
  if (event.type === "flip") return event.to;
  return event.type === "signal" ? SIGNAL_MARKS[event.kind] : EVENT_MARKS[event.kind];
}

function Line({ id, event }: { id: string; event: EventRow }) {
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
        <When at={event.at} />
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
