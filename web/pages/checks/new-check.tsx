// The form for a new check: a name is enough. What is expected is told as a sentence while it is typed, by the server.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import type { CheckChange } from "../../../src/contract/web/requests/checks.ts";
import type { CheckRow } from "../../../src/contract/web/check-row.ts";
import type { SchedulePreview, ScheduleRequest } from "../../../src/contract/web/history.ts";
import { send, Trouble, troubleText } from "../../api/api.ts";
import { readerZone, zoneChoices } from "../../boot/boot.ts";
import { useMinute } from "../../live/clock.ts";
import { NameFields } from "../../parts/name-fields.tsx";
import { type Span, secondsOf, type Unit, UNIT_SECONDS } from "../../parts/span.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog, FormActs } from "../../ui/dialog.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { newCheckWords } from "../../words/checks.ts";
import { formatWhen } from "../../words/time.ts";

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
  tz: readerZone,
};

/** Whose expression it is, cron's or systemd's, is seen by the server: no kind is sent with it. */
function changeOf({ name, slug, tags, kind, every, grace, schedule, tz }: Form): CheckChange {
  const shared = {
    name: name.trim(),
    // Without one the server makes it from the name.
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
  /** Many at once, instead. */
  onCrontab: () => void;
};

export function NewCheck({ project, isOpen, onClose, onMade, onCrontab }: Props) {
  const { title, about } = newCheckWords;
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title={title} description={about}>
      <NewCheckForm project={project} onClose={onClose} onMade={onMade} onCrontab={onCrontab} />
    </Dialog>
  );
}

function NewCheckForm({ project, onClose, onMade, onCrontab }: Omit<Props, "isOpen">) {
  const [form, setForm] = useState(BLANK);
  const [trouble, setTrouble] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const set = (change: Partial<Form>) => setForm((before) => ({ ...before, ...change }));
  const field = trouble instanceof Trouble ? trouble.field : null;
  const at = (...names: string[]) =>
    field !== null && names.includes(field) ? { error: troubleText(trouble) } : {};
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      onMade(await send<CheckRow>("POST", `/projects/${project}/checks`, changeOf(form)));
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
      <Preview form={form} />
      {trouble !== null && field === null && (
        <p className="mistake" role="alert">
          {troubleText(trouble)}
        </p>
      )}
      <div className="new-check-acts">
        <Button kind="bare" onClick={onCrontab}>
          {newCheckWords.crontab}
        </Button>
        <FormActs act={newCheckWords.create} onClose={onClose} isBusy={isBusy} />
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
        <ScheduleFields form={form} onChange={set} {...at("schedule", "tz", "kind")} />
      )}
      <SpanField
        label={newCheckWords.grace}
        span={form.grace}
        onChange={(grace) => set({ grace })}
        {...at("graceSeconds")}
      />
    </>
  );
}

type SpanProps = { label: string; span: Span; onChange: (span: Span) => void; error?: string };

function SpanField({ label, span, onChange, error }: SpanProps) {
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

function ScheduleFields({
  form,
  onChange,
  error,
}: {
  form: Form;
  onChange: (change: Partial<Form>) => void;
  error?: string;
}) {
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
        {...(error !== undefined && { error })}
      />
      <SelectField
        label={newCheckWords.zone}
        value={form.tz}
        onChange={(event) => onChange({ tz: event.target.value })}
      >
        {zoneChoices(readerZone).map((zone) => (
          <option key={zone}>{zone}</option>
        ))}
      </SelectField>
    </div>
  );
}

/** The sentence and the next times, as the server reads what is typed. */
function Preview({ form }: { form: Form }) {
  const now = useMinute();
  const asked: ScheduleRequest = {
    kind: form.kind,
    timeoutSeconds: secondsOf(form.every) || UNIT_SECONDS.days,
    graceSeconds: secondsOf(form.grace) || UNIT_SECONDS.hours,
    schedule: form.kind === "simple" ? "* * * * *" : form.schedule.trim(),
    tz: form.tz,
  };
  const isEmpty = form.kind !== "simple" && form.schedule.trim() === "";
  const { data } = useQuery({
    queryKey: ["schedule", asked],
    queryFn: () => send<SchedulePreview>("POST", "/schedule", asked),
    enabled: !isEmpty,
    placeholderData: keepPreviousData,
    retry: false,
  });
  if (isEmpty) return <p className="preview muted">{newCheckWords.unread}</p>;
  // What was typed before is no answer to nothing.
  if (data === undefined || asked.schedule === "") return null;
  if ("error" in data) return <p className="preview muted">{data.error}</p>;
  // No line ends between a day and its time.
  const times = data.nextAt
    .slice(0, TIMES_SHOWN)
    .map((at) => formatWhen(at, { now, zone: form.tz }).replaceAll(" ", "\u00a0"));
  return (
    <div className="preview" aria-live="polite">
      <b>{data.sentence}</b>
      {times.length > 0 && form.kind !== "simple" && (
        <span className="muted">{newCheckWords.next(times.join(" · "))}</span>
      )}
    </div>
  );
}
