// One field of a channel's configuration, by its type.
import { channelName } from "../../../src/contract/web/list-words.ts";
import type { ChannelCard, KindField } from "../../../src/contract/web/channels.ts";
import { SelectField, TextArea, TextField, Tick } from "../../ui/field.tsx";
import { channelsWords as words, fieldLabel } from "../../words/channels.ts";
import type { FormValues } from "./config-values.ts";

type Value = FormValues[string];

type Props = {
  field: KindField;
  value: Value;
  /** There is a stored channel, so that a secret may stay as it is. */
  isStored: boolean;
  members: readonly ChannelCard[];
  error: string | null;
  /** What the server foresees for an address. */
  warning: string | null;
  onChange: (value: Value) => void;
};

export function ConfigField(props: Props) {
  const { field, value, isStored, members, error, warning, onChange } = props;
  const label = fieldLabel(field.name);
  if (field.type === "flag") {
    return (
      <Tick label={field.about} checked={value === true} onCheckedChange={(on) => onChange(on === true)} />
    );
  }
  if (field.type === "channels") {
    return <Members {...{ label, members, error, onChange }} chosen={Array.isArray(value) ? value : []} />;
  }
  const given = {
    label,
    hint: hintOf(field, isStored),
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
  const type = field.type === "address" ? "url" : field.type === "number" ? "number" : "text";
  return <TextField {...given} warning={warning} type={type} autoComplete="off" spellCheck={false} />;
}

function Members(props: {
  label: string;
  members: readonly ChannelCard[];
  chosen: readonly string[];
  error: string | null;
  onChange: (value: string[]) => void;
}) {
  const { label, members, chosen, error, onChange } = props;
  const turn = (id: string, isOn: boolean) =>
    onChange(isOn ? [...chosen, id] : chosen.filter((one) => one !== id));
  return (
    <fieldset className="field channels-members">
      <legend>{label}</legend>
      {members.length === 0 && <p className="hint">{words.membersNone}</p>}
      {members.map((member) => (
        <Tick
          key={member.id}
          label={`${channelName(member)} (${member.kind})`}
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

function hintOf({ name, about, isSecret, isMade, type }: KindField, isStored: boolean): string {
  return [
    // What becomes of one that is left out is said below, in the words of a form.
    isMade ? about.replace(/(?<=\.) .*/, "") : about,
    type === "headers" ? words.headersHint : "",
    name.startsWith("body_") ? words.bodyHint : "",
    isSecret && isStored ? words.secretKept : "",
    isMade && !isStored ? words.secretMade : "",
  ]
    .filter((text) => text !== "")
    .join(" ");
}
