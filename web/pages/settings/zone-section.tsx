// The time zone of the project: a choice holds at once.
import type { ProjectSettings } from "../../../src/contract/web/project-settings.ts";
import { Section } from "../../parts/section.tsx";
import { ZoneField } from "../../parts/zone/zone-field.tsx";
import { toastTrouble } from "../../ui/toast.tsx";
import { settingsWords } from "../../words/settings.ts";
import { useChange } from "./use-settings.ts";

const words = settingsWords.zone;

export function ZoneSection({ settings }: { settings: ProjectSettings }) {
  const change = useChange(settings.uuid);
  const keep = (zone: string) =>
    change.mutate(
      { method: "PATCH", path: "", body: { zone }, says: words.saved },
      { onError: toastTrouble },
    );
  return (
    <Section title={words.title} about={words.about}>
      <ZoneField label={words.title} value={settings.zone} disabled={change.isPending} onChange={keep} />
    </Section>
  );
}
