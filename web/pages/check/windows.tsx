// The small windows of the page: move to another project, clear the history, copy as code.
import { useState } from "react";
import type { CheckPage } from "../../../src/contract/web/check-page.ts";
import { boot } from "../../boot/boot.ts";
import { otherProjects } from "../../boot/rights.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { SelectField } from "../../ui/field.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { checkWords as words } from "../../words/check/page.ts";
import { codeWords } from "../../words/check/signal.ts";
import { words as shared } from "../../words/shared.ts";
import type { CheckActions } from "./actions.ts";
import { codeFor } from "./as-code.ts";

type Props = { page: CheckPage; actions: CheckActions; onClose: () => void };

export function ClearDialog({ actions, onClose }: Props) {
  const [isBusy, setBusy] = useState(false);
  const clear = async () => {
    setBusy(true);
    if (await actions.clear()) onClose();
    setBusy(false);
  };
  const { title, text, act } = words.clearAsk;
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={title}
      text={text}
      act={act}
      isBusy={isBusy}
      onAct={() => void clear()}
    />
  );
}

export function TransferDialog({ page, actions, preferred, onClose }: Props & { preferred: string }) {
  const projects = otherProjects(page.projectId);
  const [to, setTo] = useState((projects.find(({ id }) => id === preferred) ?? projects[0])?.id ?? "");
  const [isBusy, setBusy] = useState(false);
  const project = projects.find(({ id }) => id === to);
  const move = async () => {
    if (project === undefined) return;
    setBusy(true);
    if (await actions.transfer(project)) onClose();
    setBusy(false);
  };
  const { title, text, act } = words.transferAsk;
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={title}
      description={text}
      footer={
        <>
          <Button onClick={onClose}>{shared.cancel}</Button>
          <Button kind="primary" isBusy={isBusy} onClick={() => void move()}>
            {act}
          </Button>
        </>
      }
    >
      <SelectField label={words.transferAsk.to} value={to} onChange={(event) => setTo(event.target.value)}>
        {projects.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </SelectField>
    </Dialog>
  );
}

export function CodeDialog({ page, onClose }: Omit<Props, "actions">) {
  const code = codeFor(page, boot.site.url);
  const tabs = (["settings", "create", "read", "history", "deeds"] as const).map((name) => ({
    name,
    label: codeWords[name],
    body: <CodeBlock text={code[name]} label={codeWords[name]} />,
  }));
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={codeWords.title}
      description={codeWords.about}
      className="is-wide"
    >
      <Tabs tabs={tabs} label={codeWords.title} />
    </Dialog>
  );
}
