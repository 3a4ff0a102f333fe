// The event log of a project: flips, pauses, edits and monitoring gaps, newest first. The server searches.
import "./events.css";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useId, useState } from "react";
import { Link, useSearchParams } from "wouter";
import type { DrawnState } from "../../src/contract/api/check-row.ts";
import type { ProjectEvent } from "../../src/contract/api/history.ts";
import { FIELD_LENGTHS, LOCAL_MINUTE } from "../../src/contract/api/limits.ts";
import { eventSentence } from "../../src/contract/api/words.ts";
import { call, operationUrl } from "../api.ts";
import { userZone } from "../boot.ts";
import { onFlips } from "../live/flips.tsx";
import { pageHref, type PageProps, usePageTitle } from "../page-location.ts";
import { useDebounced } from "../parts/hooks.ts";
import { Button, Icon } from "../ui/button.tsx";
import { DocsLink } from "../ui/docs-link.tsx";
import { StateShape } from "../ui/marks.tsx";
import { Empty, Failed, Loading } from "../ui/page-state.tsx";
import { When } from "../ui/when.tsx";
import { eventsWords as words } from "../words/events.ts";
import { knownZone } from "../words/format.ts";

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
        <DocsLink to="incidents" />
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

/** The pages of the log. Live flips cause one refetch of all shown pages. */
function useEvents(project: string, choice: Choice) {
  const asked = useDebounced(askedOf(choice, userZone), TYPING_MS);
  const query = useInfiniteQuery({
    queryKey: ["events", project, asked],
    queryFn: ({ pageParam }) =>
      call("listProjectEvents", {
        project,
        query: { ...asked, ...(pageParam !== null && { cursor: pageParam }) },
      }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
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
      docs="incidents"
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

/** The same shapes as for states everywhere; events that changed no state have no shape. */
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

/** In the chosen zone, with its name if it is not the user's zone. */
function Moment({ event, zone }: { event: ProjectEvent; zone: Choice["zone"] }) {
  const shown = { mine: userZone, utc: "UTC", check: knownZone(event.check.zone) }[zone];
  return (
    <>
      <When at={event.at} zone={shown} />
      {shown !== userZone && <span className="muted"> {shown}</span>}
    </>
  );
}

// Filters: kinds, date range, time zone; and downloads.

type Props = { project: string; choice: Choice; onChoose: (change: Partial<Choice>) => void };

export function Chooser({ project, choice, onChoose }: Props) {
  // Only a phone folds it: there, it would push the log itself out of sight.
  const [isFolded, setFolded] = useState(choice.from === "" && choice.to === "" && choice.zone === "mine");
  const timesId = useId();
  return (
    <>
      <div className="events-bar">
        <span className="events-kinds" role="group" aria-label={words.filter}>
          {SHOWN.map((name) => (
            <button
              key={name}
              type="button"
              className="chip is-quiet"
              aria-pressed={choice.show === name}
              onClick={() => onChoose({ show: name })}
            >
              {words.filters[name]}
            </button>
          ))}
        </span>
        <button
          type="button"
          className="chip is-quiet events-fold"
          aria-expanded={!isFolded}
          aria-controls={timesId}
          onClick={() => setFolded(!isFolded)}
        >
          {words.times}
          <Icon name="down" size={12} />
        </button>
        <span className="events-download" title={words.downloadTitle}>
          <span className="muted">{words.download}</span>
          {(["csv", "json"] as const).map((format) => (
            <a
              key={format}
              className="link"
              href={operationUrl(format === "csv" ? "exportEventsCsv" : "exportEventsJson", {
                project,
                query: askedOf(choice, userZone),
              })}
              download={`events.${format}`}
              aria-label={words.downloadAs(words.downloads[format])}
            >
              {words.downloads[format]}
            </a>
          ))}
        </span>
      </div>
      <div id={timesId} className={`events-bar${isFolded ? " is-folded" : ""}`}>
        <Times choice={choice} onChoose={onChoose} />
      </div>
    </>
  );
}

function Times({ choice, onChoose }: Omit<Props, "project">) {
  const clockId = useId();
  return (
    <>
      {(["from", "to"] as const).map((end) => (
        <label key={end} className="events-end">
          <span>{words[end]}</span>
          <input
            className="input"
            type="datetime-local"
            aria-describedby={clockId}
            max="8999-12-31T23:59"
            value={choice[end]}
            onChange={(change) => onChoose({ [end]: change.target.value })}
          />
        </label>
      ))}
      <span id={clockId} className="hint">
        {words.clock(clockOf(choice, userZone))}
      </span>
      {(choice.from !== "" || choice.to !== "") && (
        <Button kind="bare" onClick={() => onChoose({ from: "", to: "" })}>
          {words.anyTime}
        </Button>
      )}
      <label className="events-end events-zone">
        <span>{words.zone}</span>
        <select
          className="input select"
          value={choice.zone}
          onChange={(change) => onChoose({ zone: change.target.value as Choice["zone"] })}
        >
          {ZONES.map((zone) => (
            <option key={zone} value={zone}>
              {zone === "mine" ? words.zones.mine(userZone) : words.zones[zone]}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}

// The filters in the URL.

export const SHOWN = ["all", "flip", "event"] as const;
export const ZONES = ["mine", "utc", "check"] as const;

export type Choice = {
  show: (typeof SHOWN)[number];
  text: string;
  /** "2026-11-15T03:00", or empty. */
  from: string;
  to: string;
  zone: (typeof ZONES)[number];
};

export const EVERYTHING: Choice = { show: "all", text: "", from: "", to: "", zone: "mine" };

const MINUTE = new RegExp(LOCAL_MINUTE);

/** The filters in a URL; invalid ones are ignored. */
export function readChoice(search: URLSearchParams): Choice {
  const minute = (name: string) => (MINUTE.test(search.get(name) ?? "") ? (search.get(name) ?? "") : "");
  return {
    show: SHOWN.find((one) => one === search.get("show")) ?? EVERYTHING.show,
    text: search.get("text") ?? "",
    from: minute("from"),
    to: minute("to"),
    zone: ZONES.find((one) => one === search.get("zone")) ?? EVERYTHING.zone,
  };
}

/** The URL of the filters: only those that differ from the default. */
export function choiceQuery(choice: Choice): Record<string, string> {
  return Object.fromEntries(
    Object.entries(choice).filter(([name, value]) => value !== EVERYTHING[name as keyof Choice]),
  );
}

/** The time zone of a date range: if times are shown in each check's own zone, the user's zone. */
export function clockOf({ zone }: Pick<Choice, "zone">, ownZone: string): string {
  return zone === "utc" ? "UTC" : ownZone;
}

/** The same as parameters of the request; the server converts local times. */
export function askedOf({ show, text, from, to, zone }: Choice, ownZone: string) {
  return {
    ...(show !== "all" && { types: show }),
    ...(text.trim() !== "" && { text: text.trim() }),
    ...(from !== "" && { from }),
    ...(to !== "" && { to }),
    ...((from !== "" || to !== "") && { zone: clockOf({ zone }, ownZone) }),
  };
}
