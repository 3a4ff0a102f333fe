// The fields of a notification policy. Each one is inherited until it is set.
import "./policy-fields.css";
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import type { EffectivePolicy, Policy, Severity } from "../../src/contract/api/policies.ts";
import type { DocsTopic } from "../../src/contract/api/docs.ts";
import { ApiError, errorText } from "../api.ts";
import { LearnMore } from "../ui/docs-link.tsx";
import { Field, SelectField, TextField } from "../ui/field.tsx";
import { FIELD_LABELS, type PolicyField, policyWords as words } from "../words/policy.ts";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const OUTCOMES_MAX = 20;

/** The value that a field starts with when it is set. */
const FIRST: { readonly [Field in PolicyField]: NonNullable<EffectivePolicy[Field]> } = {
  failures: { count: 3, of: 3 },
  missed: 2,
  recovery: 2,
  startWithin: 10 * MINUTE,
  maxRun: HOUR,
  minRun: MINUTE,
  minGap: HOUR,
  early: 10 * MINUTE,
  dependencyWait: 2 * MINUTE,
  groupBy: ["source"],
  groupWait: 30,
  groupInterval: 5 * MINUTE,
  reopenWithin: 10 * MINUTE,
  ackTimeout: 4 * HOUR,
  repeat: HOUR,
  severity: { failed: "normal", missed: "normal" },
};

export type PolicyFieldsProps = {
  /** What is set. */
  policy: Policy;
  set: (change: { [Field in PolicyField]?: Policy[Field] | undefined }) => void;
  /** What a field says while it is not set: where its value comes from. */
  unsetText: (field: PolicyField) => string;
  errorAt: (field: PolicyField) => string | null;
  /** The checks that a check depends on; tags and projects have none. */
  dependencies?: ReactNode;
};

export function PolicyFields({ dependencies, ...props }: PolicyFieldsProps) {
  const span = (field: SpanName) => <SpanField {...props} field={field} />;
  const count = (field: "missed" | "recovery") => <CountField {...props} field={field} />;
  const { sections } = words;
  return (
    <div className="policy-fields">
      <Part title={sections.notify} docs="tolerance">
        <FailuresField {...props} />
        {count("missed")}
        {count("recovery")}
      </Part>
      <Part title={sections.repeat} docs="reminders">
        {span("repeat")}
        {span("ackTimeout")}
        {span("reopenWithin")}
        <SeverityField {...props} />
      </Part>
      <Part title={sections.runs} docs="runLimits">
        {span("startWithin")}
        {span("maxRun")}
        {span("minRun")}
        {span("minGap")}
        {span("early")}
      </Part>
      <Part title={sections.depends} docs="dependencies">
        {dependencies}
        {span("dependencyWait")}
      </Part>
      <Part title={sections.group} docs="grouping">
        <GroupField {...props} />
        {span("groupWait")}
        {span("groupInterval")}
      </Part>
    </div>
  );
}

function Part({ title, docs, children }: { title: string; docs: DocsTopic; children: ReactNode }) {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <div className="policy-part">
        <h3 id={id}>{title}</h3>
        <LearnMore to={docs} />
      </div>
      {children}
    </section>
  );
}

/** Not set, off, or set; the fields of a set value beside it. */
function Choice(
  props: PolicyFieldsProps & { field: PolicyField; offText?: string | undefined; children: ReactNode },
) {
  const { field, policy, set, unsetText, errorAt, offText, children } = props;
  const value = policy[field];
  const isOff = offText !== undefined && value === 0;
  const chosen = value === undefined ? "unset" : isOff ? "off" : "set";
  const hint = words.hints[field];
  const choose = (next: string) => {
    if (next === "unset") set({ [field]: undefined });
    else set({ [field]: next === "off" ? 0 : FIRST[field] });
  };
  return (
    <Field label={FIELD_LABELS[field]} error={errorAt(field)} {...(hint !== undefined && { hint })}>
      {(given) => (
        <span className="policy-choice">
          <select
            {...given}
            className={`input select${value === undefined ? " is-unset" : ""}`}
            value={chosen}
            onChange={(event) => choose(event.target.value)}
          >
            <option value="unset">{unsetText(field)}</option>
            {offText !== undefined && <option value="off">{offText}</option>}
            <option value="set">{words.set}</option>
          </select>
          {chosen === "set" && children}
        </span>
      )}
    </Field>
  );
}

function FailuresField(props: PolicyFieldsProps) {
  const { policy, set } = props;
  const { count, of } = policy.failures ?? FIRST.failures;
  return (
    <Choice {...props} field="failures">
      <span className="policy-value">
        <NumberInput
          label={words.numberOf(FIELD_LABELS.failures)}
          value={count}
          max={OUTCOMES_MAX}
          onChange={(next) =>
            set({ failures: { count: next, of: of === count ? next : Math.max(next, of) } })
          }
        />
        {words.failuresOf}
        <NumberInput
          label={words.failuresOf}
          value={of}
          max={OUTCOMES_MAX}
          onChange={(next) => set({ failures: { count, of: next } })}
        />
        {words.runs(of)}
      </span>
    </Choice>
  );
}

function CountField(props: PolicyFieldsProps & { field: "missed" | "recovery" }) {
  const { field, policy, set } = props;
  const value = policy[field] ?? FIRST[field];
  return (
    <Choice {...props}>
      <span className="policy-value">
        <NumberInput
          label={words.numberOf(FIELD_LABELS[field])}
          value={value}
          max={OUTCOMES_MAX}
          onChange={(next) => set({ [field]: next })}
        />
        {field === "missed" ? words.missedUnit(value) : words.recoveryUnit(value)}
      </span>
    </Choice>
  );
}

type NumberProps = { label: string; value: number; max: number; onChange: (value: number) => void };

/** While it is typed it may be empty; the last number stays. */
function NumberInput({ label, value, max, onChange }: NumberProps) {
  const [text, setText] = useState(String(value));
  const shown = Number(text) === value ? text : text === "" ? "" : String(value);
  return (
    <input
      className="input policy-number"
      type="number"
      min={1}
      max={max}
      aria-label={label}
      value={shown}
      onChange={(event) => {
        setText(event.target.value);
        const next = Math.round(Number(event.target.value));
        if (next >= 1) onChange(next);
      }}
      onBlur={() => setText(String(value))}
    />
  );
}

// Durations.

type SpanName = {
  [Field in PolicyField]: NonNullable<EffectivePolicy[Field]> extends number
    ? Field extends "missed" | "recovery"
      ? never
      : Field
    : never;
}[PolicyField];

const UNIT_SECONDS = { seconds: 1, minutes: MINUTE, hours: HOUR, days: 24 * HOUR } as const;
type Unit = keyof typeof UNIT_SECONDS;
const UNITS = Object.keys(UNIT_SECONDS) as Unit[];

/** The largest unit in which a duration is a whole number. */
export function unitOf(seconds: number): Unit {
  return (
    UNITS.findLast((unit) => seconds >= UNIT_SECONDS[unit] && seconds % UNIT_SECONDS[unit] === 0) ?? "seconds"
  );
}

function SpanField(props: PolicyFieldsProps & { field: SpanName }) {
  const { field, policy, set } = props;
  const seconds = policy[field] ?? 0;
  const [typed, setTyped] = useState<{ count: string; unit: Unit } | null>(null);
  const unit = typed?.unit ?? unitOf(seconds);
  const count = typed?.count ?? String(seconds / UNIT_SECONDS[unit]);
  const type = (next: { count: string; unit: Unit }) => {
    setTyped(next);
    const number = Number(next.count.replace(",", "."));
    const value = Math.round(number * UNIT_SECONDS[next.unit]);
    // Empty or 0 would switch it off while a number is being typed.
    if (Number.isFinite(value) && value > 0) set({ [field]: value });
  };
  const label = FIELD_LABELS[field];
  return (
    <Choice
      {...props}
      offText={words.off[field]}
      set={(change) => {
        setTyped(null);
        set(change);
      }}
    >
      <span className="policy-value">
        <input
          className="input policy-number"
          inputMode="decimal"
          aria-label={words.numberOf(label)}
          value={count}
          onChange={(event) => type({ count: event.target.value, unit })}
        />
        <select
          className="input select"
          aria-label={words.unitOf(label)}
          value={unit}
          onChange={(event) => type({ count, unit: event.target.value as Unit })}
        >
          {UNITS.map((one) => (
            <option key={one} value={one}>
              {words.units[one]}
            </option>
          ))}
        </select>
      </span>
    </Choice>
  );
}

// Severity and grouping.

const CAUSES = ["failed", "missed"] as const;
const SEVERITIES = Object.keys(words.severities) as Severity[];

function SeverityField(props: PolicyFieldsProps) {
  const { policy, set } = props;
  const severity = policy.severity ?? FIRST.severity;
  return (
    <Choice {...props} field="severity">
      <span className="policy-value is-wide">
        {CAUSES.map((cause) => (
          <SelectField
            key={cause}
            label={words.severityOf[cause]}
            value={severity[cause]}
            onChange={(event) => set({ severity: { ...severity, [cause]: event.target.value as Severity } })}
          >
            {SEVERITIES.map((one) => (
              <option key={one} value={one}>
                {words.severities[one]}
              </option>
            ))}
          </SelectField>
        ))}
      </span>
    </Choice>
  );
}

const TAG_KEY = "tag:";
const FIRST_PREFIX = "host-";

/** One way of grouping, as most projects need it. Further ones, set through the API, are kept. */
function GroupField({ policy, set, unsetText, errorAt }: PolicyFieldsProps) {
  const { groupBy } = policy;
  const [key, ...others] = groupBy ?? [];
  const kind =
    groupBy === undefined ? "unset" : key === undefined ? "off" : key.startsWith(TAG_KEY) ? "tag" : key;
  const choose = (next: string) => {
    const first = next === "tag" ? `${TAG_KEY}${FIRST_PREFIX}` : next;
    set({ groupBy: next === "unset" ? undefined : next === "off" ? [] : [first, ...others] });
  };
  return (
    <>
      <SelectField
        label={FIELD_LABELS.groupBy}
        hint={words.hints.groupBy}
        error={errorAt("groupBy")}
        className={groupBy === undefined ? "is-unset" : ""}
        value={kind}
        onChange={(event) => choose(event.target.value)}
      >
        <option value="unset">{unsetText("groupBy")}</option>
        <option value="off">{words.group.separate}</option>
        <option value="source">{words.group.source}</option>
        <option value="tag">{words.group.tag}</option>
        <option value="project">{words.group.project}</option>
      </SelectField>
      {kind === "tag" && key !== undefined && (
        <TextField
          label={words.group.prefix}
          hint={words.group.prefixHint}
          value={key.slice(TAG_KEY.length)}
          autoComplete="off"
          onChange={(event) => set({ groupBy: [`${TAG_KEY}${event.target.value.trim()}`, ...others] })}
        />
      )}
    </>
  );
}

// What a form changes.

/** The fields that differ; null where one is inherited again. */
export function policyChange(
  before: Policy,
  after: Policy,
): { [Field in PolicyField]?: Policy[Field] | null } {
  const change: Record<string, unknown> = {};
  for (const field of Object.keys(FIELD_LABELS) as PolicyField[]) {
    if (JSON.stringify(before[field]) !== JSON.stringify(after[field])) change[field] = after[field] ?? null;
  }
  return change;
}

/** A policy with changed fields; those that are undefined are inherited again. */
export function withChange(
  policy: Policy,
  change: { [Field in PolicyField]?: Policy[Field] | undefined },
): Policy {
  const entries = Object.entries({ ...policy, ...change }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries);
}

// Why a policy could not be saved.

const PRECONDITION_FAILED = 412;

/** The field that a refusal is about; null: another reason. */
export function fieldOf(trouble: unknown): string | null {
  return trouble instanceof ApiError ? (trouble.field?.split(/[./]/)[0] ?? null) : null;
}

/** On top of the form: its fields are many, and the one with the error may be out of sight. */
export function PolicyTrouble({ trouble }: { trouble: unknown }) {
  const place = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    // Newer browsers return a promise, which React would call as a cleanup function.
    place.current?.scrollIntoView({ block: "center" });
  }, [trouble]);
  if (trouble === null) return null;
  const isStale = trouble instanceof ApiError && trouble.status === PRECONDITION_FAILED;
  return (
    <p className="mistake" role="alert" ref={place}>
      {isStale ? words.stale : errorText(trouble)}
    </p>
  );
}
