// The form of a channel, built from the fields of its kind. The server validates; its message is shown at the field.
import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import type { EditConflict } from "../../src/contract/api/boot.ts";
import type {
  Channel,
  ChannelKindInfo,
  ConfigWarning,
  CreatedChannel,
  NewChannel,
} from "../../src/contract/api/channels.ts";
import { FIELD_LENGTHS } from "../../src/contract/api/limits.ts";
import { channelName } from "../../src/contract/api/words.ts";
import { ApiError, call, errorText } from "../api.ts";
import { boot } from "../boot.ts";
import { Conflict } from "../parts/conflict.tsx";
import { postCommand } from "../parts/curl.ts";
import { useDebounced } from "../parts/hooks.ts";
import { StepText } from "../parts/step-text.tsx";
import { Button } from "../ui/button.tsx";
import { CodeBlock } from "../ui/copy.tsx";
import { Drawer } from "../ui/dialog.tsx";
import { LearnMore } from "../ui/docs-link.tsx";
import { SelectField, TextArea, TextField, Tick } from "../ui/field.tsx";
import { Band } from "../ui/page-state.tsx";
import { toast } from "../ui/toast.tsx";
import { channelsWords as words, fieldLabel, needsAttention, stepWords as steps } from "../words/channels.ts";
import { words as shared } from "../words/shared.ts";
import { webpushWords } from "../words/webpush.ts";
import { WebPushSetup } from "./webpush-setup.tsx";
import { Watched } from "./channel-deliveries.tsx";
import { KindIcon } from "./channel-icon.tsx";
import { MessagePreview } from "./channel-preview.tsx";
import { useChannelKinds } from "./use-channels.ts";

/** Delay after the last keystroke before the server checks a URL. */
const TYPING_MS = 400;

type ChannelFormProps = {
  kind: ChannelKindInfo;
  /** Null: a new one. */
  channel: Channel | null;
  channels: readonly Channel[];
  project: string;
  onDone: () => void;
  onClose: () => void;
  /** Opens the form of the channel that was just created. */
  onEdit?: (channel: Channel) => void;
  /** Resets the form to the current channel; of a new one there is none. */
  onReload?: () => void;
};

export function ChannelForm(props: ChannelFormProps) {
  const { kind, channel, project, onDone, onClose, onEdit, onReload } = props;
  const form = useChannelForm(props);
  const { created } = form;
  const [isCodeShown, setCodeShown] = useState(false);
  const isNew = channel === null;
  const settings = (
    <form id="channel-form" className="form" onSubmit={(event) => void form.submit(event)}>
      {form.conflict !== null && (
        <Conflict
          conflict={form.conflict}
          isBusy={form.isBusy}
          onOverwrite={() => void form.overwrite()}
          onReload={() => onReload?.()}
        />
      )}
      <FormFields {...props} form={form} />
    </form>
  );
  return (
    <Drawer
      isOpen
      onClose={onClose}
      isUnsaved={form.isUnsaved}
      className="channels-drawer"
      title={
        <span className="channels-title">
          <KindIcon kind={kind} />
          {isNew ? words.newTitle(kind.title) : words.editTitle(channelName(channel))}
        </span>
      }
      description={kind.description}
      docs={kind}
      footer={
        created === null ? (
          <>
            {isNew && (
              <Button
                kind="bare"
                className="channels-as-code"
                aria-pressed={isCodeShown}
                onClick={() => setCodeShown(!isCodeShown)}
              >
                {words.asCode}
              </Button>
            )}
            <Button onClick={onClose}>{shared.cancel}</Button>
            <Button
              kind="primary"
              type="submit"
              form="channel-form"
              isBusy={form.isBusy}
              disabled={isNew && kind.unavailable !== null}
            >
              {isNew ? words.create : shared.save}
            </Button>
          </>
        ) : (
          <>
            <Button onClick={() => onEdit?.(created.channel)}>{words.fix}</Button>
            <Button kind="primary" onClick={onClose}>
              {words.done}
            </Button>
          </>
        )
      }
    >
      {kind.unavailable !== null && <Band text={words.unavailable(kind.unavailable)} />}
      <ol className="channels-steps">
        {isNew &&
          kind.guide.map((step, index) => (
            <li key={index} className={created === null ? undefined : "is-done"}>
              <p>
                <StepText text={step} />
              </p>
            </li>
          ))}
        {created === null ? (
          <>
            <li>
              <h3>{steps.settings}</h3>
              {settings}
              {isCodeShown && <Code body={form.requested()} project={project} />}
            </li>
            <li>
              <h3>{steps.preview}</h3>
              <MessagePreview project={project} kind={kind.name} config={previewed(form, channel)} />
            </li>
          </>
        ) : (
          <Created {...created} project={project} onDone={onDone} />
        )}
      </ol>
    </Drawer>
  );
}

/** The request that creates the channel, as a command. */
function Code({ body, project }: { body: NewChannel; project: string }) {
  const block = useRef<HTMLDivElement>(null);
  // Its button is far below the form.
  useEffect(() => {
    // Newer browsers return a promise, which React would call as a cleanup function.
    block.current?.scrollIntoView({ block: "nearest" });
  }, []);
  const url = `${boot.site.url}/api/overdue/v1/projects/${project}/channels`;
  return (
    <div ref={block}>
      <CodeBlock text={postCommand(url, body)} label={words.asCode} />
    </div>
  );
}

/** What the form has so far. A secret that stays unchanged is given as it is shown. */
function previewed(
  { fields, values }: { fields: readonly KindField[]; values: FormValues },
  channel: Channel | null,
): Record<string, unknown> {
  const config = configOf(fields, { values, before: null });
  const kept = fields.filter(({ name, isSecret }) => isSecret && channel !== null && isBlank(values[name]));
  return { ...config, ...Object.fromEntries(kept.map(({ name }) => [name, channel?.config[name]])) };
}

function isBlank(value: FormValues[string] | undefined): boolean {
  return value === undefined || value === "";
}

/** After a channel was created: its generated secrets, and a test. */
function Created(props: CreatedChannel & { project: string; onDone: () => void }) {
  const { channel, generated, project, onDone } = props;
  const test = useMutation({ mutationFn: () => call("testChannel", { channel: channel.id }) });
  const start = useRef<HTMLButtonElement>(null);
  // The button that had the focus is gone.
  useEffect(() => start.current?.focus(), []);
  const secrets = Object.entries(generated);
  return (
    <>
      <li className="is-done">
        <h3>{steps.saved}</h3>
        {channel.isVerified === false && !channel.notifies && <p>{steps.confirm}</p>}
        {channel.warnings.map(({ field, text }) => (
          <p key={field} className="warning">
            {text}
          </p>
        ))}
        {secrets.length > 0 && (
          <section className="form" aria-label={words.generated.title}>
            <p>
              <b>{words.generated.title}.</b> {words.generated.text}
            </p>
            {secrets.map(([name, value]) => (
              <div key={name} className="field">
                <b>{fieldLabel(name)}</b>
                <CodeBlock text={value} label={fieldLabel(name)} />
              </div>
            ))}
          </section>
        )}
      </li>
      <li>
        <h3>{steps.test}</h3>
        <p>
          <Button ref={start} isBusy={test.isPending} onClick={() => test.mutate()}>
            {words.test}
          </Button>
        </p>
        {test.isError && (
          <p className="mistake" role="alert">
            {errorText(test.error)}
          </p>
        )}
        {test.data?.deliveries.map((delivery) => (
          <Watched key={delivery.id} project={project} first={delivery} onDone={onDone} />
        ))}
      </li>
    </>
  );
}

function useChannelForm({ kind, channel, project, onDone, onClose }: ChannelFormProps) {
  const fields = useMemo(() => fieldsOf(kind), [kind]);
  const [name, setName] = useState(channel?.name ?? "");
  const [begun] = useState(() => valuesOf(fields, channel));
  const [values, setValues] = useState(begun);
  const [isForAll, setForAll] = useState(true);
  const [wrong, setWrong] = useState<Wrong | null>(null);
  const [conflict, setConflict] = useState<EditConflict | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [created, setCreated] = useState<CreatedChannel | null>(null);
  /** A new channel, without the settings that have their default value. */
  const requested = (): NewChannel => ({
    kind: kind.name,
    name,
    config: configOf(fields, { values, before: begun }),
    checks: isForAll ? "*" : [],
  });
  /** Returns generated secrets, which are shown once. */
  const save = async (version: number | undefined): Promise<CreatedChannel> => {
    const config = configOf(fields, { values, before: channel === null ? null : begun });
    if (channel !== null) {
      const change = {
        ...(name !== channel.name && { name }),
        config,
        ...(version !== undefined && { version }),
      };
      return { channel: await call("updateChannel", { channel: channel.id, body: change }), generated: {} };
    }
    return call("createChannel", { project, body: { ...requested(), config } });
  };
  const give = async (version: number | undefined) => {
    setBusy(true);
    setConflict(null);
    try {
      const saved = await save(version);
      onDone();
      if (channel === null) {
        setCreated(saved);
        return;
      }
      const text = needsAttention(channel) ? words.savedAgain : words.saved;
      toast({ text: saved.channel.warnings.length > 0 ? words.willFail : text });
      onClose();
    } catch (error) {
      if (error instanceof ApiError && error.conflict !== null) setConflict(error.conflict);
      else setWrong(wrongOf(error, fields));
    } finally {
      setBusy(false);
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    return give(channel?.version);
  };
  const overwrite = () => give(conflict?.version);
  // In a long form it may be out of sight.
  useEffect(() => {
    if (wrong !== null) document.querySelector("#channel-form .mistake")?.scrollIntoView({ block: "center" });
  }, [wrong]);
  const setValue = (field: string, value: FormValues[string]) =>
    setValues((all) => ({ ...all, [field]: value }));
  const isUnsaved = created === null && (name !== (channel?.name ?? "") || values !== begun);
  const shown = { fields, name, setName, values, setValue, isForAll, setForAll, wrong };
  return { ...shown, isBusy, created, submit, conflict, overwrite, isUnsaved, requested };
}

/** The server's warnings, for URLs that are typed and for stored ones that stay unchanged. */
function useWarnings(
  { kind, channel, project }: ChannelFormProps,
  { fields, values }: { fields: readonly KindField[]; values: FormValues },
): readonly ConfigWarning[] {
  const typed = useDebounced(typedUrls(fields, values), TYPING_MS);
  const { data } = useQuery({
    queryKey: ["channel-warnings", project, kind.name, typed],
    queryFn: () => call("checkChannelConfig", { project, body: { kind: kind.name, config: typed } }),
    enabled: Object.keys(typed).length > 0,
    retry: false,
    // A warning does not flicker while the user types.
    placeholderData: (before) => before,
  });
  const kept = (channel?.warnings ?? []).filter(({ field }) => typed[field] === undefined);
  const foreseen = (data?.warnings ?? []).filter(({ field }) => typed[field] !== undefined);
  return [...kept, ...foreseen];
}

function FormFields(props: ChannelFormProps & { form: ReturnType<typeof useChannelForm> }) {
  const { kind, channel, channels, form } = props;
  const { fields, wrong } = form;
  const warnings = useWarnings(props, form);
  const shown = (field: KindField) => (
    <ConfigField
      key={field.name}
      field={field}
      kind={kind}
      value={form.values[field.name] ?? ""}
      isStored={channel !== null}
      members={channels.filter((one) => one.kind !== kind.name && one.id !== channel?.id)}
      error={wrong?.field === field.name ? wrong.text : null}
      warning={warnings.find((one) => one.field === field.name)?.text ?? null}
      onChange={(value) => form.setValue(field.name, value)}
    />
  );
  const advanced = fields.filter(({ isAdvanced }) => isAdvanced);
  const plain = fields.filter(({ isAdvanced }) => !isAdvanced);
  // Where the messages go comes first, what is sent comes after the name.
  const isDestination = ({ type }: KindField) => type !== "number" && type !== "flag";
  const isAdvancedWrong = advanced.some(({ name }) => name === wrong?.field);
  // The browser provides the configuration; nothing is typed.
  const isSubscription = kind.name === "webpush";
  const isMissing = isSubscription && channel === null && form.values["endpoint"] === "";
  return (
    <>
      {isSubscription && (
        <WebPushSetup
          onSubscribed={(config) => {
            for (const [field, value] of Object.entries(config)) form.setValue(field, value);
          }}
        />
      )}
      {!isSubscription && plain.filter(isDestination).map(shown)}
      <TextField
        label={words.name}
        hint={words.nameHint}
        value={form.name}
        maxLength={FIELD_LENGTHS.channelName}
        isOptional
        dir="auto"
        onChange={(change) => form.setName(change.target.value)}
      />
      {plain.filter((field) => !isDestination(field)).map(shown)}
      {advanced.length > 0 && (
        <Fold isOpenFirst={usesAdvanced(fields, channel)} isForced={isAdvancedWrong}>
          {advanced.map(shown)}
        </Fold>
      )}
      {channel === null && (
        <Tick
          label={words.checks}
          checked={form.isForAll}
          onCheckedChange={(checked) => form.setForAll(checked === true)}
        />
      )}
      {wrong !== null && (wrong.field === null || isSubscription) && (
        <p className="mistake" role="alert">
          {isMissing ? webpushWords.first : wrong.text}
        </p>
      )}
    </>
  );
}

/** Advanced fields. Opens if one of them is set or has an error. */
function Fold(props: { isOpenFirst: boolean; isForced: boolean; children: ReactNode }) {
  const [isOpen, setOpen] = useState(props.isOpenFirst);
  return (
    <details
      className="channels-fold"
      open={isOpen || props.isForced}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>{words.more}</summary>
      <div className="form">{props.children}</div>
    </details>
  );
}

function wrongOf(error: unknown, fields: readonly KindField[]): Wrong {
  const found = mistakeOf(errorText(error), fields);
  const field = error instanceof ApiError ? error.field : null;
  return found.field === null && fields.some(({ name }) => name === field) ? { ...found, field } : found;
}

// The fields of a form, from the schema of the kind.

export type KindField = {
  name: string;
  label: string;
  description: string;
  type: "text" | "url" | "number" | "flag" | "choice" | "headers" | "channels";
  /** Longer than a line. */
  isLong: boolean;
  isSecret: boolean;
  /** Left blank, it is generated and shown once. */
  isGenerated: boolean;
  isRequired: boolean;
  /** Rarely needed. */
  isAdvanced: boolean;
  choices: string[];
  /** The default; null: none. */
  initial: unknown;
};

/** The part of JSON Schema that configurations are made of. */
type SchemaField = {
  type?: string;
  description?: string;
  enum?: readonly unknown[];
  default?: unknown;
  maxLength?: number;
  pattern?: string;
  format?: string;
  writeOnly?: boolean;
  "x-made"?: string;
};

const TYPES: Readonly<Record<string, KindField["type"]>> = {
  string: "text",
  integer: "number",
  boolean: "flag",
  array: "channels",
  object: "headers",
};

/** Longer texts get more than a line. In characters. */
const LINE_LENGTH_MAX = 1_000;

export function fieldsOf({ schema }: Pick<ChannelKindInfo, "schema">): KindField[] {
  return Object.entries(schema.properties).map(([name, given]) => fieldOf(name, given as SchemaField));
}

function fieldOf(name: string, field: SchemaField): KindField {
  const plain = field.format === "uri" ? "url" : (TYPES[field.type ?? "string"] ?? "text");
  const isLong = (field.maxLength ?? 0) > LINE_LENGTH_MAX;
  const isRequired = field.default === undefined;
  return {
    name,
    label: fieldLabel(name, field),
    description: field.description ?? "",
    type: field.enum === undefined ? plain : "choice",
    isLong,
    isSecret: field.writeOnly === true,
    isGenerated: field["x-made"] !== undefined,
    isRequired,
    isAdvanced: !isRequired && (isLong || plain === "headers" || name.endsWith("_notice")),
    choices: field.enum?.map(String) ?? [],
    initial: field.default ?? null,
  };
}

/** Whether an advanced field of a channel has another value than its default. */
export function usesAdvanced(fields: readonly KindField[], channel: Channel | null): boolean {
  return fields.some(
    ({ name, isAdvanced, initial }) =>
      isAdvanced &&
      channel !== null &&
      JSON.stringify(channel.config[name] ?? initial) !== JSON.stringify(initial),
  );
}

// One field, by its type.

type Value = FormValues[string];

type ConfigFieldProps = {
  field: KindField;
  kind: ChannelKindInfo;
  value: Value;
  /** A stored channel exists, so a secret may stay unchanged. */
  isStored: boolean;
  members: readonly Channel[];
  error: string | null;
  /** The server's warning about a URL. */
  warning: string | null;
  onChange: (value: Value) => void;
};

function ConfigField(props: ConfigFieldProps) {
  const { field, kind, value, isStored, members, error, warning, onChange } = props;
  const { label } = field;
  if (field.type === "flag") {
    return (
      <Tick
        label={field.description.replace(/\.$/, "")}
        checked={value === true}
        onCheckedChange={(on) => onChange(on === true)}
      />
    );
  }
  if (field.type === "channels") {
    return <Members {...{ label, members, error, onChange }} chosen={Array.isArray(value) ? value : []} />;
  }
  const given = {
    label,
    hint: hintOf(field, isStored),
    ...((field.isSecret || isTemplate(field)) && { docs: kind }),
    error,
    isOptional: !field.isRequired,
    value: String(value),
    onChange: (change: { target: { value: string } }) => onChange(change.target.value),
  };
  if (field.type === "choice") {
    return (
      <SelectField {...given} isOptional={false}>
        {field.choices.map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </SelectField>
    );
  }
  if (field.isLong || field.type === "headers") return <TextArea {...given} rows={3} spellCheck={false} />;
  const type = field.type === "url" ? "url" : field.type === "number" ? "number" : "text";
  return (
    <TextField
      {...given}
      warning={
        warning !== null && (
          <>
            {warning} <LearnMore to="privateAddresses" />
          </>
        )
      }
      type={type}
      autoComplete="off"
      spellCheck={false}
    />
  );
}

function Members(props: {
  label: string;
  members: readonly Channel[];
  chosen: readonly string[];
  error: string | null;
  onChange: (value: string[]) => void;
}) {
  const { label, members, chosen, error, onChange } = props;
  const titles = new Map(useChannelKinds().data?.map(({ name, title }) => [name, title]));
  const turn = (id: string, isOn: boolean) =>
    onChange(isOn ? [...chosen, id] : chosen.filter((one) => one !== id));
  return (
    <fieldset className="field channels-members">
      <legend>{label}</legend>
      {members.length === 0 && <p className="hint">{words.membersNone}</p>}
      {members.map((member) => (
        <Tick
          key={member.id}
          label={`${channelName(member)} (${titles.get(member.kind) ?? member.kind})`}
          checked={chosen.includes(member.id)}
          onCheckedChange={(on) => turn(member.id, on === true)}
        />
      ))}
      {error !== null && (
        <p className="mistake" role="alert">
          {error}
        </p>
      )}
    </fieldset>
  );
}

function isTemplate({ name }: Pick<KindField, "name">): boolean {
  return name.startsWith("body_");
}

function hintOf({ name, description, isSecret, isGenerated, type }: KindField, isStored: boolean): string {
  return [
    // The form says below what happens if the field is left blank.
    isGenerated ? description.replace(/(?<=\.) .*/, "") : description,
    type === "headers" ? words.headersHint : "",
    isTemplate({ name }) ? words.bodyHint : "",
    isSecret && isStored ? words.secretKept : "",
    isGenerated && !isStored ? words.secretGenerated : "",
  ]
    .filter((text) => text !== "")
    .join(" ");
}

// Converts a configuration between the form (texts and flags) and the server (typed values).

/** The values of the form, by field. */
export type FormValues = Record<string, string | boolean | string[]>;

/** The initial values of the form: stored values that may be shown, or the defaults of the kind. */
export function valuesOf(fields: readonly KindField[], channel: Channel | null): FormValues {
  return Object.fromEntries(
    fields.map((field) => [field.name, shownValue(field, storedValue(field, channel))]),
  );
}

/** A secret is never shown, so its field starts empty. */
function storedValue({ name, isSecret, initial }: KindField, channel: Channel | null): unknown {
  if (channel === null) return initial;
  return isSecret ? null : (channel.config[name] ?? initial);
}

function shownValue({ type, choices }: KindField, value: unknown): FormValues[string] {
  if (type === "flag") return value === true;
  if (type === "channels") return Array.isArray(value) ? value.map(String) : [];
  if (type === "headers") return headersText(value);
  if (type === "choice") return typeof value === "string" ? value : (choices[0] ?? "");
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

/** The URLs in the form, by their fields. */
export function typedUrls(fields: readonly KindField[], values: FormValues): Record<string, string> {
  return Object.fromEntries(
    fields
      .filter(({ type }) => type === "url")
      .map(({ name }) => [name, String(values[name] ?? "").trim()] as const)
      .filter(([, text]) => text !== ""),
  );
}

/**
 * The configuration to send. For an existing channel only the changed fields, so that two users do not overwrite each
 * other's changes; a secret that was left empty stays as it is stored. `before` null: it is new.
 */
export function configOf(
  fields: readonly KindField[],
  { values, before }: { values: FormValues; before: FormValues | null },
): Record<string, unknown> {
  const isSame = (name: string) => JSON.stringify(values[name]) === JSON.stringify(before?.[name]);
  const sent = fields.filter(({ name }) => before === null || !isSame(name));
  return Object.fromEntries(sent.map((field) => [field.name, typedValue(field, values[field.name])]));
}

function typedValue({ type }: KindField, value: FormValues[string] | undefined): unknown {
  if (type === "number") return Number(value);
  if (type === "headers") return headersOf(String(value ?? ""));
  return value;
}

function headersText(value: unknown): string {
  if (typeof value !== "object" || value === null) return "";
  return Object.entries(value)
    .map(([name, text]) => `${name}: ${String(text)}`)
    .join("\n");
}

/** "Name: value" on each line; a line without a colon is a name without a value, which the server refuses. */
function headersOf(text: string): Record<string, string> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return colon === -1 ? [line.trim(), ""] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
    }),
  );
}

/** What is wrong, and with which field; null: with no field. */
export type Wrong = { text: string; field: string | null };

/** The server's message begins with the name of the field; it is replaced by the label. */
export function mistakeOf(text: string, fields: readonly KindField[]): Wrong {
  const lower = text.toLowerCase();
  const found = fields.find(({ name }) => lower.startsWith(`${name} `));
  if (found === undefined) return { text, field: null };
  return { text: found.label + text.slice(found.name.length), field: found.name };
}
