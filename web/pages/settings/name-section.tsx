// The name of the project: saved by a button, and shown in the rail from then on.
import { FIELD_LENGTHS } from "../../../src/contract/web/requests/sizes.ts";
import { type FormEvent, useState } from "react";
import type { ProjectSettings } from "../../../src/contract/web/project-settings.ts";
import { troubleText } from "../../api/api.ts";
import { Section } from "../../parts/section.tsx";
import { renameShown } from "../../shell/current-project.ts";
import { Button } from "../../ui/button.tsx";
import { TextField } from "../../ui/field.tsx";
import { settingsWords } from "../../words/settings.ts";
import { words as shared } from "../../words/shared.ts";
import { useChange } from "./use-settings.ts";

const words = settingsWords.name;

export function NameSection({ settings }: { settings: ProjectSettings }) {
  const [name, setName] = useState(settings.name);
  const change = useChange(settings.uuid);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const body = { name: name.trim() };
    change.mutate(
      { method: "PATCH", path: "", body, says: words.saved },
      { onSuccess: (after) => renameShown(after.uuid, after.name) },
    );
  };
  return (
    <Section title={words.title} about={words.about}>
      <form className="section-line" onSubmit={submit}>
        <TextField
          label={words.label}
          value={name}
          onChange={(event) => setName(event.target.value)}
          maxLength={FIELD_LENGTHS.projectName}
          required
          dir="auto"
          autoComplete="off"
          error={change.isError ? troubleText(change.error) : null}
        />
        <Button type="submit" isBusy={change.isPending} disabled={name.trim() === settings.name}>
          {shared.save}
        </Button>
      </form>
    </Section>
  );
}
