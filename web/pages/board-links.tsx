// The share links of the wall board: the list, a dialog that creates one, and its URL, shown once.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import type { BoardLink } from "../../src/contract/api/board.ts";
import { FIELD_LENGTHS } from "../../src/contract/api/limits.ts";
import { call, errorText } from "../api.ts";
import { mayIn } from "../boot.ts";
import { pageHref } from "../page-location.ts";
import { ConfirmButton } from "../parts/dialogs.tsx";
import { Row, Rows, Section } from "../parts/section.tsx";
import { Button, ButtonLink } from "../ui/button.tsx";
import { CodeBlock } from "../ui/copy.tsx";
import { Dialog, FormActions } from "../ui/dialog.tsx";
import { TextField } from "../ui/field.tsx";
import { Queried } from "../ui/page-state.tsx";
import { toast } from "../ui/toast.tsx";
import { Ago } from "../ui/when.tsx";
import { boardLinkWords as words } from "../words/board.ts";

const keyOf = (project: string) => ["board-links", project];

export function WallBoards({ project }: { project: string }) {
  return (
    <Section title={words.title} about={words.about} docs="wallBoard">
      {mayIn(project, "manageKeys") && <Links project={project} />}
      <ButtonLink href={`${pageHref("checks", { project })}?board`}>{words.open}</ButtonLink>
    </Section>
  );
}

function Links({ project }: { project: string }) {
  const [isOpen, setOpen] = useState(false);
  const query = useQuery({
    queryKey: keyOf(project),
    queryFn: () => call("listBoardLinks", { project }),
  });
  return (
    <>
      <Queried query={query} rows={1}>
        {({ links }) => (
          <Rows label={words.list} none={words.none}>
            {links.map((link) => (
              <Link key={link.id} project={project} link={link} />
            ))}
          </Rows>
        )}
      </Queried>
      <Button onClick={() => setOpen(true)}>{words.create}</Button>
      {isOpen && <NewLink project={project} onClose={() => setOpen(false)} />}
    </>
  );
}

function Link({ project, link }: { project: string; link: BoardLink }) {
  const { name, createdAt, lastUsedAt } = link;
  return (
    <Row
      name={name}
      about={
        <>
          {words.created} <Ago at={createdAt} /> ·{" "}
          {lastUsedAt === null ? (
            words.neverUsed
          ) : (
            <>
              {words.used} <Ago at={lastUsedAt} />
            </>
          )}
        </>
      }
      acts={<Revoke project={project} link={link} />}
    />
  );
}

function Revoke({ project, link: { id, name } }: { project: string; link: BoardLink }) {
  const client = useQueryClient();
  const revoked = useMutation({
    mutationFn: () => call("revokeBoardLink", { project, link: id }),
    onSuccess: () => {
      toast({ text: words.revoked });
      return client.invalidateQueries({ queryKey: keyOf(project) });
    },
  });
  return (
    <ConfirmButton
      label={words.revokeOf(name)}
      title={words.revokeTitle(name)}
      text={words.revokeText}
      act={words.revoke}
      isBusy={revoked.isPending}
      error={revoked.error}
      onAct={() => revoked.mutate()}
    />
  );
}

function NewLink({ project, onClose }: { project: string; onClose: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const made = useMutation({
    mutationFn: () => call("createBoardLink", { project, body: { name: name.trim() } }),
    onSuccess: () => client.invalidateQueries({ queryKey: keyOf(project) }),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    made.mutate();
  };
  if (made.data !== undefined) return <Made url={made.data.url} onClose={onClose} />;
  return (
    <Dialog
      isOpen
      onClose={onClose}
      isUnsaved={name !== ""}
      title={words.dialog.title}
      description={words.dialog.about}
    >
      <form className="form" onSubmit={submit}>
        <TextField
          label={words.dialog.name}
          placeholder={words.dialog.namePlaceholder}
          value={name}
          required
          maxLength={FIELD_LENGTHS.boardLinkName}
          autoComplete="off"
          dir="auto"
          onChange={(event) => setName(event.target.value)}
          error={made.error === null ? null : errorText(made.error)}
        />
        <FormActions act={words.dialog.create} onClose={onClose} isBusy={made.isPending} />
      </form>
    </Dialog>
  );
}

function Made({ url, onClose }: { url: string; onClose: () => void }) {
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={words.made.title}
      description={words.made.text}
      footer={
        <Button kind="primary" onClick={onClose}>
          {words.made.done}
        </Button>
      }
    >
      <CodeBlock text={url} label={words.made.label} />
    </Dialog>
  );
}
