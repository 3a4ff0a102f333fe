// The name of the project: saved by a button, and shown in the rail from then on.
import { FIELD_LENGTHS } from "../../../src/contract/web/requests/sizes.ts";
import { type FormEvent, useState } from "react";
import type { ProjectSettings } from "../../../src/contract/web/project-settings.ts";
import { Trouble, troubleText } from "../../api/api.ts";
import { Conflict } from "../../parts/conflict.tsx";
import { Section } from "../../parts/section.tsx";
import { renameShown } from "../../shell/current-project.ts";
import { Button } from "../../ui/button.tsx";
import { TextField } from "../../ui/field.tsx";
import { UnsavedGuard } from "../../ui/unsaved.tsx";
import { settingsWords } from "../../words/settings.ts";
import { words as shared } from "../../words/shared.ts";
import { useChange, useSettings } from "./use-settings.ts";

const words = settingsWords.name;

export function NameSection({ settings }: { settings: ProjectSettings }) {
  const [name, setName] = useState(settings.name);
  // What was there when typing began: a name that comes meanwhile is not overwritten unseen.
  const [before, setBefore] = useState(settings.name);
  const change = useChange(settings.uuid);
  const { refetch } = useSettings(settings.uuid);
  const begin = (shown: string) => {
    setName(shown);
    setBefore(shown);
  };
  const isTyped = name.trim() !== before;
  if (!isTyped && before !== settings.name) begin(settings.name);
  const { error } = change;
  const conflict = error instanceof Trouble ? error.conflict : null;
  const save = (nameBefore: string) =>
    change.mutate(
      { method: "PATCH", path: "", body: { name: name.trim(), nameBefore }, says: words.saved },
      {
        onSuccess: (after) => {
          renameShown(after.uuid, after.name);
          begin(after.name);
        },
      },
    );
  const reload = async () => {
    const { data } = await refetch();
    change.reset();
    begin(data?.name ?? settings.name);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save(before);
  };
  return (
    <Section title={words.title} about={words.about}>
      {conflict !== null && (
        <Conflict
          conflict={conflict}
          isBusy={change.isPending}
          onOverwrite={() => save(String(conflict.after["name"]))}
          onReload={() => void reload()}
        />
      )}
      <form className="section-line" onSubmit={submit}>
        <TextField
          label={words.label}
          value={name}
          onChange={(event) => setName(event.target.value)}
          maxLength={FIELD_LENGTHS.projectName}
          required
          dir="auto"
          autoComplete="off"
          error={error === null || conflict !== null ? null : troubleText(error)}
        />
        <Button type="submit" isBusy={change.isPending} disabled={!isTyped}>
          {shared.save}
        </Button>
        <UnsavedGuard isUnsaved={isTyped} />
      </form>
    </Section>
  );
}
