// The form of a channel, drawn from the fields of its kind. The server judges; its sentence stands at the field.
import { channelName } from "../../../src/contract/web/list-words.ts";
import { FIELD_LENGTHS } from "../../../src/contract/web/requests/sizes.ts";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useEffect, useState } from "react";
import type {
  ChannelCard,
  ConfigWarning,
  ConfigWarnings,
  CreatedChannel,
  KindCard,
  KindField,
} from "../../../src/contract/web/channels.ts";
import type { EditConflict } from "../../../src/contract/web/boot.ts";
import { send, Trouble, troubleText } from "../../api/api.ts";
import { Conflict } from "../../parts/conflict.tsx";
import { useSettled } from "../../parts/use-settled.ts";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextField, Tick } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";
import { channelsWords as words, fieldLabel } from "../../words/channels.ts";
import { words as shared } from "../../words/shared.ts";
import { ConfigField } from "./config-field.tsx";
import {
  configOf,
  type FormValues,
  mistakeOf,
  typedAddresses,
  valuesOf,
  type Wrong,
} from "./config-values.ts";

/** How long an address has to stand still before the server is asked about it. */
const TYPING_MS = 400;

type Props = {
  kind: KindCard;
  /** Null: a new one. */
  channel: ChannelCard | null;
  channels: readonly ChannelCard[];
  project: string;
  onDone: () => void;
  onClose: () => void;
  /** Begins anew with what the channel is now. */
  onReload: () => void;
};

export function ChannelForm(props: Props) {
  const { kind, channel, onClose, onReload } = props;
  const form = useChannelForm(props);
  if (form.made !== null) return <Made made={form.made} onClose={onClose} />;
  return (
    <Dialog
      isOpen
      onClose={onClose}
      isUnsaved={form.isUnsaved}
      title={channel === null ? words.newTitle(kind.title) : words.editTitle(channelName(channel))}
      description={kind.about}
      footer={
        <>
          <Button onClick={onClose}>{shared.cancel}</Button>
          <Button kind="primary" type="submit" form="channel-form" isBusy={form.isBusy}>
            {channel === null ? words.create : shared.save}
          </Button>
        </>
      }
    >
      <form id="channel-form" className="form" onSubmit={(event) => void form.submit(event)}>
        {form.conflict !== null && (
          <Conflict
            conflict={form.conflict}
            isBusy={form.isBusy}
            onOverwrite={() => void form.overwrite()}
            onReload={onReload}
          />
        )}
        <FormFields {...props} form={form} />
      </form>
    </Dialog>
  );
}

function useChannelForm({ kind, channel, project, onDone, onClose }: Props) {
  const [name, setName] = useState(channel?.name ?? "");
  const [begun] = useState(() => valuesOf(kind.fields, channel));
  const [values, setValues] = useState(begun);
  const [isForAll, setForAll] = useState(true);
  const [wrong, setWrong] = useState<Wrong | null>(null);
  const [conflict, setConflict] = useState<EditConflict | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [made, setMade] = useState<Record<string, string> | null>(null);
  /** Answers with the secrets that were made, to be shown once. */
  const save = async (version: number | undefined): Promise<CreatedChannel> => {
    const config = configOf(kind.fields, { values, before: channel === null ? null : begun });
    if (channel !== null) {
      const change = { ...(name !== channel.name && { name }), config, version };
      return { channel: await send<ChannelCard>("PATCH", `/channels/${channel.id}`, change), made: {} };
    }
    const body = { kind: kind.name, name, config, checks: isForAll ? "*" : [] };
    return send<CreatedChannel>("POST", `/projects/${project}/channels`, body);
  };
  const give = async (version: number | undefined) => {
    setBusy(true);
    setConflict(null);
    try {
      const saved = await save(version);
      onDone();
      toast({ text: savedText(saved.channel, channel === null) });
      if (Object.keys(saved.made).length === 0) onClose();
      else setMade(saved.made);
    } catch (error) {
      if (error instanceof Trouble && error.conflict !== null) setConflict(error.conflict);
      else setWrong(wrongOf(error, kind));
    } finally {
      setBusy(false);
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    return give(channel?.version);
  };
  const overwrite = () => give(conflict?.version);
  // A long form may have it out of sight.
  useEffect(() => {
    if (wrong !== null) document.querySelector("#channel-form .mistake")?.scrollIntoView({ block: "center" });
  }, [wrong]);
  const setValue = (field: string, value: FormValues[string]) =>
    setValues((all) => ({ ...all, [field]: value }));
  const isUnsaved = made === null && (name !== (channel?.name ?? "") || values !== begun);
  const shown = { name, setName, values, setValue, isForAll, setForAll, wrong };
  return { ...shown, isBusy, made, submit, conflict, overwrite, isUnsaved };
}

function savedText({ warnings }: ChannelCard, isNew: boolean): string {
  if (warnings.length > 0) return words.willFail;
  return isNew ? words.created : words.saved;
}

/** What the server foresees: for addresses that are typed, and for stored ones that are left as they are. */
function useWarnings({ kind, channel, project }: Props, values: FormValues): readonly ConfigWarning[] {
  const typed = useSettled(typedAddresses(kind.fields, values), TYPING_MS);
  const { data } = useQuery({
    queryKey: ["channel-warnings", project, kind.name, typed],
    queryFn: () =>
      send<ConfigWarnings>("POST", `/projects/${project}/channels/warnings`, {
        kind: kind.name,
        config: typed,
      }),
    enabled: Object.keys(typed).length > 0,
    retry: false,
    // A warning does not blink while one types on.
    placeholderData: (before) => before,
  });
  const kept = (channel?.warnings ?? []).filter(({ field }) => typed[field] === undefined);
  const foreseen = (data?.warnings ?? []).filter(({ field }) => typed[field] !== undefined);
  return [...kept, ...foreseen];
}

function FormFields(props: Props & { form: ReturnType<typeof useChannelForm> }) {
  const { kind, channel, channels, form } = props;
  const { wrong } = form;
  const warnings = useWarnings(props, form.values);
  const shown = (field: KindField) => (
    <ConfigField
      key={field.name}
      field={field}
      value={form.values[field.name] ?? ""}
      isStored={channel !== null}
      members={channels.filter((one) => one.kind !== kind.name && one.id !== channel?.id)}
      error={wrong?.field === field.name ? wrong.text : null}
      warning={warnings.find((one) => one.field === field.name)?.text ?? null}
      onChange={(value) => form.setValue(field.name, value)}
    />
  );
  const rare = kind.fields.filter(({ isRare }) => isRare);
  const isRareWrong = rare.some(({ name }) => name === wrong?.field);
  return (
    <>
      <TextField
        label={words.name}
        hint={words.nameHint}
        value={form.name}
        maxLength={FIELD_LENGTHS.channelName}
        isOptional
        dir="auto"
        onChange={(change) => form.setName(change.target.value)}
      />
      {kind.fields.filter(({ isRare }) => !isRare).map(shown)}
      {rare.length > 0 && (
        <Fold isOpenFirst={channel?.isRareUsed === true} isForced={isRareWrong}>
          {rare.map(shown)}
        </Fold>
      )}
      {channel === null && (
        <Tick
          label={words.checks}
          checked={form.isForAll}
          onCheckedChange={(checked) => form.setForAll(checked === true)}
        />
      )}
      {wrong !== null && wrong.field === null && (
        <p className="mistake" role="alert">
          {wrong.text}
        </p>
      )}
    </>
  );
}

/** What few need. It opens by itself for what is set already, and for what is wrong. */
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

function wrongOf(error: unknown, { fields }: KindCard): Wrong {
  const found = mistakeOf(troubleText(error), fields);
  const field = error instanceof Trouble ? error.field : null;
  return found.field === null && fields.some(({ name }) => name === field) ? { ...found, field } : found;
}

function Made({ made, onClose }: { made: Record<string, string>; onClose: () => void }) {
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={words.made.title}
      description={words.made.text}
      footer={
        <Button kind="primary" onClick={onClose}>
          {words.made.done}
        </Button>
      }
    >
      {Object.entries(made).map(([name, value]) => (
        <div key={name} className="field">
          <b>{fieldLabel(name)}</b>
          <CodeBlock text={value} label={fieldLabel(name)} />
        </div>
      ))}
    </Dialog>
  );
}
