// Which signals count, and as what: methods, keywords and where they are looked for, and how a pause ends.
import { SelectField, TextField, Tick } from "../../../ui/field.tsx";
import { editWords as words } from "../../../words/check/edit.ts";
import type { FieldsProps as PropsOf } from "../../../parts/schedule/schedule-fields.tsx";
import type { Settings } from "./form-state.ts";

export type FieldsProps = PropsOf<Settings>;

const KEYWORDS = ["startKw", "successKw", "failureKw"] as const;
const PLACES = ["filterSubject", "filterBody", "filterHttpBody"] as const;

export function FilterFields({ form, set, at }: FieldsProps) {
  const isFiltered = PLACES.some((place) => form[place]);
  return (
    <>
      <SelectField
        label={words.methods}
        value={form.methods}
        onChange={(event) => set({ methods: event.target.value === "POST" ? "POST" : "" })}
        {...at("methods")}
      >
        <option value="">{words.anyMethod}</option>
        <option value="POST">{words.postOnly}</option>
      </SelectField>
      <fieldset className="edit-ticks">
        <legend>{words.where}</legend>
        {PLACES.map((place) => (
          <Tick
            key={place}
            label={words[place]}
            checked={form[place]}
            onCheckedChange={(checked) => set({ [place]: checked === true })}
          />
        ))}
      </fieldset>
      {isFiltered && <KeywordFields form={form} set={set} at={at} />}
      <div className="edit-ticks">
        <Tick
          label={words.manualResume}
          checked={form.manualResume}
          onCheckedChange={(checked) => set({ manualResume: checked === true })}
        />
        <p className="hint">{words.manualResumeHint}</p>
      </div>
    </>
  );
}

function KeywordFields({ form, set, at }: FieldsProps) {
  return (
    <>
      <div className="form-pair">
        {KEYWORDS.map((key) => (
          <TextField
            key={key}
            label={`${words.keywords}: ${words[key]}`}
            value={form[key]}
            onChange={(event) => set({ [key]: event.target.value })}
            autoComplete="off"
            dir="auto"
            {...at(key)}
          />
        ))}
      </div>
      <p className="hint">{words.keywordsHint}</p>
      <fieldset className="edit-ticks">
        <legend>{words.otherwise}</legend>
        <Tick
          label={words.filterDefaultFail}
          checked={form.filterDefaultFail}
          onCheckedChange={(checked) => set({ filterDefaultFail: checked === true })}
        />
      </fieldset>
    </>
  );
}
