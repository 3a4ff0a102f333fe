// A searchable list of the checks of a project, to choose some.
import "./check-choice.css";
import { useMemo, useState } from "react";
import type { CheckRow } from "../../src/contract/api/check-row.ts";
import { checkName } from "../../src/contract/api/words.ts";
import { nameKey, searchText } from "../live/checks-store.ts";
import { Tick } from "../ui/field.tsx";
import { choiceWords as words } from "../words/checks.ts";

const SHOWN_MAX = 50;

type Props = {
  rows: readonly CheckRow[];
  chosen: readonly string[];
  label: string;
  onChange: (ids: string[]) => void;
};

export function CheckChoice({ rows, chosen, label, onChange }: Props) {
  const [text, setText] = useState("");
  // The selected ones first, as they were when the list was opened, so that rows do not move.
  const [first] = useState(() => new Set(chosen));
  const sorted = useMemo(
    () =>
      rows.toSorted(
        (a, b) => Number(first.has(b.id)) - Number(first.has(a.id)) || (nameKey(a) < nameKey(b) ? -1 : 1),
      ),
    [rows, first],
  );
  const found = sorted.filter((row) => searchText(row).includes(text.toLowerCase()));
  const isChosen = new Set(chosen);
  const toggle = (id: string, isOn: boolean) =>
    onChange(isOn ? [...chosen, id] : chosen.filter((one) => one !== id));
  return (
    <div className="check-choice">
      <FindField label={words.find} value={text} onChange={setText} />
      <ul aria-label={label}>
        {found.slice(0, SHOWN_MAX).map((row) => (
          <li key={row.id}>
            <Tick
              label={<bdi>{checkName(row)}</bdi>}
              checked={isChosen.has(row.id)}
              onCheckedChange={(isOn) => toggle(row.id, isOn === true)}
            />
          </li>
        ))}
      </ul>
      <p className="hint" role="status">
        {words.selected(chosen.length)}
        {found.length > SHOWN_MAX && ` · ${words.more(found.length - SHOWN_MAX)}`}
      </p>
    </div>
  );
}

type FindProps = { label: string; value: string; onChange: (text: string) => void };

/** A search field within a form, which Enter would send. */
export function FindField({ label, value, onChange }: FindProps) {
  return (
    <input
      className="input"
      type="search"
      aria-label={label}
      placeholder={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      onKeyDown={(event) => event.key === "Enter" && event.preventDefault()}
    />
  );
}
