// The form for a new check; only the name is required.
import { type FormEvent, useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import type { CheckRow } from "../../src/contract/api/check-row.ts";
import type { CheckChange } from "../../src/contract/api/checks.ts";
import type { ScheduleRequest } from "../../src/contract/api/history.ts";
import { checkName } from "../../src/contract/api/words.ts";
import type { DocsTopic } from "../../src/contract/api/docs.ts";
import { ApiError, call, errorText } from "../api.ts";
import { userZone } from "../boot.ts";
import { useMinute } from "../live/clock.ts";
import { pageHref } from "../page-location.ts";
import { NameFields } from "../parts/name-fields.tsx";
import {
  ExpressionRemarks,
  secondsOf,
  type Span,
  type TypedReading,
  type Unit,
  useTypedReading,
} from "../parts/schedule.tsx";
import { WaitingFor } from "../parts/waiting.tsx";
import { ZoneField } from "../parts/zone-field.tsx";
import { Button } from "../ui/button.tsx";
import { Dialog, FormActions } from "../ui/dialog.tsx";
import { LearnMore } from "../ui/docs-link.tsx";
import { TextField } from "../ui/field.tsx";
import { FuseBar, StateShape } from "../ui/marks.tsx";
import { Empty } from "../ui/page-state.tsx";
import { checksWords, firstSignalWords, newCheckWords } from "../words/checks.ts";
import { formatWhen } from "../words/format.ts";
import { waitingWords } from "../words/welcome.ts";

const TIMES_SHOWN = 10;

type Form = {
  name: string;
  slug: string;
  tags: string;
  kind: "simple" | "cron";
  every: Span;
  grace: Span;
  schedule: string;
  tz: string;
};

const BLANK: Form = {
  name: "",
  slug: "",
  tags: "",
  kind: "simple",
  every: { count: "1", unit: "days" },
  grace: { count: "1", unit: "hours" },
  schedule: "",
  tz: userZone,
};

/** The server detects whether the expression is cron's or systemd's, so no kind is sent with it. */
function changeOf({ name, slug, tags, kind, every, grace, schedule, tz }: Form): CheckChange {
  const shared = {
    name: name.trim(),
    // Without one the server derives it from the name.
    ...(slug.trim() !== "" && { slug: slug.trim() }),
    tags: tags.trim(),
    graceSeconds: secondsOf(grace),
  };
  return kind === "simple"
    ? { ...shared, kind, timeoutSeconds: secondsOf(every) }
    : { ...shared, schedule: schedule.trim(), tz };
}

type Props = {
  project: string;
  isOpen: boolean;
  onClose: () => void;
  onMade: (row: CheckRow) => void;
  /** Opens the dialog that creates checks from a crontab. */
  onCrontab: () => void;
};

export function NewCheck({ project, isOpen, onClose, onMade, onCrontab }: Props) {
  const { title, about } = newCheckWords;
  const [isUnsaved, setUnsaved] = useState(false);
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      isUnsaved={isUnsaved}
      title={title}
      description={about}
      docs="checks"
    >
      <NewCheckForm {...{ project, onClose, onMade, onCrontab }} onUnsaved={setUnsaved} />
    </Dialog>
  );
}

type FormProps = Omit<Props, "isOpen"> & { onUnsaved: (isUnsaved: boolean) => void };

function NewCheckForm({ project, onClose, onMade, onCrontab, onUnsaved }: FormProps) {
  const [form, setForm] = useState(BLANK);
  const [trouble, setTrouble] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const set = (change: Partial<Form>) => {
    setTrouble(null);
    setForm((before) => ({ ...before, ...change }));
  };
  const isUnsaved = (Object.keys(BLANK) as (keyof Form)[]).some((name) => form[name] !== BLANK[name]);
  useEffect(() => {
    onUnsaved(isUnsaved);
    return () => onUnsaved(false);
  }, [isUnsaved, onUnsaved]);
  const field = trouble instanceof ApiError ? trouble.field : null;
  const asked = askedOf(form);
  const typed = useTypedReading(asked, (change) => {
    const { schedule } = change(asked);
    if (schedule !== undefined) set({ schedule });
  });
  const at: At = (...names) => {
    const error = typed.errorAt(...names);
    if (error !== undefined) return { error };
    return field !== null && names.includes(field) ? { error: errorText(trouble) } : {};
  };
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      onMade(await call("createCheck", { project, body: changeOf(form) }));
      onClose();
    } catch (error) {
      setTrouble(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form className="form" onSubmit={(event) => void submit(event)}>
      <NewCheckFields form={form} onChange={set} at={at} />
      <ExpressionRemarks typed={typed} />
      <Preview form={form} reading={typed.reading} />
      {trouble !== null && field === null && (
        <p className="mistake" role="alert">
          {errorText(trouble)}
        </p>
      )}
      <div className="new-check-acts">
        <Button kind="bare" onClick={onCrontab}>
          {newCheckWords.crontab}
        </Button>
        <FormActions act={newCheckWords.create} onClose={onClose} isBusy={isBusy} />
      </div>
    </form>
  );
}

type At = (...names: string[]) => { error?: string };

type FieldsProps = { form: Form; onChange: (change: Partial<Form>) => void; at: At };

function NewCheckFields({ form, onChange: set, at }: FieldsProps) {
  return (
    <>
      <NameFields
        {...{ form, at }}
        onChange={set}
        slugHint={newCheckWords.slugHint}
        isSlugOptional
        placeholder={newCheckWords.namePlaceholder}
      />
      <fieldset className="choice">
        <legend>{newCheckWords.kind}</legend>
        {(["simple", "cron"] as const).map((kind) => (
          <label key={kind} className="choice-part">
            <input type="radio" name="kind" checked={form.kind === kind} onChange={() => set({ kind })} />
            {newCheckWords.kinds[kind]}
          </label>
        ))}
      </fieldset>
      {form.kind === "simple" ? (
        <SpanField
          label={newCheckWords.every}
          span={form.every}
          onChange={(every) => set({ every })}
          {...at("timeoutSeconds")}
        />
      ) : (
        <ScheduleFields form={form} onChange={set} at={at} />
      )}
      <SpanField
        label={newCheckWords.grace}
        docs="gracePeriod"
        span={form.grace}
        onChange={(grace) => set({ grace })}
        {...at("graceSeconds")}
      />
    </>
  );
}

type SpanProps = {
  label: string;
  docs?: DocsTopic;
  span: Span;
  onChange: (span: Span) => void;
  error?: string;
};

function SpanField({ label, docs, span, onChange, error }: SpanProps) {
  return (
    <div className="span-field">
      <TextField
        label={label}
        type="number"
        min="1"
        step="any"
        required
        inputMode="decimal"
        value={span.count}
        onChange={(event) => onChange({ ...span, count: event.target.value })}
        {...(docs !== undefined && { docs })}
        {...(error !== undefined && { error })}
      />
      <select
        className="input select"
        aria-label={`${label}: ${newCheckWords.unit}`}
        value={span.unit}
        onChange={(event) => onChange({ ...span, unit: event.target.value as Unit })}
      >
        {Object.entries(newCheckWords.units).map(([unit, name]) => (
          <option key={unit} value={unit}>
            {name}
          </option>
        ))}
      </select>
    </div>
  );
}

function ScheduleFields({ form, onChange, at }: FieldsProps) {
  return (
    <div className="form-pair">
      <TextField
        label={newCheckWords.schedule}
        value={form.schedule}
        placeholder={newCheckWords.schedulePlaceholder}
        onChange={(event) => onChange({ schedule: event.target.value })}
        required
        spellCheck={false}
        autoComplete="off"
        className="is-code"
        docs="schedules"
        {...at("schedule", "kind")}
      />
      <ZoneField
        label={newCheckWords.zone}
        value={form.tz}
        onChange={(tz) => onChange({ tz })}
        {...at("tz")}
      />
    </div>
  );
}

/** The request that is sent while the user types. */
function askedOf({ kind, every, grace, schedule, tz }: Form): ScheduleRequest {
  return {
    kind,
    timeoutSeconds: secondsOf(every),
    graceSeconds: secondsOf(grace),
    schedule: kind === "simple" ? "* * * * *" : schedule.trim(),
    tz,
  };
}

/** The description and the next times, as the server reads the input. */
function Preview({ form, reading }: { form: Form; reading: TypedReading["reading"] }) {
  const now = useMinute();
  if (form.kind !== "simple" && form.schedule.trim() === "") {
    return <p className="preview muted">{newCheckWords.unread}</p>;
  }
  // The error is shown next to its field.
  if (reading === undefined || "error" in reading) return null;
  // No line break between a day and its time.
  const times = reading.nextAt
    .slice(0, TIMES_SHOWN)
    .map((at) => formatWhen(at, { now, zone: reading.tz }).replaceAll(" ", "\u00a0"));
  return (
    <div className="preview" aria-live="polite">
      <b>{reading.sentence}</b>
      {times.length > 0 && form.kind !== "simple" && (
        <span className="muted">{newCheckWords.next(times.join(" · "))}</span>
      )}
    </div>
  );
}

// First steps of an empty project: create a check, and send its first ping.

type NothingYetProps = { mayEdit: boolean; onNew: () => void; onCrontab: () => void };

export function NothingYet({ mayEdit, onNew, onCrontab }: NothingYetProps) {
  if (!mayEdit) {
    return (
      <Empty title={firstSignalWords.empty} docs="checks">
        <p>{firstSignalWords.emptyReadOnly}</p>
      </Empty>
    );
  }
  return (
    <section className="nothing">
      <div>
        <h2>{firstSignalWords.empty}</h2>
        <ol className="nothing-steps">
          {firstSignalWords.steps.map((step) => (
            <li key={step}>{step}</li>
          ))}
        </ol>
        <div className="nothing-acts">
          <Button kind="primary" keys="n" onClick={onNew}>
            {checksWords.newCheck}
          </Button>
          <Button onClick={onCrontab}>{checksWords.fromCrontab}</Button>
          <LearnMore to="firstPing" />
        </div>
      </div>
      <FuseLesson />
    </section>
  );
}

const LESSON_MS = 100_000;

/** A fuse with labels for its parts, as it is shown in every row. */
function FuseLesson() {
  const { signal, expected, alert } = firstSignalWords.fuseAt;
  const fuse = { fromAt: 0, lateAt: 0.78 * LESSON_MS, alertAt: LESSON_MS };
  return (
    <figure className="lesson">
      <FuseBar row={{ state: "up", runningSince: null, fuse }} now={0.46 * LESSON_MS} size="page" />
      <span className="lesson-marks" aria-hidden="true">
        <span>{signal}</span>
        <span>{expected}</span>
        <span>{alert}</span>
      </span>
      <figcaption>{firstSignalWords.fuse}</figcaption>
    </figure>
  );
}

/**
 * The command for a check that has never been pinged: the one just created, or the only one. It stays visible after the
 * first ping, to confirm it.
 */
export function FirstSignal(props: {
  project: string;
  rows: ReadonlyMap<string, CheckRow>;
  madeId: string | null;
}) {
  const { project, rows, madeId } = props;
  const shownId = useRef<string | null>(null);
  const [only] = rows.size === 1 ? rows.values() : [];
  const id = madeId ?? shownId.current ?? (only?.state === "new" ? only.id : null);
  const row = id === null ? undefined : rows.get(id);
  if (row === undefined) return null;
  shownId.current = row.id;
  const name = checkName(row);
  const channelsOf = row.channelCount === 0 ? project : null;
  if (row.lastPingAt !== null) {
    return (
      <section className="first is-arrived" role="status">
        <StateShape state="up" size={28} />
        <div>
          <h2>{firstSignalWords.arrived(name)}</h2>
          <p>
            {channelsOf === null ? firstSignalWords.arrivedText : waitingWords.arrivedNoChannel}{" "}
            {channelsOf === null ? (
              <Link className="link" href={pageHref("check", { check: row.id })}>
                {firstSignalWords.open}
              </Link>
            ) : (
              <Link className="link" href={pageHref("channels", { project: channelsOf })}>
                {waitingWords.addChannel}
              </Link>
            )}
          </p>
        </div>
      </section>
    );
  }
  return (
    <section className="first">
      <h2>{firstSignalWords.send(name)}</h2>
      <WaitingFor check={row.id} project={project} />
    </section>
  );
}
