// The ways out of a project: leaving it, and removing it with everything in it.
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import type { ProjectSettings } from "../../../src/contract/web/project-settings.ts";
import { send } from "../../api/api.ts";
import { siteUrl } from "../../boot/boot.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Section } from "../../parts/section.tsx";
import { useOpen } from "../../parts/use-open.ts";
import { pageHref } from "../../shell/page-address.ts";
import { Button } from "../../ui/button.tsx";
import { settingsWords } from "../../words/settings.ts";

/** A whole new page: the list of projects comes with it. */
function toProjects(): void {
  location.assign(siteUrl(pageHref("projects")));
}

export function Leaving({ settings }: { settings: ProjectSettings }) {
  const words = settingsWords.leave;
  const [isAsking, setAsking] = useState(false);
  const left = useMutation({
    mutationFn: () => send("POST", `/projects/${settings.uuid}/leave`, {}),
    onSuccess: toProjects,
  });
  return (
    <Section title={words.title} about={words.about}>
      <Button kind="danger" onClick={() => setAsking(true)}>
        {words.act}
      </Button>
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={words.ask(settings.name)}
        text={words.text}
        act={words.act}
        isBusy={left.isPending}
        error={left.error}
        onAct={() => left.mutate()}
      />
    </Section>
  );
}

export function Removing({ settings }: { settings: ProjectSettings }) {
  const words = settingsWords.remove;
  const [open, setOpen] = useOpen(["remove"]);
  const removed = useMutation({
    mutationFn: (name: string) => send("POST", `/projects/${settings.uuid}/remove`, { name }),
    onSuccess: toProjects,
  });
  return (
    <Section title={words.title} about={words.about}>
      <Button kind="danger" onClick={() => setOpen("remove")}>
        {words.act}
      </Button>
      <Confirm
        isOpen={open === "remove"}
        onClose={() => setOpen(null)}
        title={words.ask(settings.name)}
        text={words.text}
        act={words.act}
        typed={{ label: words.typed(settings.name), value: settings.name }}
        isBusy={removed.isPending}
        error={removed.error}
        onAct={(name) => removed.mutate(name)}
      />
    </Section>
  );
}
