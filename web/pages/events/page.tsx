// What happened in a project, newest first: changes to up and down, pauses, edits, time that was not observed.
// Signals stand on the pages of their checks. What is searched for is found by the server.
import { FIELD_LENGTHS } from "../../../src/contract/web/requests/sizes.ts";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { Link, useSearchParams } from "wouter";
import type { DrawnState } from "../../../src/contract/web/check-row.ts";
import { eventSentence } from "../../../src/contract/web/event-sentence.ts";
import type { ProjectEvent, ProjectEventsPage } from "../../../src/contract/web/history.ts";
import { get } from "../../api/api.ts";
import { readerZone } from "../../boot/boot.ts";
import { onFlips } from "../../live/on-flips.ts";
import { useSettled } from "../../parts/use-settled.ts";
import { pageHref, type PageProps } from "../../shell/page-address.ts";
import { usePageTitle } from "../../shell/page-title.ts";
import { Button } from "../../ui/button.tsx";
import { StateShape } from "../../ui/marks/state-shape.tsx";
import { Empty, Failed, Loading } from "../../ui/page-state.tsx";
import { When } from "../../ui/when.tsx";
import { eventsWords as words } from "../../words/events.ts";
import { knownZone } from "../../words/time.ts";
import { askedOf, type Choice, choiceQuery, readChoice } from "./choice.ts";
import { Chooser } from "./chooser.tsx";
import "./page.css";

const TYPING_MS = 250;

export function EventsPage({ params }: PageProps) {
  const project = params.project ?? "";
  const [choice, choose] = useChoice();
  const query = useEvents(project, choice);
  const events = query.data?.pages.flatMap((page) => page.events) ?? [];
  const { show, text, from, to } = choice;
  const isChosen = show !== "all" || text.trim() !== "" || from !== "" || to !== "";
  const title = isChosen ? words.titleChosen : words.title(query.isSuccess ? events.length : 1);
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
          maxLength={FIELD_LENGTHS.eventSearch}
          value={choice.text}
          onChange={(change) => choose({ text: change.target.value })}
        />
      </header>
      <Chooser project={project} choice={choice} onChoose={choose} />
      {query.isPending && <Loading />}
      {query.isError && <Failed error={query.error} onRetry={() => void query.refetch()} />}
      {query.isSuccess && events.length === 0 && (
        <Nothing project={project} isChosen={isChosen} isMore={query.hasNextPage} />
      )}
      {events.length > 0 && <Log events={events} zone={choice.zone} />}
      {query.hasNextPage && (
        <p className="events-more">
          <Button isBusy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            {events.length === 0 ? words.further : words.older}
          </Button>
        </p>
      )}
      {query.isSuccess && !query.hasNextPage && events.length > 0 && (
        <p className="hint events-more">{isChosen ? words.noOlderChosen : words.noOlder}</p>
      )}
    </>
  );
}

function useChoice(): [Choice, (change: Partial<Choice>) => void] {
  const [search, setSearch] = useSearchParams();
  const choice = readChoice(search);
  return [choice, (change) => setSearch(choiceQuery({ ...choice, ...change }), { replace: true })];
}

/** The pages of the log. Flips that are told live have all pages that are shown asked for anew, once for all of them. */
function useEvents(project: string, choice: Choice) {
  const asked = useSettled(askedOf(choice, readerZone), TYPING_MS);
  const query = useInfiniteQuery({
    queryKey: ["events", project, asked],
    queryFn: ({ pageParam }) =>
      get<ProjectEventsPage>(`/projects/${project}/events`, { before: pageParam, ...asked }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.before,
  });
  const { refetch } = query;
  useEffect(() => onFlips(() => void refetch()), [refetch]);
  return query;
}

function Nothing(props: { project: string; isChosen: boolean; isMore: boolean }) {
  const { project, isChosen, isMore } = props;
  if (isMore) return <Empty title={words.noMatchYet.title}>{words.noMatchYet.text}</Empty>;
  if (isChosen) return <Empty title={words.noMatch.title}>{words.noMatch.text}</Empty>;
  return (
    <Empty
      title={words.nothing.title}
      action={
        <Link className="button is-quiet" href={pageHref("checks", { project })}>
          {words.nothing.act}
        </Link>
      }
    >
      {words.nothing.text}
    </Empty>
  );
}

function Log({ events, zone }: { events: readonly ProjectEvent[]; zone: Choice["zone"] }) {
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
          <Line key={`${event.type} ${event.id}`} event={event} zone={zone} />
        ))}
      </tbody>
    </table>
  );
}

/** As the states are drawn everywhere; what changed no state has no shape. */
const MARKS: Readonly<Record<string, DrawnState>> = { paused: "paused", not_observed: "new" };

function Line({ event, zone }: { event: ProjectEvent; zone: Choice["zone"] }) {
  const mark = event.type === "flip" ? event.to : MARKS[event.kind];
  return (
    <tr>
      <td className="events-when">
        <Moment event={event} zone={zone} />
      </td>
      <td>
        <Link className="events-check" href={pageHref("check", { check: event.check.id })}>
          {event.check.name === "" ? words.unnamed : event.check.name}
        </Link>
      </td>
      <td>
        <span className="events-what">
          {mark !== undefined && <StateShape state={mark} />}
          <span>{eventSentence(event)}</span>
        </span>
      </td>
      <td className="muted">{event.type === "event" ? event.by : null}</td>
    </tr>
  );
}

/** In the zone that was chosen, with its name where it is not the reader's. */
function Moment({ event, zone }: { event: ProjectEvent; zone: Choice["zone"] }) {
  const shown = { mine: readerZone, utc: "UTC", check: knownZone(event.check.zone) }[zone];
  return (
    <>
      <When at={event.at} zone={shown} />
      {shown !== readerZone && <span className="muted"> {shown}</span>}
    </>
  );
}
