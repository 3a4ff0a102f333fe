// What happened in a project, newest first: changes to up and down, pauses, edits, time that was not observed.
// Signals stand on the pages of their checks.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Link } from "wouter";
import type { ProjectEvent, ProjectEventsPage } from "../../../src/contract/web/history.ts";
import { get } from "../../api/api.ts";
import { onFlip } from "../../live/checks-store.ts";
import { pageHref, type PageProps } from "../../shell/page-address.ts";
import { usePageTitle } from "../../shell/page-title.ts";
import { Button } from "../../ui/button.tsx";
import { StateShape } from "../../ui/marks/state-shape.tsx";
import { Empty, Failed, Loading } from "../../ui/page-state.tsx";
import { When } from "../../ui/when.tsx";
import { eventSentence, eventsWords as words } from "../../words/events.ts";
import { csvAddress } from "./events-csv.ts";
import "./page.css";

type Filter = keyof typeof words.filters;
const FILTERS = Object.keys(words.filters) as Filter[];

export function EventsPage({ params }: PageProps) {
  const project = params.project ?? "";
  const [filter, setFilter] = useState<Filter>("all");
  const [text, setText] = useState("");
  const query = useEvents(project, filter);
  const events = query.data?.pages.flatMap((page) => page.events) ?? [];
  const shown = events.filter((event) => matches(event, text));
  const title = words.title(query.isSuccess ? events.length : 1);
  usePageTitle(title);
  return (
    <>
      <header className="top">
        <h1>{title}</h1>
        <input
          className="input events-search"
          type="search"
          aria-label={words.searchLabel}
          placeholder={words.search}
          value={text}
          onChange={(change) => setText(change.target.value)}
        />
      </header>
      <div className="events-bar" role="group" aria-label={words.filter}>
        {FILTERS.map((name) => (
          <button
            key={name}
            type="button"
            className="chip is-quiet"
            aria-pressed={filter === name}
            onClick={() => setFilter(name)}
          >
            {words.filters[name]}
          </button>
        ))}
        {shown.length > 0 && (
          <a className="link events-download" href={csvAddress(shown)} download="events.csv">
            {words.download}
          </a>
        )}
      </div>
      {query.isPending && <Loading />}
      {query.isError && <Failed error={query.error} onRetry={() => void query.refetch()} />}
      {query.isSuccess && <Log events={shown} isFiltered={text !== "" && events.length > 0} />}
      {query.hasNextPage && (
        <p className="events-more">
          <Button isBusy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            {words.older}
          </Button>
        </p>
      )}
      {query.isSuccess && !query.hasNextPage && shown.length > 0 && (
        <p className="hint events-more">{words.noOlder}</p>
      )}
    </>
  );
}

/** The pages of the log. A flip that is told live brings the newest page anew. */
function useEvents(project: string, filter: Filter) {
  const query = useInfiniteQuery({
    queryKey: ["events", project, filter],
    queryFn: ({ pageParam }) =>
      get<ProjectEventsPage>(`/projects/${project}/events`, {
        before: pageParam,
        types: filter === "all" ? null : filter,
      }),
    initialPageParam: null as number | null,
    getNextPageParam: (page) => page.before,
  });
  const { refetch } = query;
  useEffect(() => onFlip(() => void refetch()), [refetch]);
  return query;
}

function matches({ check, ...event }: ProjectEvent, text: string): boolean {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return true;
  return `${check.name} ${eventSentence({ check, ...event })}`.toLowerCase().includes(wanted);
}

function Log({ events, isFiltered }: { events: readonly ProjectEvent[]; isFiltered: boolean }) {
  if (events.length === 0) {
    const { title, text } = isFiltered ? words.noMatch : words.nothing;
    return <Empty title={title}>{text}</Empty>;
  }
  return (
    <table className="table events-table">
      <thead>
        <tr>
          <th scope="col">{words.columns.when}</th>
          <th scope="col">{words.columns.check}</th>
          <th scope="col">{words.columns.what}</th>
          <th scope="col">{words.columns.by}</th>
        </tr>
      </thead>
      <tbody>
        {events.map((event) => (
          <Line key={`${event.type} ${event.id}`} event={event} />
        ))}
      </tbody>
    </table>
  );
}

function Line({ event }: { event: ProjectEvent }) {
  return (
    <tr>
      <td className="events-when">
        <When at={event.at} />
      </td>
      <td>
        <Link className="events-check" href={pageHref("check", { check: event.check.id })}>
          {event.check.name === "" ? words.unnamed : event.check.name}
        </Link>
      </td>
      <td>
        <span className="events-what">
          {event.type === "flip" && <StateShape state={event.to} />}
          <span>
            {eventSentence(event)}
            {event.type === "flip" && event.takenBackAt !== null && (
              <span className="muted"> · {words.takenBack}</span>
            )}
          </span>
        </span>
      </td>
      <td className="muted">{event.type === "event" ? event.by : null}</td>
    </tr>
  );
}
