// The edit form of a check. The server reads the schedule while it is typed, and previews changes on the check's
// history.
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useEffect, useId, useState } from "react";
import type { CheckPage } from "../../src/contract/api/check-page.ts";
import type { Replay, ReplayedAlert, ScheduleRequest } from "../../src/contract/api/history.ts";
import { checkName } from "../../src/contract/api/words.ts";
import { ApiError, call, checkKey, errorText, isNotFound, refreshCheck } from "../api.ts";
import { boot } from "../boot.ts";
import { Conflict } from "../parts/conflict.tsx";
import { useDebounced } from "../parts/hooks.ts";
import { NameFields } from "../parts/name-fields.tsx";
import {
  type FieldsProps as PropsOf,
  PreviewPanel,
  ScheduleFields,
  scheduleOf,
  useReading,
} from "../parts/schedule.tsx";
import { Button, Icon } from "../ui/button.tsx";
import { CodeBlock } from "../ui/copy.tsx";
import { Drawer } from "../ui/dialog.tsx";
import { LearnMore } from "../ui/docs-link.tsx";
import { SelectField, TextArea, TextField, Tick } from "../ui/field.tsx";
import { toast } from "../ui/toast.tsx";
import { When } from "../ui/when.tsx";
import { codeWords } from "../words/check.ts";
import { editWords, missedText, replayWords } from "../words/schedule.ts";
import { words as shared } from "../words/shared.ts";
import { GoneNote } from "./check-gone.tsx";

type EditDrawerProps = {
  page: CheckPage;
  onClose: () => void;
  /** The check was deleted while the form was open. */
  isGone: boolean;
  /** Whether there are unsaved changes. */
  onUnsaved: (isUnsaved: boolean) => void;
};

export function EditDrawer(props: EditDrawerProps) {
  // A new key resets the form to the current check.
  const [round, setRound] = useState(0);
  return <EditForm key={round} {...props} onReload={() => setRound((was) => was + 1)} />;
}

function EditForm({
  page,
  isGone,
  onUnsaved,
  onReload,
  onClose,
}: EditDrawerProps & { onReload: () => void }) {
  // The check when the form was opened, so that changes from the stream are not overwritten.
  const [{ settings: before, version }] = useState(page);
  const [form, setForm] = useState(before);
  const [isCodeShown, setCodeShown] = useState(false);
  const { save, trouble, forget, isBusy } = useSaving(page, { before, version, onClose });
  const formId = useId();
  const set: FieldsProps["set"] = (change) => {
    forget();
    setForm((was) => changed(was, change));
  };
  const field = trouble instanceof ApiError ? trouble.field : null;
  const conflict = trouble instanceof ApiError ? trouble.conflict : null;
  const at: FieldsProps["at"] = (...names) =>
    field !== null && (names as string[]).includes(field) ? { error: errorText(trouble) } : {};
  const change = changeOf(before, form);
  const isChanged = Object.keys(change).length > 0;
  useEffect(() => {
    onUnsaved(isChanged);
    return () => onUnsaved(false);
  }, [isChanged, onUnsaved]);
  const client = useQueryClient();
  const reload = async () => {
    await refreshCheck(client, page.row.id);
    onReload();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isGone) return;
    if (isChanged) void save(change);
    else onClose();
  };
  const line = changeLine(isChanged ? change : before, { id: page.row.id, siteUrl: boot.site.url });
  return (
    <Drawer
      isOpen
      onClose={onClose}
      isUnsaved={isChanged}
      title={editWords.title(checkName(page.row))}
      docs="checks"
      className="edit-drawer"
      footer={
        <Foot
          {...{ formId, isBusy, isCodeShown, onClose }}
          isChanged={isChanged && !isGone}
          onCode={() => setCodeShown((was) => !was)}
        />
      }
    >
      <form id={formId} className="form edit-form" onSubmit={submit} noValidate>
        {isGone && <GoneNote page={page} />}
        {conflict !== null && !isGone && (
          <Conflict
            conflict={conflict}
            isBusy={isBusy}
            onOverwrite={() => void save(change, conflict.version)}
            onReload={() => void reload()}
          />
        )}
        {isCodeShown && <CodeBlock text={line} label={codeWords.change} />}
        <AboutFields form={form} set={set} at={at} />
        <h3>{editWords.sections.when}</h3>
        <ScheduleFields form={form} set={set} at={at} preview={<PreviewPanel asked={scheduleOf(form)} />} />
        {isOtherSchedule(before, form) && !isGone && (
          <ScheduleReplay
            id={page.row.id}
            asked={scheduleOf(form)}
            onGrace={(graceSeconds) => set({ graceSeconds })}
          />
        )}
        <h3>{editWords.sections.counts}</h3>
        <FilterFields form={form} set={set} at={at} />
        {trouble !== null && field === null && conflict === null && (
          <p className="mistake" role="alert">
            {errorText(trouble)}
          </p>
        )}
      </form>
    </Drawer>
  );
}

function changed(was: Settings, change: Parameters<FieldsProps["set"]>[0]): Settings {
  return { ...was, ...(typeof change === "function" ? change(was) : change) };
}

type FootProps = {
  formId: string;
  isBusy: boolean;
  isChanged: boolean;
  isCodeShown: boolean;
  onCode: () => void;
  onClose: () => void;
};

function Foot({ formId, isBusy, isChanged, isCodeShown, onCode, onClose }: FootProps) {
  return (
    <>
      <Button kind="bare" aria-pressed={isCodeShown} onClick={onCode}>
        {editWords.asCode}
      </Button>
      <span className="edit-space" />
      <Button onClick={onClose}>{shared.cancel}</Button>
      <Button kind="primary" type="submit" form={formId} isBusy={isBusy} disabled={!isChanged}>
        {shared.save}
      </Button>
    </>
  );
}

type Saved = { before: Settings; version: number; onClose: () => void };

function useSaving(page: CheckPage, { before, version, onClose }: Saved) {
  const client = useQueryClient();
  const [trouble, setTrouble] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const { id } = page.row;
  const put = async (change: Partial<Settings>, based: number) => {
    const row = await call("updateCheck", { check: id, body: change, ifMatch: based });
    await refreshCheck(client, id);
    return row;
  };
  const save = async (change: Partial<Settings>, based = version) => {
    setBusy(true);
    setTrouble(null);
    try {
      const row = await put(change, based);
      const back = changeOf({ ...before, ...change }, before);
      // Changes that other users have saved since are not undone with it.
      const saved = client.getQueryData<CheckPage>(checkKey(id))?.version ?? based;
      toast({ text: editWords.saved(checkName(row)), undo: () => put(back, saved) });
      onClose();
    } catch (error) {
      setTrouble(error);
      // The page shows the result.
      if (isNotFound(error)) void refreshCheck(client, id);
    } finally {
      setBusy(false);
    }
  };
  const forget = () =>
    setTrouble((was: unknown) => (was instanceof ApiError && was.conflict !== null ? was : null));
  return { save, trouble, forget, isBusy };
}

function AboutFields({ form, set, at }: FieldsProps) {
  return (
    <>
      <NameFields form={form} onChange={set} at={at} slugHint={editWords.slugHint} />
      <TextArea
        label={editWords.desc}
        hint={editWords.descHint}
        isOptional
        value={form.desc}
        onChange={(event) => set({ desc: event.target.value })}
        dir="auto"
        {...at("desc")}
      />
    </>
  );
}

// Methods, keywords, and how a pause ends.

export type FieldsProps = PropsOf<Settings>;

const KEYWORDS = ["startKw", "successKw", "failureKw"] as const;
const PLACES = ["filterSubject", "filterBody", "filterHttpBody"] as const;

function FilterFields({ form, set, at }: FieldsProps) {
  const isFiltered = PLACES.some((place) => form[place]);
  return (
    <>
      <SelectField
        label={editWords.methods}
        docs="pings"
        value={form.methods}
        onChange={(event) => set({ methods: event.target.value === "POST" ? "POST" : "" })}
        {...at("methods")}
      >
        <option value="">{editWords.anyMethod}</option>
        <option value="POST">{editWords.postOnly}</option>
      </SelectField>
      <fieldset className="edit-ticks">
        <legend>{editWords.where}</legend>
        {PLACES.map((place) => (
          <Tick
            key={place}
            label={editWords[place]}
            checked={form[place]}
            onCheckedChange={(checked) => set({ [place]: checked === true })}
          />
        ))}
      </fieldset>
      {isFiltered && <KeywordFields form={form} set={set} at={at} />}
      <div className="edit-ticks">
        <Tick
          label={editWords.manualResume}
          checked={form.manualResume}
          onCheckedChange={(checked) => set({ manualResume: checked === true })}
        />
        <p className="hint">{editWords.manualResumeHint}</p>
      </div>
    </>
  );
}

function KeywordFields({ form, set, at }: FieldsProps) {
  return (
    <>
      <div className="form-pair">
        {KEYWORDS.map((key) => (
          <TextField
            key={key}
            label={`${editWords.keywords}: ${editWords[key]}`}
            value={form[key]}
            onChange={(event) => set({ [key]: event.target.value })}
            autoComplete="off"
            dir="auto"
            {...at(key)}
          />
        ))}
      </div>
      <p className="hint">
        {editWords.keywordsHint} <LearnMore to="keywords" />
      </p>
      <fieldset className="edit-ticks">
        <legend>{editWords.withoutKeyword}</legend>
        <Tick
          label={editWords.filterDefaultFail}
          checked={form.filterDefaultFail}
          onCheckedChange={(checked) => set({ filterDefaultFail: checked === true })}
        />
      </fieldset>
    </>
  );
}

// The preview: the check's history under the old and the new settings.

const TYPING_MS = 500;
const ALERTS_SHOWN = 12;

type ReplayProps = { id: string; asked: ScheduleRequest; onGrace: (seconds: number) => void };

function ScheduleReplay({ id, asked, onGrace }: ReplayProps) {
  const settled = useDebounced(asked, TYPING_MS);
  const reading = useReading(settled);
  const isRead = reading.data !== undefined && !reading.isPlaceholderData && !("error" in reading.data);
  const { data, isError } = useQuery({
    queryKey: ["replay", id, settled],
    queryFn: () => call("replayCheck", { check: id, body: settled }),
    enabled: isRead,
    placeholderData: keepPreviousData,
    retry: false,
  });
  // The error is already shown next to the schedule.
  if (isError || (reading.data !== undefined && "error" in reading.data)) return null;
  return (
    <section className="edit-replay" aria-live="polite" aria-label={replayWords.title}>
      <h3>{replayWords.title}</h3>
      {data === undefined ? (
        <p className="muted">{replayWords.reading}</p>
      ) : data.runCount === 0 ? (
        <p className="muted">{replayWords.none}</p>
      ) : (
        <ReplayOutcome replay={data} graceSeconds={settled.graceSeconds} onGrace={onGrace} />
      )}
    </section>
  );
}

type OutcomeProps = {
  replay: Replay;
  /** Without these, no other grace period is suggested. */
  graceSeconds?: number;
  onGrace?: (seconds: number) => void;
};

export function ReplayOutcome({ replay, graceSeconds, onGrace }: OutcomeProps) {
  const { before, after, runCount, missedCount, proposedGraceSeconds } = replay;
  const isSame = before.length === after.length && before.every(({ at }, index) => at === after[index]?.at);
  return (
    <>
      <p>
        {replayWords.over(runCount)}{" "}
        <b>{isSame ? replayWords.same(after.length) : replayWords.instead(after.length, before.length)}</b>,{" "}
        <span className={missedCount > 0 ? "edit-missed" : undefined}>
          {missedCount > 0 && <Icon name="warn" size={14} />}
          {missedText(replay)}
        </span>
        .
      </p>
      {onGrace !== undefined && proposedGraceSeconds !== null && proposedGraceSeconds !== graceSeconds && (
        <p className="edit-quiet">
          <Button onClick={() => onGrace(proposedGraceSeconds)}>
            {replayWords.suggestGrace(proposedGraceSeconds)}
          </Button>
          <span className="muted">{replayWords.suggestGraceReason}</span>
        </p>
      )}
      {!isSame && (
        <details>
          <summary>{replayWords.alerts}</summary>
          <div className="edit-alerts">
            <Alerts title={replayWords.before} alerts={before} />
            <Alerts title={replayWords.after} alerts={after} />
          </div>
        </details>
      )}
    </>
  );
}

function Alerts({ title, alerts }: { title: string; alerts: readonly ReplayedAlert[] }) {
  return (
    <div>
      <h4>{title}</h4>
      <ul>
        {alerts.length === 0 && <li className="muted">{replayWords.noAlerts}</li>}
        {alerts
          .toReversed()
          .slice(0, ALERTS_SHOWN)
          .map(({ at }) => (
            <li key={at}>
              <When at={at} />
            </li>
          ))}
        {alerts.length > ALERTS_SHOWN && <li className="muted">+{alerts.length - ALERTS_SHOWN}</li>}
      </ul>
    </div>
  );
}

// Fields of the form, and the changes to send.

export type Settings = CheckPage["settings"];

const WHEN: readonly (keyof Settings)[] = ["kind", "timeoutSeconds", "schedule", "tz"];

/** The changed fields as the server takes them: a schedule is sent with its kind. */
export function changeOf(before: Settings, after: Settings): Partial<Settings> {
  const change: Partial<Settings> = {};
  const put = (key: keyof Settings) => Object.assign(change, { [key]: after[key] });
  for (const key of Object.keys(after) as (keyof Settings)[]) {
    if (before[key] !== after[key] && counts(key, after)) put(key);
  }
  if (WHEN.some((key) => key in change)) {
    put("kind");
    if (after.kind === "simple") put("timeoutSeconds");
    else {
      put("schedule");
      put("tz");
    }
  }
  return change;
}

/** The server keeps the fields of the other kind of schedule. */
function counts(key: keyof Settings, { kind }: Settings): boolean {
  return kind === "simple" ? key !== "schedule" && key !== "tz" : key !== "timeoutSeconds";
}

/** Whether a changed field can be simulated on the history. */
export function isOtherSchedule(before: Settings, after: Settings): boolean {
  const change = changeOf(before, after);
  return "kind" in change || "graceSeconds" in change;
}

// The form as curl commands for the Management API, version 3.

type Fields = Record<string, string | number | boolean>;

/** The name of each setting in the API. */
const NAMES: Readonly<Record<Exclude<keyof Settings, "kind">, string>> = {
  name: "name",
  slug: "slug",
  tags: "tags",
  desc: "desc",
  timeoutSeconds: "timeout",
  graceSeconds: "grace",
  schedule: "schedule",
  tz: "tz",
  manualResume: "manual_resume",
  methods: "methods",
  startKw: "start_kw",
  successKw: "success_kw",
  failureKw: "failure_kw",
  filterSubject: "filter_subject",
  filterBody: "filter_body",
  filterHttpBody: "filter_http_body",
  filterDefaultFail: "filter_default_fail",
};

/** Settings as the API names them; only the active one of period and schedule. */
function apiFields(settings: Partial<Settings>): Fields {
  const skipped = settings.kind === "simple" ? ["schedule", "tz"] : ["timeoutSeconds"];
  const fields: Fields = {};
  for (const [key, name] of Object.entries(NAMES)) {
    const value = settings[key as keyof typeof NAMES];
    if (value !== undefined && !(settings.kind !== undefined && skipped.includes(key))) fields[name] = value;
  }
  return fields;
}

/** A change of a check. */
export function changeLine(
  change: Partial<Settings>,
  { id, siteUrl }: { id: string; siteUrl: string },
): string {
  return sending("POST", `${siteUrl}/api/v3/checks/${id}`, apiFields(change));
}

export function codeFor({ row, settings, channels }: CheckPage, siteUrl: string) {
  const own = `${siteUrl}/api/v3/checks/${row.id}`;
  const assigned = channels.filter(({ isOn }) => isOn).map(({ id }) => id);
  const all: Fields = { ...apiFields(settings), channels: assigned.join(",") };
  // Empty or disabled values are the defaults of a new check.
  const given = Object.fromEntries(
    Object.entries(all).filter(([, value]) => value !== "" && value !== false),
  );
  return {
    read: asking(own),
    settings: sending("POST", own, all),
    create: sending("POST", `${siteUrl}/api/v3/checks/`, given),
    history: [asking(`${own}/pings/`), asking(`${own}/flips/`)].join("\n\n"),
    deeds: [sending("POST", `${own}/pause`, null), sending("POST", `${own}/resume`, null)].join("\n\n"),
  };
}

/** Not called OVERDUE_…: the server refuses to start with an unknown variable of that prefix. */
const KEY = '-H "X-Api-Key: $API_KEY"';

function asking(url: string): string {
  return `curl -fsS -m 10 ${KEY} \\\n  ${url}`;
}

function sending(method: string, url: string, fields: Fields | null): string {
  if (fields === null) return `curl -fsS -m 10 -X ${method} ${KEY} -d '' \\\n  ${url}`;
  // A quote inside single quotes ends them; this is how a shell escapes it.
  const json = JSON.stringify(fields, null, 2).replaceAll("'", "'\\''");
  return `curl -fsS -m 10 -X ${method} ${KEY} \\\n  -H "Content-Type: application/json" \\\n  ${url} \\\n  -d '${json}'`;
}
