// Form fields: label, hint, and the error next to the field.
import { Checkbox, Switch } from "radix-ui";
import { type ComponentProps, type ReactNode, useId } from "react";
import { words } from "../words/shared.ts";
import { Icon } from "./button.tsx";
import { type DocsTarget, LearnMore } from "./docs-link.tsx";

type FieldProps = {
  label: string;
  hint?: ReactNode;
  /** The page that explains the field. */
  docs?: DocsTarget;
  /** The error, with what to do about it; null: none. */
  error?: string | null;
  /** A warning about a value that can be saved but will not work; null: none. */
  warning?: ReactNode;
  isOptional?: boolean;
  children: (given: { id: string; "aria-describedby"?: string; "aria-invalid"?: true }) => ReactNode;
};

/** Label, control, hint and error, linked for screen readers. */
export function Field(props: FieldProps) {
  const { label, hint, docs, error = null, warning = null, isOptional = false, children } = props;
  const id = useId();
  const hasWarning = warning !== null && warning !== false;
  const noted = error !== null || hint !== undefined;
  const described = [...(noted ? [`${id}-note`] : []), ...(hasWarning ? [`${id}-warning`] : [])];
  return (
    <div className="field">
      <label htmlFor={id}>
        {label}
        {isOptional && <span className="muted"> · {words.optional}</span>}
      </label>
      {children({
        id,
        ...(described.length > 0 && { "aria-describedby": described.join(" ") }),
        ...(error !== null && { "aria-invalid": true as const }),
      })}
      {(noted || docs !== undefined) && (
        <p className={error === null ? "hint" : "mistake"}>
          {noted && (
            <span id={`${id}-note`} role={error === null ? undefined : "alert"}>
              {error ?? hint}
            </span>
          )}
          {docs !== undefined && (
            <>
              {" "}
              <LearnMore to={docs} />
            </>
          )}
        </p>
      )}
      {hasWarning && (
        <p id={`${id}-warning`} className="warning" role="status">
          {warning}
        </p>
      )}
    </div>
  );
}

type Given = Omit<FieldProps, "children">;

export function TextField(props: Given & ComponentProps<"input">) {
  const { label, hint, docs, error, warning, isOptional, ...input } = props;
  return (
    <Field {...asGiven({ label, hint, docs, error, warning, isOptional })}>
      {(given) => <input {...input} {...given} className={`input ${input.className ?? ""}`} />}
    </Field>
  );
}

export function TextArea(props: Given & ComponentProps<"textarea">) {
  const { label, hint, docs, error, isOptional, ...area } = props;
  return (
    <Field {...asGiven({ label, hint, docs, error, isOptional })}>
      {(given) => <textarea {...area} {...given} className={`input ${area.className ?? ""}`} />}
    </Field>
  );
}

/** The browser's native list: it works with every keyboard, screen reader and phone. */
export function SelectField(props: Given & ComponentProps<"select">) {
  const { label, hint, docs, error, isOptional, ...select } = props;
  return (
    <Field {...asGiven({ label, hint, docs, error, isOptional })}>
      {(given) => <select {...select} {...given} className={`input select ${select.className ?? ""}`} />}
    </Field>
  );
}

function asGiven(given: { [K in keyof Given]?: Given[K] | undefined } & { label: string }): Given {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Given;
}

/** A checkbox with its label beside it. */
export function Tick({ label, ...box }: Checkbox.CheckboxProps & { label: ReactNode }) {
  const id = useId();
  return (
    <span className="tick">
      <Checkbox.Root {...box} id={id} className="box">
        <Checkbox.Indicator className="box-mark">
          <Icon name="tick" size={12} />
        </Checkbox.Indicator>
      </Checkbox.Root>
      <label htmlFor={id}>{label}</label>
    </span>
  );
}

/** A switch that takes effect immediately. For a value that is sent with a form, use Tick. */
export function Toggle({ label, ...toggle }: Switch.SwitchProps & { label: ReactNode }) {
  const id = useId();
  return (
    <span className="tick">
      <Switch.Root {...toggle} id={id} className="toggle">
        <Switch.Thumb className="thumb" />
      </Switch.Root>
      <label htmlFor={id}>{label}</label>
    </span>
  );
}
