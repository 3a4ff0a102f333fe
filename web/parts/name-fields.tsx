// Name, tags and slug, in the forms of new and existing checks.
import { TextField } from "../ui/field.tsx";
import { nameFieldWords as words } from "../words/checks.ts";

type Names = { name: string; tags: string; slug: string };

type Props = {
  form: Names;
  onChange: (change: Partial<Names>) => void;
  /** The error of a field. */
  at: (name: keyof Names) => { error?: string };
  slugHint: string;
  isSlugOptional?: boolean;
  placeholder?: string;
};

export function NameFields({ form, onChange, at, slugHint, isSlugOptional = false, placeholder }: Props) {
  return (
    <>
      <TextField
        label={words.name}
        value={form.name}
        onChange={(event) => onChange({ name: event.target.value })}
        placeholder={placeholder}
        autoComplete="off"
        dir="auto"
        {...at("name")}
      />
      <div className="form-pair">
        <TextField
          label={words.tags}
          hint={words.tagsHint}
          isOptional
          value={form.tags}
          onChange={(event) => onChange({ tags: event.target.value })}
          autoComplete="off"
          dir="auto"
          {...at("tags")}
        />
        <TextField
          label={words.slug}
          hint={slugHint}
          isOptional={isSlugOptional}
          value={form.slug}
          onChange={(event) => onChange({ slug: event.target.value })}
          autoComplete="off"
          spellCheck={false}
          {...at("slug")}
        />
      </div>
    </>
  );
}
