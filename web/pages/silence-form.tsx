// The form of a silence: a sentence whose parts are buttons, and what the silence would cover. Loaded on demand.
import "./silence-form.css";
import { useQueryClient } from "@tanstack/react-query";
import {
  type FormEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from "react";
import type { CheckRow } from "../../src/contract/api/check-row.ts";
import { FIELD_LENGTHS, SILENCED_CHECKS_MAX } from "../../src/contract/api/limits.ts";
import type { NewSilence, Silence, SilenceChange } from "../../src/contract/api/silences.ts";
import { ApiError, call, errorText } from "../api.ts";
import { boot, userZone } from "../boot.ts";
import { useAllRows } from "../live/checks-store.ts";
import { serverNow, useMinute } from "../live/clock.ts";
import { CheckChoice, FindField } from "../parts/check-choice.tsx";
import { Conflict } from "../parts/conflict.tsx";
import { postCommand, quoted } from "../parts/curl.ts";
import { useDebounced } from "../parts/hooks.ts";
import { SpanField, useReading } from "../parts/schedule.tsx";
import { ZoneField } from "../parts/zone-field.tsx";
import { Button } from "../ui/button.tsx";
import { CodeBlock } from "../ui/copy.tsx";
import { Drawer } from "../ui/dialog.tsx";
import { SelectField, TextField, Tick } from "../ui/field.tsx";
import { Tabs } from "../ui/page-state.tsx";
import { toast } from "../ui/toast.tsx";
import { formatSpan, formatWhen, instantOfLocal, localMinute } from "../words/format.ts";
import { silenceFormWords as words } from "../words/silence-form.ts";
import { silenceName } from "../words/silences.ts";
import { words as shared } from "../words/shared.ts";
import { Coverage, usePreview } from "./silence-preview.tsx";
import { silencesKey } from "./use-silences.ts";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LENGTHS = [30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, DAY, 7 * DAY];
const HOLDS = [0, 15 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 12 * HOUR, DAY];
/** The default of the API for a recurring silence. */
const RECURRING_HOLD = HOUR;

// The fields as values, and the requests they stand for.

export type SilenceForm = {
  scope: "all" | "tag" | "checks";
  tag: string;
  checks: readonly string[];
  isRecurring: boolean;
  /** Local times of the user; "": now. */
  from: string;
  /** A length, or a local time. */
  end: { seconds: number } | { at: string };
  untilSuccess: boolean;
  schedule: string;
  tz: string;
  windowSeconds: number;
  /** Null: the default. */
  holdAfter: number | null;
  reason: string;
};

/** A silence of these checks, or of all if none are given, for two hours from now on. */
export function newForm(checks: readonly string[], zone: string): SilenceForm {
  return {
    scope: checks.length > 0 ? "checks" : "all",
    tag: "",
    checks,
    isRecurring: false,
    from: "",
    end: { seconds: 2 * HOUR },
    untilSuccess: false,
    schedule: "0 2 * * *",
    tz: zone,
    windowSeconds: 2 * HOUR,
    holdAfter: null,
    reason: "",
  };
}

/** The fields of a silence, to edit it; to repeat one that has ended, with the same length from now on. */
export function formOf(
  silence: Silence,
  { zone, isRepeated }: { zone: string; isRepeated: boolean },
): SilenceForm {
  const { checks, tag, from, until, schedule, tz, duration, holdAfter, untilSuccess, reason } = silence;
  const length = until === null ? null : Math.max(MINUTE, Math.round((until - from) / 1_000));
  const once =
    isRepeated || until === null
      ? { from: "", end: { seconds: length ?? 2 * HOUR } }
      : { from: localMinute(from, zone), end: { at: localMinute(until, zone) } };
  return {
    ...newForm([], zone),
    ...once,
    scope: tag !== null ? "tag" : checks === null ? "all" : "checks",
    tag: tag ?? "",
    checks: idsOf(checks),
    isRecurring: schedule !== null,
    untilSuccess,
    ...(schedule !== null && { schedule, tz: tz ?? zone, windowSeconds: duration ?? 2 * HOUR }),
    holdAfter,
    reason,
  };
}

/** Only read-only API keys get checks without ids. */
export function idsOf(checks: Silence["checks"]): string[] {
  return checks?.flatMap(({ id }) => id ?? []) ?? [];
}

/** The request that creates the silence. */
export function bodyOf(form: SilenceForm, zone: string): NewSilence {
  const { scope, tag, checks, isRecurring, from, end, untilSuccess, holdAfter } = form;
  const fromAt = from === "" ? null : instantOfLocal(from, zone);
  const untilAt = "at" in end ? instantOfLocal(end.at, zone) : null;
  const reason = form.reason.trim();
  return {
    ...(scope === "tag" && { tag }),
    ...(scope === "checks" && { checks: [...checks] }),
    ...(isRecurring
      ? { schedule: form.schedule.trim(), tz: form.tz, duration: form.windowSeconds }
      : {
          ...(fromAt !== null && { from: fromAt }),
          ...("seconds" in end ? { duration: end.seconds } : untilAt !== null && { until: untilAt }),
          ...(untilSuccess && { untilSuccess }),
        }),
    ...(holdAfter !== null && { holdAfter }),
    ...(reason !== "" && { reason }),
  };
}

/** The request that changes the silence: only what differs, so that a start that has passed is not sent again. */
export function changeOf(before: SilenceForm, after: SilenceForm, zone: string): SilenceChange {
  const was: Readonly<Record<string, unknown>> = bodyOf(before, zone);
  const is: Readonly<Record<string, unknown>> = bodyOf(after, zone);
  const change: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(is)) {
    if (JSON.stringify(was[name]) !== JSON.stringify(value)) change[name] = value;
  }
  for (const name of Object.keys(was)) if (!(name in is) && name in CLEARED) change[name] = CLEARED[name];
  // Its end is counted from its start, and a silence that does not recur needs one.
  if (before.isRecurring && !after.isRecurring) change["schedule"] = null;
  if (after.scope === "all" && before.scope !== "all") Object.assign(change, { tag: null, checks: null });
  return change;
}

/** The values of fields that are not sent when they are created. */
const CLEARED: Readonly<Record<string, unknown>> = { untilSuccess: false, reason: "" };

/** What is missing before it can be saved; null: nothing. */
export function missingIn({ scope, tag, checks }: SilenceForm): string | null {
  if (scope === "tag" && tag === "") return words.chooseTag;
  if (scope !== "checks") return null;
  if (checks.length > SILENCED_CHECKS_MAX) return words.tooManyChecks(SILENCED_CHECKS_MAX);
  return checks.length === 0 ? words.chooseChecks : null;
}

/** The same as a curl command, and with the command line. */
export function codeOf(body: NewSilence, { project, siteUrl }: { project: string; siteUrl: string }) {
  return {
    curl: postCommand(`${siteUrl}/api/overdue/v1/projects/${project}/silences`, body),
    cli: ["overdue silence", ...optionsOf(body)].join(" \\\n  "),
  };
}

function optionsOf({ checks, tag, from, until, duration, ...body }: NewSilence): string[] {
  const { untilSuccess, schedule, tz, holdAfter, reason } = body;
  const time = (at: number) => new Date(at).toISOString().replace(".000Z", "Z");
  return [
    ...(checks ?? []).map((id) => `--check ${id}`),
    ...(tag === undefined ? [] : [`--tag ${quoted(tag)}`]),
    ...(checks === undefined && tag === undefined ? ["--all"] : []),
    ...(from === undefined ? [] : [`--from ${time(from)}`]),
    ...(until === undefined ? [] : [`--until ${time(until)}`]),
    ...(schedule === undefined ? [] : [`--schedule ${quoted(schedule)}`, `--tz ${tz ?? "UTC"}`]),
    ...(duration === undefined ? [] : [`--for ${duration}s`]),
    ...(untilSuccess === true ? ["--until-success"] : []),
    ...(holdAfter === undefined ? [] : [`--hold-after ${holdAfter}s`]),
    ...(reason === undefined ? [] : [`--reason ${quoted(reason)}`]),
  ];
}

// The drawer.

type DrawerProps = {
  project: string;
  /** What the form starts with. */
  start: SilenceForm;
  /** The silence that is edited; null: a new one. */
  edited: Silence | null;
  onClose: () => void;
  onDone?: () => void;
};

export function SilenceDrawer(props: DrawerProps) {
  const { project, start, edited, onClose } = props;
  const [form, setForm] = useState(start);
  const [isCodeShown, setCodeShown] = useState(false);
  const [opened, setOpened] = useState<PanelName | null>(null);
  const { save, trouble, forget, isBusy } = useSaving({ ...props, form });
  const formId = useId();
  const set: SetForm = (change) => {
    forget();
    setForm((was) => ({ ...was, ...change }));
  };
  const missing = missingIn(form);
  const preview = usePreview(project, missing === null ? bodyOf(form, userZone) : null);
  const isChanged = JSON.stringify(form) !== JSON.stringify(start);
  const conflict = trouble instanceof ApiError ? trouble.conflict : null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (missing === null) void save();
  };
  const count = preview.data?.checkCount ?? null;
  const code = codeOf(bodyOf(form, userZone), { project, siteUrl: boot.site.url });
  return (
    <Drawer
      isOpen
      onClose={onClose}
      isUnsaved={isChanged}
      title={edited === null ? words.title : words.editTitle(silenceName(edited))}
      footer={
        <>
          <Button kind="bare" aria-pressed={isCodeShown} onClick={() => setCodeShown(!isCodeShown)}>
            {words.asCode}
          </Button>
          <span className="silence-space" />
          <Button onClick={onClose}>{shared.cancel}</Button>
          <Button
            kind="primary"
            type="submit"
            form={formId}
            isBusy={isBusy}
            disabled={missing !== null || (edited !== null && !isChanged)}
          >
            {edited === null ? words.act(missing === null ? count : null) : words.save}
          </Button>
        </>
      }
    >
      <form id={formId} className="form silence-form" onSubmit={submit} noValidate>
        {conflict !== null && (
          <Conflict
            conflict={conflict}
            isBusy={isBusy}
            onOverwrite={() => void save(conflict.version)}
            onReload={onClose}
          />
        )}
        <Sentence {...{ project, form, set, opened }} onOpen={setOpened} />
        {trouble !== null && conflict === null && (
          <p className="mistake" role="alert">
            {errorText(trouble)}
          </p>
        )}
        {isCodeShown && (
          <Tabs
            label={words.asCode}
            tabs={(["curl", "cli"] as const).map((name) => ({
              name,
              label: words.code[name],
              body: <CodeBlock text={code[name]} label={words.code[name]} />,
            }))}
          />
        )}
        {missing !== null ? (
          <p className="hint">{missing}</p>
        ) : (
          <Coverage preview={preview.data} error={preview.error} />
        )}
        <Options form={form} set={set} />
      </form>
    </Drawer>
  );
}

function useSaving({ project, start, edited, form, onClose, onDone }: DrawerProps & { form: SilenceForm }) {
  const client = useQueryClient();
  const [trouble, setTrouble] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const refresh = () => client.invalidateQueries({ queryKey: silencesKey(project) });
  const send = async (version: number | undefined) => {
    if (edited === null) {
      const made = await call("createSilence", { project, body: bodyOf(form, userZone) });
      const undo = async () => {
        await call("endSilence", { project, silence: made.id });
        await refresh();
      };
      toast({ text: words.made(silenceName(made)), undo });
      return;
    }
    const saved = await call("updateSilence", {
      project,
      silence: edited.id,
      body: { ...changeOf(start, form, userZone), version: version ?? edited.version },
    });
    toast({ text: words.saved(silenceName(saved)) });
  };
  const save = async (version?: number) => {
    setBusy(true);
    setTrouble(null);
    try {
      await send(version);
      await refresh();
      onClose();
      onDone?.();
    } catch (error) {
      setTrouble(error);
    } finally {
      setBusy(false);
    }
  };
  const forget = () =>
    setTrouble((was: unknown) => (was instanceof ApiError && was.conflict !== null ? was : null));
  return { save, trouble, forget, isBusy };
}

// The sentence. A button opens its panel below the sentence; Escape closes the panel and then the drawer.

type SetForm = (change: Partial<SilenceForm>) => void;
type PanelName = keyof typeof words.panels;
type FieldsProps = { form: SilenceForm; set: SetForm };
type SentenceProps = FieldsProps & {
  project: string;
  opened: PanelName | null;
  onOpen: (panel: PanelName | null) => void;
};

function Sentence({ project, form, set, opened, onOpen }: SentenceProps) {
  const panelId = useId();
  const place = useRef<HTMLDivElement>(null);
  const token = (name: PanelName, text: ReactNode) => (
    <button
      type="button"
      className="silence-token"
      data-token={name}
      aria-expanded={opened === name}
      aria-controls={opened === name ? panelId : undefined}
      aria-describedby={`${panelId}-${name}`}
      onClick={() => onOpen(opened === name ? null : name)}
    >
      {text}
      <span className="sr" id={`${panelId}-${name}`}>
        {words.panels[name]}
      </span>
    </button>
  );
  useEscape(place, opened, () => onOpen(null));
  const { sentence } = words;
  return (
    <div ref={place}>
      <p className="silence-sentence">
        {sentence.silence} {token("what", <ScopeText form={form} />)}{" "}
        {form.isRecurring ? (
          <>
            {token("when", <ScheduleText form={form} />)} {sentence.length}{" "}
            {token("length", formatSpan(form.windowSeconds * 1_000))}
          </>
        ) : (
          <OnceText form={form} token={token} />
        )}
        , {token("often", form.isRecurring ? sentence.often.recurring : sentence.often.once)}.{" "}
        <label className="silence-reason">
          {sentence.reason}{" "}
          <input
            value={form.reason}
            maxLength={FIELD_LENGTHS.silenceReason}
            placeholder={words.reasonPlaceholder}
            autoComplete="off"
            dir="auto"
            onChange={(event) => set({ reason: event.target.value })}
          />
        </label>
      </p>
      {opened !== null && (
        <Panel id={panelId} name={opened}>
          {opened === "what" && <ScopePanel project={project} form={form} set={set} />}
          {opened === "from" && <FromPanel form={form} set={set} />}
          {opened === "to" && <ToPanel form={form} set={set} />}
          {opened === "often" && <OftenPanel form={form} set={set} />}
          {opened === "when" && <SchedulePanel form={form} set={set} />}
          {opened === "length" && (
            <SpanField
              label={words.length}
              seconds={form.windowSeconds}
              onChange={(windowSeconds) => set({ windowSeconds })}
              presets={LENGTHS}
            />
          )}
        </Panel>
      )}
    </div>
  );
}

/** Closes the open panel, and returns the focus to its button. An open list within the panel comes first. */
function useEscape(
  place: RefObject<HTMLElement | null>,
  opened: PanelName | null,
  onClose: () => void,
): void {
  const latest = useRef(onClose);
  useEffect(() => {
    latest.current = onClose;
  });
  useEffect(() => {
    const element = place.current;
    if (element === null || opened === null) return undefined;
    const close = (event: KeyboardEvent) => {
      const { target } = event;
      const isList = target instanceof Element && target.matches("[role=combobox][aria-expanded=true]");
      if (event.key !== "Escape" || isList) return;
      element.querySelector<HTMLElement>(`[data-token=${opened}]`)?.focus();
      latest.current();
    };
    element.addEventListener("keydown", close);
    return () => element.removeEventListener("keydown", close);
  }, [place, opened]);
}

type TokenOf = (name: PanelName, text: ReactNode) => ReactNode;

function OnceText({ form, token }: { form: SilenceForm; token: TokenOf }) {
  const now = useMinute();
  const { sentence } = words;
  const fromAt = form.from === "" ? null : instantOfLocal(form.from, userZone);
  const untilAt = endOf(form, now);
  const reader = { now, zone: userZone };
  return (
    <>
      {sentence.from} {token("from", fromAt === null ? words.now : formatWhen(fromAt, reader))} {sentence.to}{" "}
      {token("to", untilAt === null ? "–" : formatWhen(untilAt, reader))} {sentence.zone(userZone)}
    </>
  );
}

/** When a silence that does not recur ends; null: no time is typed. */
function endOf({ from, end }: SilenceForm, now: number): number | null {
  if ("at" in end) return instantOfLocal(end.at, userZone);
  return ((from === "" ? null : instantOfLocal(from, userZone)) ?? now) + end.seconds * 1_000;
}

function ScopeText({ form: { scope, tag, checks } }: Pick<FieldsProps, "form">) {
  if (scope === "all") return words.all;
  if (scope === "tag") return tag === "" ? words.noTag : words.tagged(tag);
  return checks.length === 0 ? words.noChecks : words.someChecks(checks.length);
}

function ScheduleText({ form }: Pick<FieldsProps, "form">) {
  const { data } = useScheduleReading(form);
  if (data === undefined || "error" in data) return form.schedule === "" ? words.unread : form.schedule;
  const sentence = data.sentence.replace(/\.$/, "");
  return sentence.charAt(0).toLowerCase() + sentence.slice(1);
}

const TYPING_MS = 300;

function useScheduleReading({ schedule, tz }: Pick<SilenceForm, "schedule" | "tz">) {
  const asked = useDebounced({ schedule: schedule.trim(), tz }, TYPING_MS);
  return useReading({ kind: "cron", timeoutSeconds: DAY, graceSeconds: HOUR, ...asked });
}

/** Gets the focus when it opens. */
function Panel({ id, name, children }: { id: string; name: PanelName; children: ReactNode }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    place.current?.querySelector<HTMLElement>("button, input, select, textarea")?.focus();
  }, [name]);
  return (
    <div
      ref={place}
      id={id}
      className="silence-panel"
      role="group"
      aria-label={words.panels[name]}
      data-panel
    >
      {children}
    </div>
  );
}

const KINDS = ["all", "tag", "checks"] as const;

function ScopePanel({ project, form, set }: FieldsProps & { project: string }) {
  const rows = useAllRows(project);
  return (
    <>
      <div className="check-switch">
        {KINDS.map((scope) => (
          <button
            key={scope}
            type="button"
            aria-pressed={form.scope === scope}
            onClick={() => set({ scope })}
          >
            {words.kinds[scope]}
          </button>
        ))}
      </div>
      {form.scope === "tag" && <TagChoice rows={rows} form={form} set={set} />}
      {form.scope === "checks" && (
        <CheckChoice
          rows={rows}
          chosen={form.checks}
          label={words.kinds.checks}
          onChange={(checks) => set({ checks })}
        />
      )}
    </>
  );
}

const TAGS_SHOWN = 40;
const TAGS_IN_SIGHT = 12;

function TagChoice({ rows, form, set }: FieldsProps & { rows: readonly CheckRow[] }) {
  const [text, setText] = useState("");
  const tags = useMemo(() => {
    const counts = new Map<string, number>();
    for (const row of rows) for (const tag of row.tags) counts.set(tag, (counts.get(tag) ?? 0) + 1);
    return [...counts].toSorted(([a], [b]) => a.localeCompare(b));
  }, [rows]);
  if (tags.length === 0) return <p className="hint">{words.noTags}</p>;
  const found = tags.filter(([tag]) => tag.toLowerCase().includes(text.toLowerCase())).slice(0, TAGS_SHOWN);
  return (
    <>
      {tags.length > TAGS_IN_SIGHT && <FindField label={words.findTag} value={text} onChange={setText} />}
      <div className="silence-tags" role="group" aria-label={words.tags}>
        {found.map(([tag, count]) => (
          <button
            key={tag}
            type="button"
            className="chip is-quiet"
            aria-pressed={form.tag === tag}
            onClick={() => set({ tag })}
          >
            <bdi>{tag}</bdi>
            <span className="muted figures">{count}</span>
          </button>
        ))}
      </div>
      <p className="hint">{words.tagsNote}</p>
    </>
  );
}

function FromPanel({ form, set }: FieldsProps) {
  return (
    <>
      <button
        type="button"
        className="chip is-quiet"
        aria-pressed={form.from === ""}
        onClick={() => set({ from: "" })}
      >
        {words.startNow}
      </button>
      <TextField
        label={words.startsAt}
        type="datetime-local"
        value={form.from}
        onChange={(event) => set(movedStart(form, event.target.value))}
      />
    </>
  );
}

/** A later start keeps the length. */
export function movedStart({ from, end }: SilenceForm, to: string): Partial<SilenceForm> {
  const before = instantOfLocal(from, userZone);
  const after = instantOfLocal(to, userZone);
  const until = "at" in end ? instantOfLocal(end.at, userZone) : null;
  if (before === null || after === null || until === null) return { from: to };
  return { from: to, end: { at: localMinute(until + after - before, userZone) } };
}

function ToPanel({ form, set }: FieldsProps) {
  const seconds = "seconds" in form.end ? form.end.seconds : null;
  const untilAt = endOf(form, serverNow());
  return (
    <>
      <div className="silence-tags" role="group" aria-label={words.after}>
        {LENGTHS.map((length) => (
          <button
            key={length}
            type="button"
            className="chip is-quiet"
            aria-pressed={length === seconds}
            onClick={() => set({ end: { seconds: length } })}
          >
            {formatSpan(length * 1_000)}
          </button>
        ))}
      </div>
      <TextField
        label={words.endsAt}
        type="datetime-local"
        value={"at" in form.end ? form.end.at : untilAt === null ? "" : localMinute(untilAt, userZone)}
        onChange={(event) => set({ end: { at: event.target.value } })}
      />
    </>
  );
}

function OftenPanel({ form, set }: FieldsProps) {
  return (
    <>
      <div className="check-switch">
        {[false, true].map((isRecurring) => (
          <button
            key={String(isRecurring)}
            type="button"
            aria-pressed={form.isRecurring === isRecurring}
            onClick={() => set({ isRecurring })}
          >
            {isRecurring ? words.recurring : words.once}
          </button>
        ))}
      </div>
      <p className="hint">{words.recurringNote}</p>
    </>
  );
}

function SchedulePanel({ form, set }: FieldsProps) {
  const { data } = useScheduleReading(form);
  const error = data !== undefined && "error" in data ? data.error : null;
  return (
    <>
      <div className="silence-tags" role="group" aria-label={words.scheduleSamples}>
        {words.samples.map(([text, schedule]) => (
          <button
            key={schedule}
            type="button"
            className="chip is-quiet"
            aria-pressed={form.schedule.trim() === schedule}
            onClick={() => set({ schedule })}
          >
            {text}
          </button>
        ))}
      </div>
      <div className="form-pair">
        <TextField
          label={words.schedule}
          className="edit-code"
          value={form.schedule}
          onChange={(event) => set({ schedule: event.target.value })}
          spellCheck={false}
          autoComplete="off"
          error={error}
        />
        <ZoneField label={words.zone} value={form.tz} onChange={(tz) => set({ tz })} />
      </div>
    </>
  );
}

// When it ends early, and what waits after its end.

function Options({ form, set }: FieldsProps) {
  const held = form.holdAfter ?? (form.isRecurring ? RECURRING_HOLD : 0);
  const holds = HOLDS.includes(held) ? HOLDS : [...HOLDS, held].toSorted((a, b) => a - b);
  return (
    <div className="silence-options">
      {!form.isRecurring && (
        <Tick
          label={
            <>
              <b>{words.untilSuccess}</b> <span className="muted">{words.untilSuccessAbout}</span>
            </>
          }
          checked={form.untilSuccess}
          onCheckedChange={(isOn) => set({ untilSuccess: isOn === true })}
        />
      )}
      <SelectField
        label={words.holdAfter}
        hint={words.holdAfterAbout}
        value={held}
        onChange={(event) => set({ holdAfter: Number(event.target.value) })}
      >
        {holds.map((seconds) => (
          <option key={seconds} value={seconds}>
            {words.holdAfterValue(seconds)}
          </option>
        ))}
      </SelectField>
    </div>
  );
}

/** The form for a new silence of these checks. */
export function NewSilenceDrawer(props: {
  project: string;
  checks: readonly string[];
  onClose: () => void;
  onDone?: () => void;
}) {
  const { checks, ...rest } = props;
  const [start] = useState(() => newForm(checks, userZone));
  return <SilenceDrawer {...rest} start={start} edited={null} />;
}
