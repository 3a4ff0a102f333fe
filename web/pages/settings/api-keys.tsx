// The API keys of a project: made, shown once, and revoked.
import { FIELD_LENGTHS } from "../../../src/contract/web/requests/sizes.ts";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import type {
  KeyBody,
  KeyMade,
  KeyRow,
  ProjectSettings,
} from "../../../src/contract/web/project-settings.ts";
import { send, troubleText } from "../../api/api.ts";
import { ConfirmButton } from "../../parts/confirm.tsx";
import { Row, Rows, Section } from "../../parts/section.tsx";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/copy.tsx";
import { Dialog, FormActs } from "../../ui/dialog.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { Ago, Day } from "../../ui/when.tsx";
import { settingsWords } from "../../words/settings.ts";
import { useChange, useKeep } from "./use-settings.ts";

const { keys: words, newKey: newWords } = settingsWords;

export function ApiKeys({ settings }: { settings: ProjectSettings }) {
  const [isMaking, setMaking] = useState(false);
  return (
    <Section title={words.title} about={words.about}>
      <Rows label={words.list} none={words.none}>
        {settings.keys.map((key) => (
          <Key key={key.id} one={key} project={settings.uuid} />
        ))}
      </Rows>
      <Button onClick={() => setMaking(true)}>{words.make}</Button>
      {isMaking && <NewKey project={settings.uuid} onClose={() => setMaking(false)} />}
    </Section>
  );
}

function Key({ one, project }: { one: KeyRow; project: string }) {
  const name = one.name === "" ? words.unnamed : one.name;
  return (
    <Row
      name={name}
      mark={words.kinds[one.kind]}
      about={
        <>
          <code>{one.prefix}…</code> ·{" "}
          {one.lastUsedAt === null ? (
            words.neverUsed
          ) : (
            <>
              {words.used} <Ago at={one.lastUsedAt} />
            </>
          )}{" "}
          · {words.made} <Day at={one.createdAt} />
        </>
      }
      acts={<Revoke id={one.id} name={name} project={project} />}
    />
  );
}

function Revoke({ id, name, project }: { id: number; name: string; project: string }) {
  const change = useChange(project);
  return (
    <ConfirmButton
      label={words.revokeOf(name)}
      title={words.revokeTitle(name)}
      text={words.revokeText}
      act={words.revoke}
      isBusy={change.isPending}
      error={change.error}
      onAct={() => change.mutate({ method: "DELETE", path: `/keys/${id}`, says: words.revoked })}
    />
  );
}

function NewKey({ project, onClose }: { project: string; onClose: () => void }) {
  const keep = useKeep(project);
  const [body, setBody] = useState<KeyBody>({ kind: "readWrite", name: "" });
  const made = useMutation({
    mutationFn: () => send<KeyMade>("POST", `/projects/${project}/keys`, body),
    onSuccess: ({ settings }) => keep(settings),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    made.mutate();
  };
  if (made.data !== undefined) return <Made text={made.data.key} onClose={onClose} />;
  return (
    <Dialog
      isOpen
      onClose={onClose}
      isUnsaved={body.name !== ""}
      title={newWords.title}
      description={newWords.about}
    >
      <form className="form" onSubmit={submit}>
        <TextField
          label={newWords.name}
          isOptional
          placeholder={newWords.namePlaceholder}
          value={body.name}
          maxLength={FIELD_LENGTHS.apiKeyName}
          autoComplete="off"
          dir="auto"
          onChange={(event) => setBody({ ...body, name: event.target.value })}
          error={made.isError ? troubleText(made.error) : null}
        />
        <SelectField
          label={newWords.kind}
          value={body.kind}
          onChange={(event) => setBody({ ...body, kind: event.target.value as KeyBody["kind"] })}
        >
          {Object.entries(newWords.kinds).map(([kind, about]) => (
            <option key={kind} value={kind}>
              {about}
            </option>
          ))}
        </SelectField>
        <FormActs act={newWords.create} onClose={onClose} isBusy={made.isPending} />
      </form>
    </Dialog>
  );
}

function Made({ text, onClose }: { text: string; onClose: () => void }) {
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={newWords.madeTitle}
      description={newWords.madeText}
      footer={
        <Button kind="primary" onClick={onClose}>
          {newWords.done}
        </Button>
      }
    >
      <CodeBlock text={text} label={newWords.key} />
    </Dialog>
  );
}
