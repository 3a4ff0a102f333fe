// A duration to be typed: a number and its unit, with the usual ones to pick.
import { useState } from "react";
import { Field } from "../../ui/field.tsx";
import { editWords as words } from "../../words/check/edit.ts";
import { formatSpan } from "../../words/time.ts";
import { type Span, secondsOf, spanOf, type Unit } from "../span.ts";

type Props = {
  label: string;
  seconds: number;
  onChange: (seconds: number) => void;
  presets: readonly number[];
  error?: string;
};

export function SpanField({ label, seconds, onChange, presets, error }: Props) {
  const [span, setSpan] = useState<Span>(() => spanOf(seconds));
  // Another value than the one that was typed came from outside: a preset, or a suggestion.
  const shown = secondsOf(span) === seconds ? span : spanOf(seconds);
  const type = (next: Span) => {
    setSpan(next);
    onChange(secondsOf(next));
  };
  return (
    <div className="edit-span">
      <Field label={label} {...(error !== undefined && { error })}>
        {(given) => (
          <span className="edit-span-row">
            <input
              {...given}
              className="input"
              inputMode="decimal"
              value={shown.count}
              onChange={(event) => type({ ...shown, count: event.target.value })}
            />
            <select
              className="input select"
              aria-label={`${label}: ${words.unit}`}
              value={shown.unit}
              onChange={(event) => type({ ...shown, unit: event.target.value as Unit })}
            >
              {Object.entries(words.units).map(([unit, name]) => (
                <option key={unit} value={unit}>
                  {name}
                </option>
              ))}
            </select>
          </span>
        )}
      </Field>
      <div className="edit-presets" role="group" aria-label={`${label}: ${words.presets}`}>
        {presets.map((preset) => (
          <button
            key={preset}
            type="button"
            className="chip is-quiet"
            aria-pressed={preset === seconds}
            onClick={() => type(spanOf(preset))}
          >
            {formatSpan(preset * 1_000)}
          </button>
        ))}
      </div>
    </div>
  );
}
