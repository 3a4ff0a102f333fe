// The page of one incident: what happened, its checks, what comes next, and notes.
import "./incident.css";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Link } from "wouter";
import type { Incident, IncidentAlert } from "../../src/contract/api/incidents.ts";
import { FIELD_LENGTHS } from "../../src/contract/api/limits.ts";
import { call, errorText, isNotFound } from "../api.ts";
import { mayIn, userZone } from "../boot.ts";
import { useMinute, useNow } from "../live/clock.ts";
import { pageHref, type PageProps, usePageTitle } from "../page-location.ts";
import { Confirm } from "../parts/dialogs.tsx";
import { useWidth } from "../parts/hooks.ts";
import { askToSilence, SilenceWindow } from "../parts/silencing.tsx";
import { useShortcuts } from "../shortcuts.ts";
import { Button, ButtonLink } from "../ui/button.tsx";
import { UnsavedGuard } from "../ui/dialog.tsx";
import { DocsLink } from "../ui/docs-link.tsx";
import { TextArea } from "../ui/field.tsx";
import { Mark, StateShape, Tags } from "../ui/marks.tsx";
import { Empty, Queried } from "../ui/page-state.tsx";
import { toast, toastError } from "../ui/toast.tsx";
import { Until, When } from "../ui/when.tsx";
import { deliveryOutcome } from "../words/channels.ts";
import {
  formatClock,
  formatDay,
  formatDuration,
  formatExact,
  formatSpan,
  formatWhen,
  shortened,
} from "../words/format.ts";
import {
  actorName,
  incidentSentence,
  incidentsWords,
  incidentTitle,
  incidentWords as words,
} from "../words/incidents.ts";
import { type Hop, notifiedChannels, type StoryEntry, storyOf } from "./incident-story.ts";
import { incidentsKey, useIncident } from "./use-incidents.ts";

export function IncidentPage({ params }: PageProps) {
  const project = params.project ?? "";
  const query = useIncident(project, Number(params.n));
  usePageTitle(query.data === undefined ? words.tab : incidentTitle(query.data));
  if (isNotFound(query.error)) {
    return (
      <Empty
        title={words.missing.title}
        action={<ButtonLink href={pageHref("incidents", { project })}>{words.missing.action}</ButtonLink>}
      >
        <p>{words.missing.text}</p>
      </Empty>
    );
  }
  return (
    <Queried query={query} rows={10}>
      {(incident) => <Shown key={incident.number} project={project} incident={incident} />}
    </Queried>
  );
}

type Given = { project: string; incident: Incident };

function Shown({ project, incident }: Given) {
  const mayAct = mayIn(project, "acknowledge");
  const actions = useActions({ project, incident });
  const [isAsking, setAsking] = useState(false);
  const { state } = incident;
  const isOver = state === "resolved";
  const { group, acknowledge, resolve } = words.keys;
  const turn = () => void (state === "acknowledged" ? actions.unacknowledge() : actions.acknowledge());
  useShortcuts(
    mayAct && !isOver
      ? [
          { keys: "a", label: acknowledge, group, run: turn },
          { keys: "s", label: words.silence, group, run: actions.silence },
          { keys: "r", label: resolve, group, run: () => setAsking(true) },
        ]
      : [],
  );
  return (
    <>
      <div className="crumbs">
        <nav className="crumb" aria-label={words.crumbs}>
          <Link href={pageHref("incidents", { project })}>{incidentsWords.tab}</Link>
          {" / "}
          {words.number(incident.number)}
        </nav>
        <DocsLink to="incidents" />
      </div>
      <Head incident={incident}>
        {mayAct && !isOver && (
          <>
            <Button keys="s" onClick={actions.silence}>
              {words.silence}
            </Button>
            <Button keys="r" onClick={() => setAsking(true)}>
              {words.resolve}
            </Button>
            <Button
              keys="a"
              kind={state === "open" ? "primary" : "quiet"}
              isBusy={actions.isBusy}
              onClick={turn}
            >
              {state === "open" ? words.acknowledge : words.unacknowledge}
            </Button>
          </>
        )}
      </Head>
      <Sentence incident={incident} />
      {incident.alerts.length > 1 && <AlertChart incident={incident} />}
      <div className="incident-cols">
        <div>
          <Story incident={incident} />
          <Notes {...{ project, incident, mayAct }} />
        </div>
        <aside>
          <NextPanel incident={incident} />
          <ChecksPanel incident={incident} />
        </aside>
      </div>
      {isAsking && (
        <Confirm
          isOpen
          onClose={() => setAsking(false)}
          title={words.resolveAsk.title}
          text={words.resolveAsk.text}
          act={words.resolveAsk.act}
          isBusy={actions.isBusy}
          onAct={() => void actions.resolve().then(() => setAsking(false))}
        />
      )}
      <SilenceWindow />
    </>
  );
}

const REQUESTS = {
  acknowledge: "acknowledgeIncident",
  unacknowledge: "unacknowledgeIncident",
  resolve: "resolveIncident",
} as const;

function useActions({ project, incident: { number, alerts } }: Given) {
  const client = useQueryClient();
  const [isBusy, setBusy] = useState(false);
  const send = async (what: keyof typeof REQUESTS) => {
    const after = await call(REQUESTS[what], { project, incident: number });
    client.setQueryData([...incidentsKey(project), number], after);
    await client.invalidateQueries({ queryKey: incidentsKey(project) });
  };
  const act = async (what: keyof typeof REQUESTS, text: string, back?: keyof typeof REQUESTS) => {
    setBusy(true);
    try {
      await send(what);
      toast({ text, ...(back !== undefined && { undo: () => send(back) }) });
    } catch (error) {
      toastError(error);
    } finally {
      setBusy(false);
    }
  };
  const checks = [...new Set(alerts.flatMap(({ check }) => check?.id ?? []))];
  return {
    isBusy,
    acknowledge: () => act("acknowledge", words.acknowledged, "unacknowledge"),
    unacknowledge: () => act("unacknowledge", incidentsWords.unacknowledged, "acknowledge"),
    resolve: () => act("resolve", words.resolveAsk.done),
    silence: () => askToSilence({ project, checks }),
  };
}

const TAGS_SHOWN = 3;

function Head({ incident, children }: { incident: Incident; children: React.ReactNode }) {
  const { state, openedAt, resolvedAt, tags, checkCount } = incident;
  const now = useNow();
  return (
    <header className="incident-title">
      <span className={`incident-pill is-${state}`}>
        <PillMark state={state} />
        {words.lasted(state, formatSpan((resolvedAt ?? now) - openedAt))}
      </span>
      <h1 dir="auto">{incidentTitle(incident)}</h1>
      {checkCount > 1 && <span className="tag">{incidentsWords.checks(checkCount)}</span>}
      <Tags names={tags} most={TAGS_SHOWN} />
      <div className="incident-acts">{children}</div>
    </header>
  );
}

function PillMark({ state }: Pick<Incident, "state">) {
  if (state === "acknowledged") return <Mark mark="acknowledged" />;
  return <StateShape state={state === "open" ? "down" : "up"} label={null} />;
}

function Sentence({ incident }: { incident: Incident }) {
  const now = useNow();
  const { openedAt, resolvedAt } = incident;
  const sentences = incidentSentence(incident, {
    opened: formatWhen(openedAt, { now, zone: userZone }),
    lasted: formatSpan((resolvedAt ?? now) - openedAt),
    channelCount: notifiedChannels(incident),
  });
  return (
    <p className="incident-say">
      {sentences
        .join(" ")
        .split("*")
        .map((part, index) => (index % 2 === 1 ? <b key={index}>{part}</b> : part))}
    </p>
  );
}

// The alerts on one axis.

const CHART_ROWS = 14;
const CHART_PX = 958;
const LABEL_PX = 150;
const ROW_PX = 15;
const TOP_PX = 27;
const LETTERS = { wide: 22, narrow: 14 };
const NARROW_PX = 480;

function AlertChart({ incident }: { incident: Incident }) {
  const [width, place] = useWidth<HTMLDivElement>(CHART_PX);
  const now = useNow();
  const { alerts, openedAt, resolvedAt, acknowledged, state } = incident;
  // The clock of the page may be a second behind.
  const end = resolvedAt ?? Math.max(now, ...alerts.map((alert) => alert.openedAt));
  const margin = Math.max(60_000, (end - openedAt) * 0.06);
  const isNarrow = width < NARROW_PX;
  const label = isNarrow ? 96 : LABEL_PX;
  const scale = (width - label - 8) / (end - openedAt + margin);
  const x = (at: number) => label + (at - openedAt + margin) * scale;
  const shown = alerts.slice(0, CHART_ROWS);
  const bottom = TOP_PX + shown.length * ROW_PX;
  const isHandled = acknowledged !== null && state !== "open";
  return (
    <figure className="panel incident-chart">
      <div ref={place}>
        <svg width={width} height={bottom + 4} role="img" aria-label={words.chart(alerts.length)}>
          {shown.map((alert, index) => {
            const y = TOP_PX + index * ROW_PX + 4;
            return (
              <g key={alert.id}>
                <text x="0" y={y + 4}>
                  {shortened(nameOf(alert), LETTERS[isNarrow ? "narrow" : "wide"])}
                </text>
                <path className="chart-line" d={`M${label} ${y}H${x(end)}`} />
                <path className="chart-alert" d={`M${x(alert.openedAt)} ${y}H${x(alert.closedAt ?? end)}`} />
              </g>
            );
          })}
          <Moment at={openedAt} x={x(openedAt)} bottom={bottom} anchor="end" />
          {isHandled && (
            <Moment at={acknowledged.at} x={x(acknowledged.at)} bottom={bottom} anchor="start" isHandled />
          )}
          <path className="chart-now" d={`M${x(end)} 18V${bottom}`} />
          <text className="chart-when" x={x(end)} y="12" textAnchor="end">
            {resolvedAt === null ? `${incidentsWords.now} ` : ""}
            {formatClock(end, userZone)}
          </text>
        </svg>
      </div>
      {alerts.length > shown.length && (
        <figcaption className="hint">{words.showMore(alerts.length - shown.length)}</figcaption>
      )}
    </figure>
  );
}

type MomentProps = { at: number; x: number; bottom: number; anchor: "start" | "end"; isHandled?: boolean };

function Moment({ at, x, bottom, anchor, isHandled = false }: MomentProps) {
  return (
    <>
      <path className={isHandled ? "chart-handled" : "chart-opened"} d={`M${x} 18V${bottom}`} />
      <text
        className={isHandled ? "chart-when is-handled" : "chart-when is-opened"}
        x={x}
        y="12"
        textAnchor={anchor}
      >
        {formatClock(at, userZone)}
      </text>
    </>
  );
}

function nameOf({ check }: IncidentAlert): string {
  if (check === null) return words.deletedCheck;
  return check.name === "" ? "unnamed" : check.name;
}

// What happened, and what happens next.

function Story({ incident }: { incident: Incident }) {
  const { state, acknowledged, nextStep } = incident;
  const isOver = state === "resolved";
  return (
    <section aria-labelledby="incident-story">
      <h2 id="incident-story">{words.story}</h2>
      <ol className="story">
        {storyOf(incident).map((entry) => (
          <StoryLine key={entry.key} entry={entry} />
        ))}
        {!isOver && (
          <li className="is-ahead">
            <span className="story-when">{incidentsWords.now}</span>
            <span className="story-dot">
              {state === "open" ? <StateShape state="down" label={null} /> : <Mark mark="acknowledged" />}
            </span>
            <div>
              <b className={state === "open" ? "is-bad" : undefined}>
                {state === "open" || acknowledged === null
                  ? words.nowOpen
                  : words.nowAcknowledged(actorName(acknowledged.by))}
              </b>
            </div>
          </li>
        )}
        {nextStep !== null && (
          <Ahead
            when={<NextTime at={nextStep.at} />}
            title={words.next[nextStep.kind]}
            text={nextStep.kind === "repeat" ? words.next.repeatText : words.next.acknowledgementEndsText}
          />
        )}
        {!isOver && <Ahead when={words.later} title={words.next.recovery} text={null} />}
      </ol>
    </section>
  );
}

/** The day is shown only if it is another one. */
function NextTime({ at }: { at: number }) {
  const reader = { now: useMinute(), zone: userZone };
  const text = formatDay(at, reader) === "today" ? formatClock(at, userZone) : formatWhen(at, reader);
  return (
    <time dateTime={new Date(at).toISOString()} title={formatExact(at, userZone)}>
      {text}
    </time>
  );
}

function Ahead({ when, title, text }: { when: React.ReactNode; title: string; text: string | null }) {
  return (
    <li className="is-ahead">
      <span className="story-when">{when}</span>
      <span className="story-dot">
        <i className="is-soft" />
      </span>
      <div>
        {title}
        {text !== null && <p>{text}</p>}
      </div>
    </li>
  );
}

function StoryLine({ entry: { at, mark, title, text, hops, line } }: { entry: StoryEntry }) {
  const now = useMinute();
  const isToday = now - at < 20 * 3_600_000;
  return (
    <li className={`is-${line}`}>
      <time className="story-when" dateTime={new Date(at).toISOString()} title={formatExact(at, userZone)}>
        {isToday ? clockSeconds(at) : formatWhen(at, { now, zone: userZone })}
      </time>
      <span className="story-dot">
        {mark === "bead" ? (
          <i />
        ) : mark === "acknowledged" ? (
          <Mark mark="acknowledged" />
        ) : (
          <StateShape state={mark} label={null} />
        )}
      </span>
      <div>
        <b>
          <bdi>{title}</bdi>
        </b>
        {hops.length > 0 && <Hops hops={hops} />}
        {text !== null && <p dir="auto">{text}</p>}
      </div>
    </li>
  );
}

const SECONDS = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium", timeZone: userZone });

function clockSeconds(at: number): string {
  return SECONDS.format(at);
}

/** Each channel with the time until its delivery, as a bar. */
function Hops({ hops }: { hops: readonly Hop[] }) {
  const slowest = Math.max(1, ...hops.map(({ tookMs }) => tookMs ?? 0));
  return (
    <ul className="story-hops">
      {hops.map(({ id, delivery, tookMs }) => (
        <li key={id}>
          <span className="clip">{delivery.channel?.name ?? words.otherChannel}</span>
          {tookMs === null ? (
            <span className={delivery.state === "dead" ? "is-bad" : undefined}>
              {deliveryOutcome(delivery)}
            </span>
          ) : (
            <>
              <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
                <rect width={Math.max(2, (tookMs / slowest) * 100)} height="6" />
              </svg>
              <span className="figures">{formatDuration(tookMs)}</span>
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

// Notes.

function Notes({ project, incident: { number, notes }, mayAct }: Given & { mayAct: boolean }) {
  const client = useQueryClient();
  const [text, setText] = useState("");
  const add = useMutation({
    mutationFn: () => call("addIncidentNote", { project, incident: number, body: { text: text.trim() } }),
    onSuccess: async () => {
      setText("");
      await client.invalidateQueries({ queryKey: [...incidentsKey(project), number] });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() !== "") add.mutate();
  };
  return (
    <section className="incident-notes" aria-labelledby="incident-notes">
      <h2 id="incident-notes">{words.notes}</h2>
      {notes.length === 0 && <p className="muted">{words.noNotes}</p>}
      <ul>
        {notes.map((note) => (
          <li key={note.id}>
            <b>{actorName(note.by)}</b>{" "}
            <span className="muted">
              <When at={note.at} />
            </span>
            <p dir="auto">{note.text}</p>
          </li>
        ))}
      </ul>
      {mayAct && (
        <form className="form" onSubmit={submit}>
          <TextArea
            label={words.note}
            placeholder={words.notePlaceholder}
            maxLength={FIELD_LENGTHS.incidentNote}
            value={text}
            onChange={(event) => setText(event.target.value)}
            dir="auto"
            error={add.error === null ? null : errorText(add.error)}
          />
          <div className="form-acts">
            <Button type="submit" isBusy={add.isPending} disabled={text.trim() === ""}>
              {words.addNote}
            </Button>
          </div>
          <UnsavedGuard isUnsaved={text.trim() !== ""} />
        </form>
      )}
    </section>
  );
}

// Beside it: what comes next, and the checks.

function NextPanel({ incident: { state, nextStep } }: { incident: Incident }) {
  const text = nextStep === null ? (state === "resolved" ? words.nextResolved : words.nextNone) : null;
  return (
    <section className="panel" aria-labelledby="incident-next">
      <h2 id="incident-next">{words.nextTitle}</h2>
      {nextStep === null ? (
        <p className="muted">{text}</p>
      ) : (
        <>
          <p>
            {words.next[nextStep.kind]} <Until at={nextStep.at} />
          </p>
          {state === "open" && <p className="hint">{words.nextAck}</p>}
        </>
      )}
    </section>
  );
}

const CHECKS_SHOWN = 6;

function ChecksPanel({ incident: { alerts, checkCount } }: { incident: Incident }) {
  const [isWhole, setWhole] = useState(false);
  const latest = [
    ...new Map(alerts.map((alert) => [alert.check?.id ?? `alert ${alert.id}`, alert])).values(),
  ];
  const shown = isWhole ? latest : latest.slice(0, CHECKS_SHOWN);
  return (
    <section className="panel" aria-labelledby="incident-checks">
      <h2 id="incident-checks">{words.checksTitle(checkCount)}</h2>
      <ul className="incident-checks">
        {shown.map((alert) => (
          <CheckLine key={alert.id} alert={alert} />
        ))}
      </ul>
      {latest.length > shown.length && (
        <button type="button" className="link" onClick={() => setWhole(true)}>
          {words.showMore(latest.length - shown.length)}
        </button>
      )}
    </section>
  );
}

function CheckLine({ alert: { check, openedAt, closedAt, closeCause } }: { alert: IncidentAlert }) {
  const now = useNow();
  const reader = { now, zone: userZone };
  return (
    <li>
      <StateShape state={closedAt === null ? "down" : "up"} label={null} />
      {check === null ? (
        <span className="muted">{words.deletedCheck}</span>
      ) : (
        <Link className="clip" href={pageHref("check", { check: check.id })}>
          {check.name === "" ? "unnamed" : check.name}
        </Link>
      )}
      <span className="incident-checks-when figures">
        {closedAt === null
          ? `${words.since} ${formatWhen(openedAt, reader)}`
          : `${closeCause === "recovered" ? words.recoveredAt : words.closedAt} ${formatWhen(closedAt, reader)}`}
      </span>
    </li>
  );
}
