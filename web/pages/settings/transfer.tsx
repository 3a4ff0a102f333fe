// Handing a project over: its owner asks a member, and the member agrees or declines.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { ProjectSettings } from "../../../src/contract/web/project-settings.ts";
import { Notice, Section } from "../../parts/section.tsx";
import { type Answer, TransferAnswer } from "../../parts/transfer-answer.tsx";
import { Button } from "../../ui/button.tsx";
import { SelectField } from "../../ui/field.tsx";
import { toast, toastTrouble } from "../../ui/toast.tsx";
import { settingsWords } from "../../words/settings.ts";
import { useChange } from "./use-settings.ts";

const words = settingsWords.transfer;

/** For whoever was asked to take the project over. */
export function Asked({ settings }: { settings: ProjectSettings }) {
  const client = useQueryClient();
  const onAnswered = (answer: Answer) => {
    toast({ text: answer === "accept" ? words.accepted : words.declined });
    // What the person may do comes with the page.
    if (answer === "accept") location.reload();
    else void client.invalidateQueries({ queryKey: ["settings", settings.uuid] });
  };
  if (settings.transfer?.isMine !== true) return null;
  return (
    <div className="settings-asked">
      <Notice kind="asking" title={words.asksYou}>
        <p>{words.asksText}</p>
        <TransferAnswer project={settings.uuid} onAnswered={onAnswered} />
      </Notice>
    </div>
  );
}

/** For the owner. */
export function HandOver({ settings }: { settings: ProjectSettings }) {
  const { transfer, members, uuid } = settings;
  const others = members.filter(({ isMe }) => !isMe);
  const [to, setTo] = useState("");
  const change = useChange(uuid);
  if (transfer !== null) {
    const cancel = { method: "DELETE", path: "/transfer", says: words.cancelled } as const;
    return (
      <Section title={words.title} about={words.about}>
        <p>{words.waits(transfer.name === "" ? transfer.to : transfer.name)}</p>
        <Button isBusy={change.isPending} onClick={() => change.mutate(cancel, { onError: toastTrouble })}>
          {words.cancel}
        </Button>
      </Section>
    );
  }
  const account = to === "" ? (others[0]?.uuid ?? "") : to;
  const ask = { method: "POST", path: "/transfer", body: { account }, says: words.asked } as const;
  return (
    <Section title={words.title} about={others.length === 0 ? words.aboutNobody : words.about}>
      {others.length > 0 && (
        <div className="section-line">
          <SelectField label={words.to} value={account} onChange={(event) => setTo(event.target.value)}>
            {others.map((member) => (
              <option key={member.uuid} value={member.uuid}>
                {member.name === "" ? member.email : `${member.name} (${member.email})`}
              </option>
            ))}
          </SelectField>
          <Button isBusy={change.isPending} onClick={() => change.mutate(ask, { onError: toastTrouble })}>
            {words.ask}
          </Button>
        </div>
      )}
    </Section>
  );
}
