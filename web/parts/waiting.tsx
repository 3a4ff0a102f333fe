// Waiting for the first ping of a check: the command to run, pings that arrived, requests that did not match and why.
import "./waiting.css";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { CheckSetup, SetupPing, UnmatchedPing } from "../../src/contract/api/history.ts";
import { call } from "../api.ts";
import { serverNow, useNow } from "../live/clock.ts";
import { pageHref } from "../page-location.ts";
import { ButtonLink } from "../ui/button.tsx";
import { CodeBlock } from "../ui/copy.tsx";
import { LearnMore } from "../ui/docs-link.tsx";
import { Queried } from "../ui/page-state.tsx";
import { Ago } from "../ui/when.tsx";
import { waitingWords as words } from "../words/welcome.ts";
import { Notice } from "./section.tsx";

/** After this time, hints are shown. */
const HINTS_AFTER_MS = 12_000;

export function useWaiting(check: string) {
  return useQuery({
    queryKey: ["waiting", check],
    queryFn: () => call("getCheckSetup", { check }),
    // The user is in a terminal, and this page is in the background.
    refetchInterval: ({ state }) =>
      hasArrived(state.data) ? false : pollDelayMs(state.dataUpdateCount + state.errorUpdateCount),
    refetchIntervalInBackground: true,
    gcTime: 0,
  });
}

/** Whether a ping arrived that was not ignored. */
export function hasArrived(setup: CheckSetup | undefined): boolean {
  return setup?.pings.some(({ kind }) => kind !== "ignored") ?? false;
}

/** `project`: where channels are set up. */
export function WaitingFor({ check, project }: { check: string; project: string }) {
  const query = useWaiting(check);
  return (
    <Queried query={query} rows={2}>
      {(setup) => (
        <div className="waiting">
          {hasArrived(setup) ? (
            <Arrived check={check} setup={setup} project={project} />
          ) : (
            <Listening setup={setup} />
          )}
        </div>
      )}
    </Queried>
  );
}

function Arrived({ check, setup, project }: { check: string; setup: CheckSetup; project: string }) {
  const hasChannels = setup.channelCount > 0;
  const first = setup.pings.find(({ kind }) => kind !== "ignored");
  return (
    <Notice kind="good" title={words.arrived}>
      <p>
        {first !== undefined && <Received ping={first} />}{" "}
        {hasChannels ? words.arrivedText : words.arrivedNoChannel}
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

function Received({ ping }: { ping: SetupPing }) {
  const { kind, method, by, remoteAddr, ua, at } = ping;
  return (
    <>
      {words.kind(kind, method, by)}
      {remoteAddr !== null && ` ${words.from(remoteAddr)}`}
      {ua !== "" && `, ${ua}`}, <Ago at={at} />.
    </>
  );
}

function Listening({ setup }: { setup: CheckSetup }) {
  const { curl, pings, unmatched, hints } = setup;
  const [sinceAt] = useState(serverNow);
  const isLong = useNow() - sinceAt > HINTS_AFTER_MS || unmatched.length > 0;
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
      {(pings.length > 0 || unmatched.length > 0) && (
        <div className="waiting-list" aria-live="polite">
          <h3>{words.unmatched}</h3>
          {pings.map((ping) => (
            <Notice key={ping.n} kind="plain" title={<Received ping={ping} />} />
          ))}
          {unmatched.map((request) => (
            <Unmatched key={`${request.at} ${request.address}`} request={request} />
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
          <LearnMore to="troubleshooting" />
        </div>
      )}
    </>
  );
}

function Unmatched({ request }: { request: UnmatchedPing }) {
  const { at, method, address, remoteAddr, text } = request;
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

/** The delay before the next poll, after so many polls. */
export function pollDelayMs(askedCount: number): number {
  return askedCount < SOON_COUNT_MAX ? SOON_MS : LATER_MS;
}
