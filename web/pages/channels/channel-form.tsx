// The form of a channel, drawn from the fields of its kind. The server judges; its sentence stands at the field.
import { type FormEvent, useEffect, useState } from "react";
import type { ChannelCard, CreatedChannel, KindCard } from "../../../src/contract/web/channels.ts";
import { send, Trouble, troubleText } from "../../api/api.ts";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextField, Tick } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";
import { channelsWords as words, fieldLabel } from "../../words/channels.ts";
import { words as shared } from "../../words/shared.ts";
import { ConfigField } from "./config-field.tsx";
import { configOf, type FormValues, mistakeOf, valuesOf, type Wrong } from "./config-values.ts";

type Props = {
  kind: KindCard;
  /** Null: a new one. */
  channel: ChannelCard | null;
  channels: readonly ChannelCard[];
  project: string;
  onDone: () => void;
  onClose: () => void;
};

export function ChannelForm(props: Props) {
  const { kind, channel, onClose } = props;
  const form = useChannelForm(props);
  if (form.made !== null) return <Made made={form.made} onClose={onClose} />;
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={channel === null ? words.newTitle(kind.title) : words.editTitle(channel.name || kind.title)}
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
        <FormFields {...props} form={form} />
      </form>
    </Dialog>
  );
}

function useChannelForm({ kind, channel, project, onDone, onClose }: Props) {
  const [name, setName] = useState(channel?.name ?? "");
  const [values, setValues] = useState<FormValues>(() => valuesOf(kind.fields, channel));
  const [isForAll, setForAll] = useState(true);
  const [wrong, setWrong] = useState<Wrong | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [made, setMade] = useState<Record<string, string> | null>(null);
  /** Answers with the secrets that were made, to be shown once. */
  const save = async (): Promise<Record<string, string>> => {
    const config = configOf(kind.fields, { values, isNew: channel === null });
    if (channel !== null) {
      await send("PATCH", `/channels/${channel.id}`, { name, config });
      return {};
    }
    const body = { kind: kind.name, name, config, checks: isForAll ? "*" : [] };
    return (await send<CreatedChannel>("POST", `/projects/${project}/channels`, body)).made;
  };
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      const secrets = await save();
      onDone();
      toast({ text: channel === null ? words.created : words.saved });
      if (Object.keys(secrets).length === 0) onClose();
      else setMade(secrets);
    } catch (error) {
      setWrong(wrongOf(error, kind));
    } finally {
      setBusy(false);
    }
  };
  // A long form may have it out of sight.
  useEffect(() => {
    if (wrong !== null) document.querySelector("#channel-form .mistake")?.scrollIntoView({ block: "center" });
  }, [wrong]);
  const setValue = (field: string, value: FormValues[string]) =>
    setValues((all) => ({ ...all, [field]: value }));
  return { name, setName, values, setValue, isForAll, setForAll, wrong, isBusy, made, submit };
}

function FormFields(props: Props & { form: ReturnType<typeof useChannelForm> }) {
  const { kind, channel, channels, form } = props;
  const { wrong } = form;
  return (
    <>
      <TextField
        label={words.name}
        hint={words.nameHint}
        value={form.name}
        maxLength={100}
        isOptional
        dir="auto"
        onChange={(change) => form.setName(change.target.value)}
      />
      {kind.fields.map((field) => (
        <ConfigField
          key={field.name}
          field={field}
          value={form.values[field.name] ?? ""}
          isStored={channel !== null}
          members={channels.filter((one) => one.kind !== kind.name && one.id !== channel?.id)}
          error={wrong?.field === field.name ? wrong.text : null}
          onChange={(value) => form.setValue(field.name, value)}
        />
      ))}
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
