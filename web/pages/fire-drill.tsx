// The fire drill page: start a simulated outage, see each step arrive, and who would be notified.
import "./channels.css";
import "./fire-drill.css";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import type { InputOf } from "../../src/client/api-client.ts";
import type { ChannelKindInfo } from "../../src/contract/api/channels.ts";
import type { FireDrill, FireDrillSchedule, FireDrillSummary } from "../../src/contract/api/fire-drills.ts";
import { channelName, checkName } from "../../src/contract/api/words.ts";
import { call } from "../api.ts";
import { mayIn, userZone } from "../boot.ts";
import { nameKey, useAllRows } from "../live/checks-store.ts";
import { type PageProps, usePageTitle } from "../page-location.ts";
import { Confirm } from "../parts/dialogs.tsx";
import { Section } from "../parts/section.tsx";
import { ZoneField } from "../parts/zone-field.tsx";
import { Button } from "../ui/button.tsx";
import { CodeBlock } from "../ui/copy.tsx";
import { DocsLink } from "../ui/docs-link.tsx";
import { SelectField, TextField, Toggle } from "../ui/field.tsx";
import { StateShape } from "../ui/marks.tsx";
import { Queried } from "../ui/page-state.tsx";
import { toast, toastError } from "../ui/toast.tsx";
import { Ago, When } from "../ui/when.tsx";
import {
  drillSentence,
  drillSubject,
  drillTitle,
  fireDrillWords as words,
  HOP_WORDS,
  hopAnnouncement,
  recipientText,
  WEEKDAY_WORDS,
} from "../words/fire-drill.ts";
import { formatDuration } from "../words/format.ts";
import { words as shared } from "../words/shared.ts";
import { KindIcon } from "./channel-icon.tsx";
import { useChannelKinds } from "./use-channels.ts";

const ASK_EVERY_MS = 500;
const drillsKey = (project: string) => ["fireDrills", project];
const isRunning = ({ endedAt }: Pick<FireDrillSummary, "endedAt">) => endedAt === null;

export function FireDrillPage({ params }: PageProps) {
  const project = params.project ?? "";
  const [chosen, setChosen] = useState<string | null>(null);
  const list = useQuery({
    queryKey: drillsKey(project),
    queryFn: ({ signal }) => call("listFireDrills", { project }, signal),
    refetchInterval: ({ state: { data } }) => (data?.fireDrills.some(isRunning) ? ASK_EVERY_MS : false),
  });
  const drills = list.data?.fireDrills ?? [];
  const shown = chosen ?? drills[0]?.id ?? null;
  const detail = useQuery({
    queryKey: [...drillsKey(project), shown],
    queryFn: ({ signal }) => call("getFireDrill", { project, fireDrill: shown ?? "" }, signal),
    enabled: shown !== null,
    refetchInterval: ({ state: { data } }) => (data !== undefined && isRunning(data) ? ASK_EVERY_MS : false),
  });
  const drill = shown === null ? null : (detail.data ?? null);
  const title = drill === null ? words.ready : drillTitle(drill);
  usePageTitle(title);
  return (
    <div className="fire-drill">
      <header className="top">
        <h1>{title}</h1>
        <DocsLink to="fireDrills" />
      </header>
      <p className="fire-drill-about">{words.about}</p>
      <Queried query={list}>
        {() => (
          <>
            <StartForm project={project} hasRunning={drills.some(isRunning)} onStarted={setChosen} />
            {drill !== null && <Result drill={drill} />}
            <div className="sections">
              <Weekly project={project} />
              <History drills={drills} shown={shown} onChoose={setChosen} />
            </div>
          </>
        )}
      </Queried>
    </div>
  );
}

type StartProps = { project: string; hasRunning: boolean; onStarted: (id: string) => void };

function StartForm({ project, hasRunning, onStarted }: StartProps) {
  const [check, setCheck] = useState("");
  const [isSent, setSent] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const client = useQueryClient();
  const starting = useMutation({
    mutationFn: () => call("startFireDrill", { project, body: { check: check || null, send: isSent } }),
    onSuccess: async (drill) => {
      setAsking(false);
      client.setQueryData([...drillsKey(project), drill.id], drill);
      onStarted(drill.id);
      await client.invalidateQueries({ queryKey: drillsKey(project), exact: true });
    },
    onError: (error) => {
      setAsking(false);
      toastError(error);
    },
  });
  if (!mayIn(project, "startFireDrill")) return <p>{words.readOnly}</p>;
  const maySend = mayIn(project, "sendFireDrill");
  const start = (event: FormEvent) => {
    event.preventDefault();
    if (hasRunning) return;
    if (isSent) setAsking(true);
    else starting.mutate();
  };
  return (
    <form className="fire-drill-form" onSubmit={start}>
      <CheckField project={project} label={words.simulate} value={check} onChange={setCheck} />
      <div className="fire-drill-send">
        <Toggle label={words.send} checked={isSent} disabled={!maySend} onCheckedChange={setSent} />
        <p className="hint">{maySend ? (isSent ? words.sendHint : words.quietHint) : words.mayNotSend}</p>
      </div>
      <Button type="submit" kind="primary" isBusy={starting.isPending || hasRunning}>
        {words.start}
      </Button>
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={words.ask}
        text={words.askText}
        act={words.startSending}
        onAct={() => starting.mutate()}
        isBusy={starting.isPending}
      />
    </form>
  );
}

type CheckFieldProps = { project: string; label: string; value: string; onChange: (id: string) => void };

function CheckField({ project, label, value, onChange }: CheckFieldProps) {
  const rows = useAllRows(project).toSorted((a, b) => (nameKey(a) < nameKey(b) ? -1 : 1));
  return (
    <SelectField label={label} value={value} onChange={(event) => onChange(event.target.value)}>
      <option value="">{words.allChannels}</option>
      {rows.map((row) => (
        <option key={row.id} value={row.id}>
          {checkName(row)}
        </option>
      ))}
    </SelectField>
  );
}

function Result({ drill }: { drill: FireDrill }) {
  const kinds = useChannelKinds();
  const last = drill.hops.at(-1);
  const deadlineAt = drill.hops[0]?.at ?? drill.startedAt;
  const announced = isRunning(drill)
    ? last === undefined || last.name === "deadline"
      ? words.waitingForSweeper
      : hopAnnouncement(last, deadlineAt)
    : `${drillTitle(drill)}. ${drillSentence(drill)}`;
  return (
    <section aria-label={words.hops}>
      <p className="fire-drill-say">
        <b>{drillSubject(drill)}</b>: {isRunning(drill) ? announced : drillSentence(drill)}
        {` · ${drill.isSent ? words.isSent : words.isQuiet}`}
      </p>
      <p className="sr" role="status">
        {announced}
      </p>
      {drill.held !== null && (
        <p className="fire-drill-about">
          {drill.held.reason}
          {drill.held.until !== null && (
            <>
              {` ${words.holdUntil} `}
              <When at={drill.held.until} />
            </>
          )}
        </p>
      )}
      <Hops drill={drill} />
      {drill.notes.length > 0 && (
        <>
          <h2>{words.notes}</h2>
          <ul className="fire-drill-notes">
            {drill.notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </>
      )}
      {drill.recipients.length > 0 && (
        <>
          <h2>{words.recipients}</h2>
          <ul className="fire-drill-list" aria-label={words.recipients}>
            {drill.recipients.map((recipient) => (
              <Recipient
                key={recipient.channel.id}
                recipient={recipient}
                kind={kinds.data?.find(({ name }) => name === recipient.channel.kind)}
              />
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

/** One step: where it lies on the axis in percent, and how long it took. */
export type DrawnHop = {
  name: FireDrill["hops"][number]["name"];
  from: number;
  to: number;
  afterMs: number;
  tookMs: number;
};

/** Each hop from the end of the one before it. */
export function drawHops(hops: FireDrill["hops"]): DrawnHop[] {
  const first = hops[0]?.at ?? 0;
  const whole = Math.max(1, (hops.at(-1)?.at ?? first) - first);
  return hops.map(({ name, at }, index) => {
    const before = hops[index - 1]?.at ?? at;
    const share = (instant: number) => ((instant - first) / whole) * 100;
    return { name, from: share(before), to: share(at), afterMs: at - first, tookMs: at - before };
  });
}

/** The steps that a drill that runs has not reached. */
export function waitingHops({
  hops,
  isSent,
  endedAt,
}: Pick<FireDrill, "hops" | "isSent" | "endedAt">): DrawnHop["name"][] {
  if (endedAt !== null) return [];
  const names = Object.keys(HOP_WORDS) as DrawnHop["name"][];
  const arrived = new Set(hops.map(({ name }) => name));
  return names.filter((name) => !arrived.has(name) && (isSent || name !== "answered"));
}

function Hops({ drill }: { drill: FireDrill }) {
  const drawn = drawHops(drill.hops);
  const waiting = waitingHops(drill);
  return (
    <div className="fire-drill-chart">
      <div
        className="fire-drill-hops"
        role="img"
        aria-label={isRunning(drill) ? words.chart : `${words.chart}: ${drillSentence(drill)}`}
      >
        {drawn.map(({ name, from, to, afterMs }, index) => {
          const isEnd = !isRunning(drill) && index === drawn.length - 1;
          const kind = index === 0 ? "is-deadline" : isEnd ? "is-end" : "";
          return (
            <div className="fire-drill-hop" key={name}>
              <span>{HOP_WORDS[name]}</span>
              <span className="fire-drill-track">
                <span
                  className={`fire-drill-bar ${kind}`}
                  style={{ insetInlineStart: `min(${from}%, calc(100% - 3px))`, width: `${to - from}%` }}
                />
              </span>
              <span>{index === 0 ? "0 ms" : formatDuration(afterMs)}</span>
            </div>
          );
        })}
        {waiting.map((name, index) => (
          <div className="fire-drill-hop is-waiting" key={name}>
            <span>{HOP_WORDS[name]}</span>
            <span className="fire-drill-track" />
            <span>{index === 0 && words.waiting}</span>
          </div>
        ))}
      </div>
      <details>
        <summary>{words.table}</summary>
        <table>
          <thead>
            <tr>
              <th scope="col">{words.step}</th>
              <th scope="col">{words.after}</th>
              <th scope="col">{words.took}</th>
            </tr>
          </thead>
          <tbody>
            {drawn.map(({ name, afterMs, tookMs }) => (
              <tr key={name}>
                <th scope="row">{HOP_WORDS[name]}</th>
                <td>{formatDuration(afterMs)}</td>
                <td>{formatDuration(tookMs)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </div>
  );
}

const SHAPES = { sent: "up", notSent: "up", retrying: "late", failed: "down", skipped: "paused" } as const;

type RecipientProps = { recipient: FireDrill["recipients"][number]; kind: ChannelKindInfo | undefined };

function Recipient({ recipient, kind }: RecipientProps) {
  const { channel, outcome, title, text, requests, closing } = recipient;
  const name = channelName(channel);
  return (
    <li>
      <div className="fire-drill-channel">
        <StateShape state={SHAPES[outcome]} label={null} />
        {kind !== undefined && <KindIcon kind={kind} />}
        <b>{name}</b>
        {kind !== undefined && <span>{kind.title}</span>}
        <span>{recipientText(recipient)}</span>
        {closing !== null && closing.outcome === "sent" && <span>{words.closed}</span>}
        {closing?.reason && <span>{closing.reason}</span>}
      </div>
      {title !== null && (
        <details>
          <summary>
            {words.preview}
            <span className="sr"> {name}</span>
          </summary>
          <div className="fire-drill-preview">
            <b>{title}</b>
            {text !== null && <p>{text}</p>}
          </div>
          {requests.map(({ method, url, body }) => (
            <CodeBlock
              key={`${method} ${url}`}
              label={`${words.request}: ${name}`}
              text={`${method} ${url}\n\n${body}`}
            />
          ))}
        </details>
      )}
    </li>
  );
}

type HistoryProps = {
  drills: readonly FireDrillSummary[];
  shown: string | null;
  onChoose: (id: string) => void;
};

function History({ drills, shown, onChoose }: HistoryProps) {
  return (
    <Section title={words.history}>
      {drills.length === 0 ? (
        <p>{words.none}</p>
      ) : (
        <ul className="fire-drill-list fire-drill-history" aria-label={words.history}>
          {drills.map((drill) => (
            <li key={drill.id}>
              <button
                type="button"
                aria-current={drill.id === shown ? "true" : undefined}
                onClick={() => onChoose(drill.id)}
              >
                <b>{drillSubject(drill)}</b>
                <span>
                  {drill.outcome === null ? words.running : drillSentence(drill)}
                  {` · ${drill.isSent ? words.isSent : words.isQuiet} · `}
                  {drill.isScheduled && `${words.scheduled} · `}
                  <Ago at={drill.startedAt} />
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

type Schedule = NonNullable<FireDrillSchedule["schedule"]>;

function Weekly({ project }: { project: string }) {
  const query = useQuery({
    queryKey: ["fireDrillSchedule", project],
    queryFn: ({ signal }) => call("getFireDrillSchedule", { project }, signal),
  });
  return (
    <Section title={words.weekly} about={words.weeklyAbout} docs="fireDrills">
      <Queried query={query} rows={2}>
        {({ schedule }) => (
          <>
            <p>
              {schedule === null ? (
                words.weeklyOff
              ) : (
                <>
                  {words.weeklyNext} <When at={schedule.nextAt} />
                </>
              )}
            </p>
            {mayIn(project, "sendFireDrill") && (
              <WeeklyForm key={schedule?.nextAt ?? 0} project={project} schedule={schedule} />
            )}
          </>
        )}
      </Queried>
    </Section>
  );
}

const NINE = 540;

/** "09:00" as minutes after midnight. */
function minuteOf(text: string): number {
  const [hours = 0, minutes = 0] = text.split(":").map(Number);
  return hours * 60 + minutes;
}

function timeOf(minute: number): string {
  const two = (value: number) => String(value).padStart(2, "0");
  return `${two(Math.floor(minute / 60))}:${two(minute % 60)}`;
}

/** As it is saved again by undo. */
function beforeOf(schedule: Schedule | null) {
  if (schedule === null) return null;
  const { weekday, minute, tz, send, check } = schedule;
  return { weekday, minute, tz, send, check: check?.id ?? null };
}

function WeeklyForm({ project, schedule }: { project: string; schedule: Schedule | null }) {
  const [weekday, setWeekday] = useState(schedule?.weekday ?? 0);
  const [time, setTime] = useState(timeOf(schedule?.minute ?? NINE));
  const [tz, setZone] = useState(schedule?.tz ?? userZone);
  const [check, setCheck] = useState(schedule?.check?.id ?? "");
  const [send, setSend] = useState(schedule?.send ?? false);
  const client = useQueryClient();
  const put = async (body: InputOf<"setFireDrillSchedule">["body"]) => {
    const saved = await call("setFireDrillSchedule", { project, body });
    client.setQueryData(["fireDrillSchedule", project], saved);
    return saved;
  };
  const saving = useMutation({
    mutationFn: (isOn: boolean) => {
      const set = { weekday, minute: minuteOf(time), tz, send, check: check || null };
      return put({ schedule: isOn ? set : null });
    },
    onSuccess: (saved) => {
      const text = saved.schedule === null ? words.turnedOff : words.saved;
      toast({ text, undo: () => put({ schedule: beforeOf(schedule) }) });
    },
    onError: toastError,
  });
  const save = (event: FormEvent) => {
    event.preventDefault();
    saving.mutate(true);
  };
  return (
    <form className="fire-drill-weekly" onSubmit={save}>
      <SelectField
        label={words.weekday}
        value={String(weekday)}
        onChange={(event) => setWeekday(Number(event.target.value))}
      >
        {WEEKDAY_WORDS.map((day, index) => (
          <option key={day} value={index}>
            {day}
          </option>
        ))}
      </SelectField>
      <TextField
        label={words.time}
        type="time"
        required
        value={time}
        onChange={(event) => setTime(event.target.value)}
      />
      <ZoneField label={words.zone} value={tz} onChange={setZone} />
      <CheckField project={project} label={words.simulate} value={check} onChange={setCheck} />
      <Toggle label={words.send} checked={send} onCheckedChange={setSend} />
      <div>
        <Button type="submit" isBusy={saving.isPending}>
          {shared.save}
        </Button>{" "}
        {schedule !== null && (
          <Button kind="bare" isBusy={saving.isPending} onClick={() => saving.mutate(false)}>
            {words.turnOff}
          </Button>
        )}
      </div>
    </form>
  );
}
