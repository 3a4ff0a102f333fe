// Waiting for the first ping of a check: the command to run, pings that arrived, requests that did not match and why.
import "./waiting.css";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Arrival, NearMiss, Waiting } from "../../src/contract/api/setup.ts";
import { get } from "../api.ts";
import { serverNow, useNow } from "../live/clock.ts";
import { pageHref } from "../page-location.ts";
import { ButtonLink } from "../ui/button.tsx";
import { CodeBlock } from "../ui/copy.tsx";
import { Queried } from "../ui/page-state.tsx";
import { Ago } from "../ui/when.tsx";
import { waitingWords as words } from "../words/welcome.ts";
import { Notice } from "./section.tsx";

/** After this time, hints are shown. */
const HINTS_AFTER_MS = 12_000;

export function useWaiting(check: string) {
  return useQuery({
    queryKey: ["waiting", check],
    queryFn: () => get<Waiting>(`/checks/${check}/waiting`),
    // The person is in a terminal meanwhile, and the page behind it.
    refetchInterval: ({ state }) =>
      hasArrived(state.data) ? false : pollDelayMs(state.dataUpdateCount + state.errorUpdateCount),
    refetchIntervalInBackground: true,
    gcTime: 0,
  });
}

/** Whether something came that counts. */
export function hasArrived(waiting: Waiting | undefined): boolean {
  return waiting?.arrivals.some(({ kind }) => kind !== "ignored") ?? false;
}

/** `project`: where channels are set up. */
export function WaitingFor({ check, project }: { check: string; project: string }) {
  const query = useWaiting(check);
  return (
    <Queried query={query} rows={2}>
      {(waiting) => (
        <div className="waiting">
          {hasArrived(waiting) ? (
            <Arrived check={check} waiting={waiting} project={project} />
          ) : (
            <Listening waiting={waiting} />
          )}
        </div>
      )}
    </Queried>
  );
}

function Arrived({ check, waiting, project }: { check: string; waiting: Waiting; project: string }) {
  const hasChannels = waiting.channels > 0;
  const first = waiting.arrivals.find(({ kind }) => kind !== "ignored");
  return (
    <Notice kind="good" title={words.arrived}>
      <p>
        {first !== undefined && <Came arrival={first} />}{" "}
        {hasChannels ? words.arrivedText : words.arrivedUntold}
      </p>
      <div className="section-acts">
        <ButtonLink href={pageHref("check", { check })} kind="primary">
          {words.open}
        </ButtonLink>
        {!hasChannels && <ButtonLink href={pageHref("channels", { project })}>{words.addChannel}</ButtonLink>}
      </div>
    </Notice>
  );
}

function Came({ arrival }: { arrival: Arrival }) {
  const { kind, method, by, remoteAddr, ua, at } = arrival;
  return (
    <>
      {words.kind(kind, method, by)}
      {remoteAddr !== null && ` ${words.from(remoteAddr)}`}
      {ua !== "" && `, ${ua}`}, <Ago at={at} />.
    </>
  );
}

function Listening({ waiting }: { waiting: Waiting }) {
  const { curl, arrivals, nearMisses, hints } = waiting;
  const [sinceAt] = useState(serverNow);
  const isLong = useNow() - sinceAt > HINTS_AFTER_MS || nearMisses.length > 0;
  return (
    <>
      <div className="waiting-line">
        <p>{words.run}</p>
        <span className="waiting-pulse" role="status">
          <i />
          {words.waiting}
        </span>
      </div>
      <CodeBlock text={curl} label={words.curl} />
      {(arrivals.length > 0 || nearMisses.length > 0) && (
        <div className="waiting-list" aria-live="polite">
          <h3>{words.misses}</h3>
          {arrivals.map((arrival) => (
            <Notice key={arrival.n} kind="plain" title={<Came arrival={arrival} />} />
          ))}
          {nearMisses.map((miss) => (
            <Miss key={`${miss.at} ${miss.address}`} miss={miss} />
          ))}
        </div>
      )}
      {isLong && hints.length > 0 && (
        <div className="waiting-hints">
          <h3>{words.hints}</h3>
          <ul>
            {hints.map((hint) => (
              <li key={hint}>{hint}</li>
            ))}
          </ul>
        </div>
      )}
    </>
  );
}

function Miss({ miss }: { miss: NearMiss }) {
  const { at, method, address, remoteAddr, text } = miss;
  return (
    <Notice kind="bad" title={text}>
      <p>
        <code>
          {method} {address}
        </code>
        {remoteAddr !== null && ` ${words.from(remoteAddr)}`}, <Ago at={at} />
      </p>
    </Notice>
  );
}

// How often the server is polled: every second at first, rarely in a tab that was left open.

const SOON_MS = 1_000;
const LATER_MS = 15_000;
/** Ten minutes. */
const SOON_COUNT_MAX = 600;

/** After how long to ask again, having asked so often. */
export function pollDelayMs(askedCount: number): number {
  return askedCount < SOON_COUNT_MAX ? SOON_MS : LATER_MS;
}
