// One run, in a drawer over the page of its check, with a URL of its own.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type ReactNode, useDeferredValue, useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import type { DrawnState } from "../../src/contract/api/check-row.ts";
import type { CheckPage, UsualDuration } from "../../src/contract/api/check-page.ts";
import type { DiffLine, Run, RunBody } from "../../src/contract/api/history.ts";
import { call, checkKey, operationUrl } from "../api.ts";
import { userZone } from "../boot.ts";
import { useMinute } from "../live/clock.ts";
import { pageHref } from "../page-location.ts";
import { useShortcuts } from "../shortcuts.ts";
import { Button } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy.tsx";
import { Drawer } from "../ui/dialog.tsx";
import { StateShape } from "../ui/marks.tsx";
import { Queried, type Tab, Tabs } from "../ui/page-state.tsx";
import { When } from "../ui/when.tsx";
import { againstUsual, checkKeys, formatMoment, runTitle, runWords, deliveryText } from "../words/check.ts";
import { formatBytes, formatDuration, formatExact, formatWhen, knownZone } from "../words/format.ts";

const SHAPES: Readonly<Record<Run["kind"], DrawnState>> = {
  success: "up",
  fail: "down",
  start: "running",
  log: "new",
  ign: "paused",
};

export function RunDrawer({ page, n }: { page: CheckPage; n: string | null }) {
  const { id } = page.row;
  const [, navigate] = useLocation();
  const isOpen = n !== null;
  const query = useQuery({
    queryKey: [...checkKey(id), "run", n],
    queryFn: () => call("getRun", { check: id, run: n ?? "" }),
    enabled: isOpen,
    placeholderData: keepPreviousData,
    retry: false,
  });
  const run = isOpen ? query.data : undefined;
  const go = (to: number | null | undefined) => {
    if (to !== null && to !== undefined)
      navigate(pageHref("run", { check: id, n: String(to) }), { replace: true });
  };
  useRunKeys({ isOpen, older: () => go(run?.olderN), newer: () => go(run?.newerN) });
  const now = useMinute();
  const title =
    run === undefined ? (
      runWords.title
    ) : (
      <span className="run-title">
        <StateShape state={SHAPES[run.kind]} size={20} label={null} />
        {runTitle(run)}
      </span>
    );
  return (
    <Drawer
      isOpen={isOpen}
      onClose={() => navigate(pageHref("check", { check: id }))}
      title={title}
      docs="pings"
      className="run-drawer"
      {...(run !== undefined && {
        description: `${formatWhen(run.at, { now, zone: userZone })} · ${runWords.number(run.n)}`,
      })}
      footer={
        <>
          <Button keys="ArrowLeft" disabled={!run?.olderN} onClick={() => go(run?.olderN)}>
            ← {runWords.older}
          </Button>
          <Button keys="ArrowRight" disabled={!run?.newerN} onClick={() => go(run?.newerN)}>
            {runWords.newer} →
          </Button>
        </>
      }
    >
      <Queried query={query}>{(shown) => <Shown page={page} run={shown} />}</Queried>
    </Drawer>
  );
}

function Shown({ page, run }: { page: CheckPage; run: Run }) {
  return (
    <div className="run">
      <RunFacts run={run} usual={page.usual} checkZone={page.settings.tz} />
      <RunEffects id={page.row.id} run={run} />
      {/* A run of another number starts with its own first tab and without a search. */}
      <RunOutput key={run.n} id={page.row.id} run={run} />
    </div>
  );
}

/** Shortcuts of the page do not work in dialogs; these belong to this one. */
function useRunKeys({
  isOpen,
  older,
  newer,
}: {
  isOpen: boolean;
  older: () => void;
  newer: () => void;
}): void {
  const { group } = checkKeys;
  const unlessTyping = (handler: () => void) => (event: KeyboardEvent) => {
    const target = event.target instanceof HTMLElement ? event.target : null;
    if (target?.closest("input, textarea, select, [role=tab]") === null) handler();
  };
  useShortcuts(
    isOpen
      ? [
          { keys: "ArrowLeft", label: checkKeys.older, group, run: unlessTyping(older), always: true },
          { keys: "ArrowRight", label: checkKeys.newer, group, run: unlessTyping(newer), always: true },
        ]
      : [],
  );
}

// Facts about the run.

type Props = { run: Run; usual: UsualDuration | null; checkZone: string };

/** `checkZone`: the time zone of the check's schedule. */
function RunFacts({ run, usual, checkZone }: Props) {
  const { facts } = runWords;
  const lines: [string, ReactNode][] = [];
  if (run.startAt !== null) lines.push([facts.started, <Moment key="s" at={run.startAt} />]);
  lines.push([run.startAt === null ? facts.at : facts.ended, <Moment key="e" at={run.at} />]);
  const others = [...new Set(["UTC", knownZone(checkZone)])].filter((zone) => zone !== userZone);
  if (others.length > 0) {
    lines.push([facts.elsewhere, others.map((zone) => <Moment key={zone} at={run.at} zone={zone} />)]);
  }
  if (run.durationMs !== null) lines.push([facts.took, tookText(run.durationMs, usual)]);
  if (run.exitStatus !== null) lines.push([facts.exit, String(run.exitStatus)]);
  lines.push([facts.by, run.scheme === "email" ? runWords.mail : `${run.method} ${run.scheme}`]);
  if (run.remoteAddr !== null) lines.push([facts.from, run.remoteAddr]);
  if (run.ua !== "") lines.push([facts.agent, run.ua]);
  if (run.rid !== null) lines.push([facts.rid, <code key="r">{run.rid}</code>]);
  return (
    <dl className="run-facts">
      {lines.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Moment({ at, zone = userZone }: { at: number; zone?: string }) {
  return <time dateTime={new Date(at).toISOString()}>{formatExact(at, zone)}</time>;
}

function tookText(durationMs: number, usual: UsualDuration | null): ReactNode {
  const took = formatDuration(durationMs);
  if (usual === null) return took;
  const against = againstUsual(durationMs, usual);
  const comparison = against === "usual" ? runWords.usual : runWords.against(against);
  const isLong = durationMs > usual.highMs;
  return (
    <>
      {took} <span className={isLong ? "run-long" : "muted"}>· {comparison}</span>
    </>
  );
}

// The output: text with search, difference to the last success, decoded email, raw bytes. HTML of emails is shown in
// a sandboxed frame.

function RunOutput({ id, run }: { id: string; run: Run }) {
  const { body } = run;
  const error = body?.error ?? null;
  const tabs = body === null ? [] : tabsOf(run, body);
  const first = run.kind === "fail" && run.diff !== null ? "diff" : (tabs[0]?.name ?? "");
  const [chosen, setChosen] = useState(first);
  return (
    <section className="run-output" aria-labelledby="run-output">
      <div className="check-part-head">
        <h3 id="run-output">{runWords.output}</h3>
        {body !== null && (
          <a className="link" href={operationUrl("getRunBody", { check: id, run: run.n })} download>
            {runWords.download} · {formatBytes(body.size)}
          </a>
        )}
      </div>
      {body === null && <p className="muted">{runWords.noBody}</p>}
      {error !== null && <p className="check-note">{runWords.bodyError(error)}</p>}
      {body?.isBinary === true && <p className="muted">{runWords.binary(formatBytes(body.size))}</p>}
      {tabs.length === 1 && tabs[0]?.body}
      {tabs.length > 1 && <Tabs tabs={tabs} label={runWords.output} value={chosen} onChange={setChosen} />}
    </section>
  );
}

function tabsOf({ diff }: Run, { text, plain, email }: RunBody): Tab[] {
  const tabs: Tab[] = [];
  if (email !== null) {
    tabs.push({ name: "mail", label: runWords.tabs.mail, body: <Email email={email} /> });
    if (email.html !== null)
      tabs.push({ name: "html", label: runWords.tabs.html, body: <Html html={email.html} /> });
  }
  if (text !== null) {
    const label = email === null ? runWords.tabs.text : runWords.tabs.raw;
    tabs.push({ name: "text", label, body: <SearchedText text={plain ?? text} raw={text} /> });
  }
  if (diff !== null) tabs.push({ name: "diff", label: runWords.tabs.diff, body: <RunDiff diff={diff} /> });
  return tabs;
}

function Email({ email: { subject, from, text } }: { email: NonNullable<RunBody["email"]> }) {
  return (
    <>
      <dl className="run-facts">
        <div>
          <dt>{runWords.from}</dt>
          <dd>{from}</dd>
        </div>
        <div>
          <dt>{runWords.subject}</dt>
          <dd dir="auto">{subject}</dd>
        </div>
      </dl>
      <SearchedText text={text} raw={text} />
    </>
  );
}

/** No scripts, no forms, no URLs of ours, no external resources: the page's own policy applies to it too. */
function Html({ html }: { html: string }) {
  return <iframe className="run-html" sandbox="" srcDoc={html} title={runWords.tabs.html} />;
}

// Text with search.

function SearchedText({ text, raw }: { text: string; raw: string }) {
  const [search, setSearch] = useState("");
  const [current, setCurrent] = useState(0);
  const pieces = splitByMatches(text, useDeferredValue(search));
  const count = Math.floor(pieces.length / 2);
  const shown = useRef<HTMLElement>(null);
  useEffect(() => {
    if (search !== "") shown.current?.scrollIntoView({ block: "nearest" });
  }, [search, current]);
  const type = (value: string) => {
    setSearch(value);
    setCurrent(0);
  };
  return (
    <div className="run-text">
      <div className="run-search">
        <input
          type="search"
          className="input"
          placeholder={runWords.search}
          aria-label={runWords.search}
          value={search}
          onChange={(event) => type(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || count === 0) return;
            event.preventDefault();
            setCurrent((current + (event.shiftKey ? count - 1 : 1)) % count);
          }}
        />
        {search !== "" && (
          <span className="muted" role="status">
            {runWords.found(count)}
          </span>
        )}
        <CopyButton text={raw} />
      </div>
      <pre tabIndex={0} aria-label={runWords.output} dir="auto">
        {pieces.map((piece, index) => {
          if (index % 2 === 0) return piece;
          const isCurrent = (index - 1) / 2 === current;
          return (
            <mark key={index} ref={isCurrent ? shown : null} className={isCurrent ? "is-current" : undefined}>
              {piece}
            </mark>
          );
        })}
      </pre>
    </div>
  );
}

// Splits a text at its matches: odd parts are matches.

/** More marks would make the page slow. */
const MATCHES_MAX = 500;

export function splitByMatches(text: string, search: string): string[] {
  if (search === "") return [text];
  const wanted = search.toLowerCase();
  const lower = text.toLowerCase();
  // Some letters change their length with their case; then positions in one text do not match the other.
  if (lower.length !== text.length) return splitExactly(text, search, text);
  return splitExactly(lower, wanted, text);
}

function splitExactly(searched: string, wanted: string, text: string): string[] {
  const pieces: string[] = [];
  let from = 0;
  while (pieces.length < 2 * MATCHES_MAX) {
    const at = searched.indexOf(wanted, from);
    if (at === -1) break;
    pieces.push(text.slice(from, at), text.slice(at, at + wanted.length));
    from = at + wanted.length;
  }
  return [...pieces, text.slice(from)];
}

// The difference to the output of the last success.

const { diff: words } = runWords;
const MARKS = { " ": " ", "+": "+", "-": "−" } as const;
const CLASSES = { " ": "is-same", "+": "is-new", "-": "is-gone" } as const;

function RunDiff({ diff }: { diff: NonNullable<Run["diff"]> }) {
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const added = diff.lines.filter(({ mark }) => mark === "+").length;
  const gone = diff.lines.filter(({ mark }) => mark === "-").length;
  if (added + gone === 0) return <p className="muted">{words.same}</p>;
  return (
    <>
      <p className="hint">
        {words.against} <When at={diff.againstAt} />. <b>{words.added(added)}</b>, <b>{words.gone(gone)}</b>.
        {diff.isTruncated && ` ${words.cut}`}
      </p>
      <div className="run-diff" tabIndex={0} role="region" aria-label={runWords.tabs.diff}>
        {foldSame(diff.lines).map((part, index) =>
          part.kind === "folded" && !opened.has(index) ? (
            <button
              key={index}
              type="button"
              className="run-folded"
              onClick={() => setOpened(new Set([...opened, index]))}
            >
              {words.hidden(part.lines.length)}
            </button>
          ) : (
            part.lines.map(({ mark, text }, line) => (
              <div key={`${index} ${line}`} className={`run-line ${CLASSES[mark]}`}>
                <span className="run-mark">{MARKS[mark]}</span>
                <span dir="auto">{text === "" ? "\u00a0" : text}</span>
              </div>
            ))
          ),
        )}
      </div>
    </>
  );
}

// Folds long stretches of equal lines.

/** The number of lines of context that are shown beside a change. */
const BESIDE = 3;
/** Fewer lines are not folded. */
const FOLDED_MIN = 4;

type DiffPart = { kind: "shown" | "folded"; lines: DiffLine[] };

export function foldSame(lines: readonly DiffLine[]): DiffPart[] {
  const near = lines.map((_, index) =>
    lines.slice(Math.max(0, index - BESIDE), index + BESIDE + 1).some(({ mark }) => mark !== " "),
  );
  const parts: DiffPart[] = [];
  for (const [index, line] of lines.entries()) {
    const kind = near[index] === true ? "shown" : "folded";
    const last = parts.at(-1);
    if (last?.kind === kind) last.lines.push(line);
    else parts.push({ kind, lines: [line] });
  }
  return parts.map((part) =>
    part.kind === "folded" && part.lines.length < FOLDED_MIN ? { ...part, kind: "shown" } : part,
  );
}

// The flip that the run caused, and the channels that were notified.

function RunEffects({ id, run: { flip, deliveries } }: { id: string; run: Run }) {
  const reader = { now: useMinute(), zone: userZone };
  if (flip === null) return null;
  return (
    <section className="run-caused" aria-label={runWords.effect}>
      <h3>{runWords.effect}</h3>
      <p>
        {flip.to === "down" ? runWords.wentDown : runWords.isUp}{" "}
        {flip.retractedAt !== null && `${runWords.retracted} `}
        {deliveries.length === 0 && runWords.noNotifications}{" "}
        <Link className="link" href={`${pageHref("check", { check: id })}?flip=${flip.id}`}>
          {runWords.explain}
        </Link>
      </p>
      <ul>
        {deliveries.map((delivery) => {
          const at = delivery.settledAt ?? delivery.attemptedAt ?? delivery.createdAt;
          return (
            <li key={delivery.id} className={delivery.state === "dead" ? "is-bad" : undefined}>
              <time>{formatMoment(at, userZone)}</time>
              <span>{deliveryText({ kind: "notified", at, ...delivery }, reader)}</span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
