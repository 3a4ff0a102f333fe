// What others see of an account and how it sees the pages: name, time zone, theme and rows. Choices hold at once.
import { FIELD_LENGTHS } from "../../../src/contract/web/requests/sizes.ts";
import { type FormEvent, useState } from "react";
import type { AccountPage, DensityName, ThemeName } from "../../../src/contract/web/account.ts";
import { troubleText } from "../../api/api.ts";
import { browserZone } from "../../boot/boot.ts";
import { showDensity, shownDensity } from "../../boot/density.ts";
import { showTheme, useTheme } from "../../boot/theme.ts";
import { Section } from "../../parts/section.tsx";
import { ZoneField } from "../../parts/zone/zone-field.tsx";
import { Button } from "../../ui/button.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { toastTrouble } from "../../ui/toast.tsx";
import { UnsavedGuard } from "../../ui/unsaved.tsx";
import { accountWords, DENSITY_WORDS, THEME_WORDS } from "../../words/account.ts";
import { words as shared } from "../../words/shared.ts";
import { useChange } from "./use-account.ts";

const words = accountWords.profile;
/** What stands for no zone in the list. */
const AS_BROWSER = "";

export function Profile({ account }: { account: AccountPage }) {
  return (
    <Section title={words.title} about={words.about}>
      <NameForm key={account.name} account={account} />
      <div className="account-pair">
        <ZoneChoice account={account} />
        <ThemeChoice />
        <DensityChoice />
      </div>
    </Section>
  );
}

function NameForm({ account }: { account: AccountPage }) {
  const [name, setName] = useState(account.name);
  const isTyped = name.trim() !== account.name;
  const change = useChange();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate({ method: "PATCH", path: "", body: { name: name.trim() }, says: accountWords.saved });
  };
  return (
    <form className="section-line" onSubmit={submit}>
      <TextField
        label={words.name}
        value={name}
        placeholder={words.namePlaceholder}
        maxLength={FIELD_LENGTHS.accountName}
        autoComplete="name"
        dir="auto"
        onChange={(event) => setName(event.target.value)}
        error={change.isError ? troubleText(change.error) : null}
      />
      <Button type="submit" isBusy={change.isPending} disabled={!isTyped}>
        {shared.save}
      </Button>
      <UnsavedGuard isUnsaved={isTyped} />
    </form>
  );
}

function ZoneChoice({ account }: { account: AccountPage }) {
  const change = useChange();
  const keep = (chosen: string) =>
    change.mutate(
      {
        method: "PATCH",
        path: "",
        body: { zone: chosen === AS_BROWSER ? null : chosen },
        says: accountWords.saved,
      },
      // The zone that everything is shown in comes with the page.
      { onSuccess: () => location.reload(), onError: toastTrouble },
    );
  return (
    <ZoneField
      label={words.zone}
      value={account.zone ?? AS_BROWSER}
      instead={{ value: AS_BROWSER, label: words.zoneOfBrowser(browserZone) }}
      {...(account.zone === null && { hint: words.zoneOfBrowserHint })}
      disabled={change.isPending}
      onChange={keep}
    />
  );
}

function ThemeChoice() {
  const theme = useTheme();
  const change = useChange();
  const keep = (wanted: ThemeName) => {
    showTheme(wanted);
    change.mutate(
      { method: "PATCH", path: "", body: { theme: wanted }, says: accountWords.saved },
      { onError: toastTrouble },
    );
  };
  return <Choice label={words.theme} value={theme} names={THEME_WORDS} onChoose={keep} />;
}

function DensityChoice() {
  const [density, setDensity] = useState(shownDensity);
  const change = useChange();
  const show = (wanted: DensityName) => {
    showDensity(wanted);
    setDensity(wanted);
  };
  const keep = (wanted: DensityName) => {
    show(wanted);
    change.mutate(
      { method: "PATCH", path: "", body: { density: wanted }, says: accountWords.saved },
      {
        onError: (error) => {
          show(density);
          toastTrouble(error);
        },
      },
    );
  };
  return <Choice label={words.density} value={density} names={DENSITY_WORDS} onChoose={keep} />;
}

type ChoiceProps<Name extends string> = {
  label: string;
  value: Name;
  names: Readonly<Record<Name, string>>;
  onChoose: (name: Name) => void;
};

/** One of a few names. */
function Choice<Name extends string>({ label, value, names, onChoose }: ChoiceProps<Name>) {
  return (
    <SelectField label={label} value={value} onChange={(event) => onChoose(event.target.value as Name)}>
      {Object.entries<string>(names).map(([name, text]) => (
        <option key={name} value={name}>
          {text}
        </option>
      ))}
    </SelectField>
  );
}
