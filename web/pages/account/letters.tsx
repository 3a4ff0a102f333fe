// The mails that are no alerts: reports and reminders.
import type { AccountPage } from "../../../src/contract/web/account.ts";
import { Section } from "../../parts/section.tsx";
import { SelectField } from "../../ui/field.tsx";
import { toastTrouble } from "../../ui/toast.tsx";
import { accountWords, REMINDER_WORDS, REPORT_WORDS } from "../../words/account.ts";
import { useChange } from "./use-account.ts";

const words = accountWords.mail;

export function Letters({ account }: { account: AccountPage }) {
  return (
    <Section title={words.title} about={words.about}>
      {!account.offers.mail && <p className="rows-none">{words.noMail}</p>}
      <div className="account-pair">
        <Often name="reports" label={words.reports} value={account.reports} choices={REPORT_WORDS} />
        <Often name="reminders" label={words.reminders} value={account.reminders} choices={REMINDER_WORDS} />
      </div>
    </Section>
  );
}

function Often(props: {
  name: "reports" | "reminders";
  label: string;
  value: string;
  choices: Readonly<Record<string, string>>;
}) {
  const { name, label, value, choices } = props;
  const change = useChange();
  const to = (chosen: string) =>
    ({ method: "PATCH", path: "", body: { [name]: chosen }, says: accountWords.saved }) as const;
  return (
    <SelectField
      label={label}
      value={value}
      disabled={change.isPending}
      onChange={(event) =>
        change.mutate({ ...to(event.target.value), undo: to(value) }, { onError: toastTrouble })
      }
    >
      {Object.entries(choices).map(([chosen, text]) => (
        <option key={chosen} value={chosen}>
          {text}
        </option>
      ))}
    </SelectField>
  );
}
