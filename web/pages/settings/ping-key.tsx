// The ping key of a project, by which jobs name their check instead of knowing its UUID.
import { useState } from "react";
import type { ProjectSettings } from "../../../src/contract/web/project-settings.ts";
import { boot } from "../../boot/boot.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Section } from "../../parts/section.tsx";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/copy.tsx";
import { toastTrouble } from "../../ui/toast.tsx";
import { settingsWords } from "../../words/settings.ts";
import { useChange } from "./use-settings.ts";

const words = settingsWords.pingKey;
const RENEW = { method: "POST", path: "/ping-key", body: {}, says: words.renewed } as const;
const REMOVE = { method: "DELETE", path: "/ping-key", says: words.removed } as const;

export function PingKey({ settings }: { settings: ProjectSettings }) {
  const { pingKey, uuid } = settings;
  const [asking, setAsking] = useState<"renew" | "remove" | null>(null);
  const change = useChange(uuid);
  const done = { onSuccess: () => setAsking(null) };
  const isRenewing = asking === "renew";
  return (
    <Section title={words.title} about={words.about}>
      {pingKey === null ? (
        <>
          <p className="rows-none">{words.none}</p>
          <Button isBusy={change.isPending} onClick={() => change.mutate(RENEW, { onError: toastTrouble })}>
            {words.make}
          </Button>
        </>
      ) : (
        <>
          <CodeBlock text={pingKey} label={words.label} />
          <p className="hint settings-address">
            {words.address}{" "}
            <code>
              {boot.site.pingUrl}/{pingKey}/<i>name</i>
            </code>
          </p>
          <div className="section-acts">
            <Button onClick={() => setAsking("renew")}>{words.renew}</Button>
            <Button kind="danger" onClick={() => setAsking("remove")}>
              {words.remove}
            </Button>
          </div>
        </>
      )}
      <Confirm
        isOpen={asking !== null}
        onClose={() => setAsking(null)}
        title={isRenewing ? words.renewTitle : words.removeTitle}
        text={isRenewing ? words.renewText : words.removeText}
        act={isRenewing ? words.renew : words.remove}
        isBusy={change.isPending}
        error={change.error}
        onAct={() => change.mutate(isRenewing ? RENEW : REMOVE, done)}
      />
    </Section>
  );
}
