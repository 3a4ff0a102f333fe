// The project settings: name, members, keys, transfer and audit log. Shows only what the user may do; the server
// enforces it.
import "./settings.css";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useSearchParams } from "wouter";
import { FIELD_LENGTHS } from "../../src/contract/api/limits.ts";
import type {
  InvitationBody,
  InvitationRow,
  KeyBody,
  KeyRow,
  MemberRow,
  ProjectSettings,
  RoleName,
} from "../../src/contract/api/projects.ts";
import { ApiError, call, errorText } from "../api.ts";
import { boot, siteUrl } from "../boot.ts";
import { pageHref, type PageProps, renameShown, usePageTitle } from "../page-location.ts";
import { AuditLog } from "../parts/audit-log.tsx";
import { Conflict } from "../parts/conflict.tsx";
import { AddressDialog, Confirm, ConfirmButton, LinkDialog } from "../parts/dialogs.tsx";
import { useOpen } from "../parts/hooks.ts";
import { Notice, Row, Rows, Section } from "../parts/section.tsx";
import { type Answer, TransferAnswer } from "../parts/transfer-answer.tsx";
import { ZoneField } from "../parts/zone-field.tsx";
import { Button } from "../ui/button.tsx";
import { CodeBlock } from "../ui/copy.tsx";
import { Dialog, FormActions, UnsavedGuard } from "../ui/dialog.tsx";
import { DocsLink, LearnMore } from "../ui/docs-link.tsx";
import { SelectField, TextField } from "../ui/field.tsx";
import { Queried, Tabs } from "../ui/page-state.tsx";
import { toast, toastError } from "../ui/toast.tsx";
import { Ago, Day, Until } from "../ui/when.tsx";
import { ROLE_ABOUT, ROLE_WORDS, settingsWords } from "../words/settings.ts";
import { words as shared } from "../words/shared.ts";
import { PolicySections } from "./settings-policy.tsx";

export function SettingsPage({ params }: PageProps) {
  const project = params.project ?? "";
  const query = useSettings(project);
  usePageTitle(settingsWords.tab);
  return (
    <>
      <header className="top">
        <h1>{settingsWords.tab}</h1>
        <DocsLink to="projects" />
      </header>
      <Queried query={query}>
        {(settings) => (
          <>
            <TransferRequest settings={settings} />
            {settings.may.manageMembers ? <InTabs settings={settings} /> : <Parts settings={settings} />}
          </>
        )}
      </Queried>
    </>
  );
}

/** The selected tab is part of the URL, so that the audit log can be linked to. */
function InTabs({ settings }: { settings: ProjectSettings }) {
  const [params, setParams] = useSearchParams();
  const show = (name: string) => setParams(name === "record" ? { tab: name } : {}, { replace: true });
  return (
    <div className="settings-tabs">
      <Tabs
        label={settingsWords.tabs.label}
        value={params.get("tab") === "record" ? "record" : "settings"}
        onChange={show}
        tabs={[
          { name: "settings", label: settingsWords.tabs.settings, body: <Parts settings={settings} /> },
          {
            name: "record",
            label: settingsWords.tabs.record,
            body: <AuditLog project={settings.id} />,
          },
        ]}
      />
    </div>
  );
}

function Parts({ settings }: { settings: ProjectSettings }) {
  const { may } = settings;
  return (
    <div className="sections">
      {may.rename && <NameSection key={settings.name} settings={settings} />}
      {may.rename && <ZoneSection settings={settings} />}
      <Members settings={settings} />
      <PolicySections project={settings.id} />
      {may.manageKeys && <ApiKeys settings={settings} />}
      {may.manageKeys && <PingKey settings={settings} />}
      {may.transfer && <TransferOwnership settings={settings} />}
      {may.leave && <LeaveProject settings={settings} />}
      {may.remove && <DeleteProject settings={settings} />}
    </div>
  );
}

// The settings, fetched once for the page. Every change returns them.

export function useSettings(project: string) {
  return useQuery({
    queryKey: ["settings", project],
    queryFn: ({ signal }) => call("getProject", { project }, signal),
  });
}

/** A change of the project: the request, and the message when it is done. */
export type Change = {
  send(): Promise<ProjectSettings>;
  message: string;
  undo?: () => Promise<ProjectSettings>;
};

/** Sends changes that return the settings. Each section has its own, so that only its button shows progress. */
export function useChange(project: string) {
  const setSettings = useSetSettings(project);
  return useMutation({
    mutationFn: (change: Change) => change.send(),
    onSuccess: (settings, { message, undo }) => {
      setSettings(settings);
      toast({
        text: message,
        ...(undo !== undefined && { undo: async () => setSettings(await undo()) }),
      });
    },
  });
}

/** Shows settings that are part of another response. */
export function useSetSettings(project: string): (settings: ProjectSettings) => void {
  const client = useQueryClient();
  return (settings) => {
    client.setQueryData(["settings", project], settings);
    void client.invalidateQueries({ queryKey: ["record"] });
  };
}

// Name.

const nameWords = settingsWords.name;

export function NameSection({ settings }: { settings: ProjectSettings }) {
  const [name, setName] = useState(settings.name);
  // The name when editing began, so that a rename by someone else is not overwritten.
  const [before, setBefore] = useState(settings.name);
  const change = useChange(settings.id);
  const { refetch } = useSettings(settings.id);
  const begin = (shown: string) => {
    setName(shown);
    setBefore(shown);
  };
  const isTyped = name.trim() !== before;
  if (!isTyped && before !== settings.name) begin(settings.name);
  const { error } = change;
  const conflict = error instanceof ApiError ? error.conflict : null;
  const save = (nameBefore: string) =>
    change.mutate(
      {
        send: () => call("updateProject", { project: settings.id, body: { name: name.trim(), nameBefore } }),
        message: nameWords.saved,
      },
      {
        onSuccess: (after) => {
          renameShown(after.id, after.name);
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
    <Section title={nameWords.title} about={nameWords.about}>
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
          label={nameWords.label}
          value={name}
          onChange={(event) => setName(event.target.value)}
          maxLength={FIELD_LENGTHS.projectName}
          required
          dir="auto"
          autoComplete="off"
          error={error === null || conflict !== null ? null : errorText(error)}
        />
        <Button type="submit" isBusy={change.isPending} disabled={!isTyped}>
          {shared.save}
        </Button>
        <UnsavedGuard isUnsaved={isTyped} />
      </form>
    </Section>
  );
}

// Time zone.

const zoneWords = settingsWords.zone;

export function ZoneSection({ settings }: { settings: ProjectSettings }) {
  const change = useChange(settings.id);
  const setZone = (zone: string) =>
    change.mutate(
      {
        send: () => call("updateProject", { project: settings.id, body: { zone } }),
        message: zoneWords.saved,
      },
      { onError: toastError },
    );
  return (
    <Section title={zoneWords.title} about={zoneWords.about} docs="projects">
      <ZoneField
        label={zoneWords.title}
        value={settings.zone}
        disabled={change.isPending}
        onChange={setZone}
      />
    </Section>
  );
}

// Members and invitations.

const membersWords = settingsWords.members;
const ROLES = Object.keys(ROLE_WORDS) as RoleName[];
type GivenRole = InvitationBody["role"];
const GIVEN_ROLES = Object.keys(ROLE_ABOUT) as GivenRole[];

export function Members({ settings }: { settings: ProjectSettings }) {
  const [isInviting, setInviting] = useState(false);
  const { members, invitations, may, id } = settings;
  return (
    <Section title={membersWords.title} about={membersWords.about} docs="permissions">
      <Rows label={membersWords.list}>
        {members.toSorted(byRole).map((member) => (
          <Member key={member.id} member={member} project={id} />
        ))}
      </Rows>
      {invitations.length > 0 && (
        <>
          <h3>{membersWords.invitations}</h3>
          <Rows label={membersWords.invitations}>
            {invitations.map((invitation) => (
              <Invitation key={invitation.id} invitation={invitation} project={id} />
            ))}
          </Rows>
        </>
      )}
      {may.manageMembers &&
        (settings.invitesBy === null ? (
          <p className="muted">
            {settingsWords.invite.cannotInvite} <LearnMore to="email" />
          </p>
        ) : (
          <Button onClick={() => setInviting(true)}>{membersWords.invite}</Button>
        ))}
      {isInviting && <Invite settings={settings} onClose={() => setInviting(false)} />}
    </Section>
  );
}

/** The owner first, read-only members last. */
function byRole(a: MemberRow, b: MemberRow): number {
  const rank = ({ role }: MemberRow) => ROLES.indexOf(role);
  return rank(a) - rank(b) || nameOf(a).localeCompare(nameOf(b));
}

function nameOf({ name, email }: MemberRow): string {
  return name === "" ? email : name;
}

function Member({ member, project }: { member: MemberRow; project: string }) {
  const name = nameOf(member);
  return (
    <Row
      name={name}
      mark={member.isMe ? membersWords.you : null}
      about={
        <>
          {member.name !== "" && `${member.email} · `}
          {membersWords.since} <Day at={member.since} />
        </>
      }
      acts={
        <>
          {member.mayChangeRole ? (
            <RoleChoice member={member} project={project} />
          ) : (
            <span className="settings-role">{ROLE_WORDS[member.role]}</span>
          )}
          {member.mayRemove && <RemoveMember member={member} project={project} />}
        </>
      }
    />
  );
}

/** Applies immediately, and can be undone. */
function RoleChoice({ member, project }: { member: MemberRow; project: string }) {
  const change = useChange(project);
  const name = nameOf(member);
  const give = (role: RoleName) => {
    // The owner role is not among the options.
    const sendRole = (given: RoleName) =>
      call("changeRole", { project, account: member.id, body: { role: given as GivenRole } });
    change.mutate(
      {
        send: () => sendRole(role),
        message: membersWords.roleChanged(name, ROLE_WORDS[role]),
        undo: () => sendRole(member.role),
      },
      { onError: toastError },
    );
  };
  return (
    <select
      className="input select settings-role-choice"
      aria-label={membersWords.roleOf(name)}
      value={member.role}
      disabled={change.isPending}
      onChange={(event) => give(event.target.value as RoleName)}
    >
      {GIVEN_ROLES.map((role) => (
        <option key={role} value={role} title={ROLE_ABOUT[role]}>
          {ROLE_WORDS[role]}
        </option>
      ))}
    </select>
  );
}

function RemoveMember({ member, project }: { member: MemberRow; project: string }) {
  const change = useChange(project);
  const name = nameOf(member);
  return (
    <ConfirmButton
      label={membersWords.removeOf(name)}
      title={membersWords.removeTitle(name)}
      text={membersWords.removeText}
      act={membersWords.remove}
      isBusy={change.isPending}
      error={change.error}
      onAct={() =>
        change.mutate({
          send: () => call("removeMember", { project, account: member.id }),
          message: membersWords.removed(name),
        })
      }
    />
  );
}

function Invitation({ invitation, project }: { invitation: InvitationRow; project: string }) {
  const change = useChange(project);
  const { id, email, role, invitedBy, expiresAt } = invitation;
  const withdraw = () =>
    change.mutate(
      {
        send: () => call("cancelInvitation", { project, invitation: id }),
        message: membersWords.withdrawn(email),
      },
      { onError: toastError },
    );
  return (
    <Row
      name={email}
      about={
        <>
          {ROLE_WORDS[role]} · {membersWords.invitedBy(invitedBy)} · {membersWords.ends}{" "}
          <Until at={expiresAt} />
        </>
      }
      acts={
        <Button
          kind="bare"
          aria-label={membersWords.withdrawOf(email)}
          isBusy={change.isPending}
          onClick={withdraw}
        >
          {membersWords.withdraw}
        </Button>
      }
    />
  );
}

// The invitation form. If the server sends no email, the link is shown here, once.

const inviteWords = settingsWords.invite;

export function Invite({ settings, onClose }: { settings: ProjectSettings; onClose: () => void }) {
  const setSettings = useSetSettings(settings.id);
  const [role, setRole] = useState<GivenRole>("member");
  const asked = useMutation({
    mutationFn: (body: InvitationBody) => call("inviteMember", { project: settings.id, body }),
    onSuccess: (made, { email }) => {
      setSettings(made.settings);
      if (made.link !== null) return;
      toast({ text: inviteWords.sent(email) });
      onClose();
    },
  });
  const isMailed = settings.invitesBy === "mail";
  const link = asked.data?.link ?? null;
  if (link !== null)
    return (
      <LinkDialog link={link} text={inviteWords.linkText(asked.variables?.email ?? "")} onClose={onClose} />
    );
  return (
    <AddressDialog
      title={inviteWords.title}
      text={isMailed ? inviteWords.aboutMail : inviteWords.aboutLink}
      label={inviteWords.email}
      whose="other"
      act={isMailed ? inviteWords.send : inviteWords.make}
      onAct={(email) => asked.mutate({ email, role })}
      onClose={onClose}
      isBusy={asked.isPending}
      error={asked.error}
    >
      <SelectField
        label={inviteWords.role}
        value={role}
        onChange={(event) => setRole(event.target.value as GivenRole)}
      >
        {Object.entries(ROLE_ABOUT).map(([name, about]) => (
          <option key={name} value={name}>
            {about}
          </option>
        ))}
      </SelectField>
    </AddressDialog>
  );
}

// The ping key.

const pingKeyWords = settingsWords.pingKey;

export function PingKey({ settings }: { settings: ProjectSettings }) {
  const { pingKey, id: project } = settings;
  const [asking, setAsking] = useState<"renew" | "remove" | null>(null);
  const change = useChange(project);
  const renew = { send: () => call("createPingKey", { project }), message: pingKeyWords.renewed };
  const remove = { send: () => call("deletePingKey", { project }), message: pingKeyWords.removed };
  const done = { onSuccess: () => setAsking(null) };
  const isRenewing = asking === "renew";
  return (
    <Section title={pingKeyWords.title} about={pingKeyWords.about} docs="pingUrls">
      {pingKey === null ? (
        <>
          <p className="rows-none">{pingKeyWords.none}</p>
          <Button isBusy={change.isPending} onClick={() => change.mutate(renew, { onError: toastError })}>
            {pingKeyWords.make}
          </Button>
        </>
      ) : (
        <>
          <CodeBlock text={pingKey} label={pingKeyWords.label} />
          <p className="hint settings-address">
            {pingKeyWords.address}{" "}
            <code>
              {boot.site.pingUrl}/{pingKey}/<i>name</i>
            </code>
          </p>
          <div className="section-acts">
            <Button onClick={() => setAsking("renew")}>{pingKeyWords.renew}</Button>
            <Button kind="danger" onClick={() => setAsking("remove")}>
              {pingKeyWords.remove}
            </Button>
          </div>
        </>
      )}
      <Confirm
        isOpen={asking !== null}
        onClose={() => setAsking(null)}
        title={isRenewing ? pingKeyWords.renewTitle : pingKeyWords.removeTitle}
        text={isRenewing ? pingKeyWords.renewText : pingKeyWords.removeText}
        act={isRenewing ? pingKeyWords.renew : pingKeyWords.remove}
        isBusy={change.isPending}
        error={change.error}
        onAct={() => change.mutate(isRenewing ? renew : remove, done)}
      />
    </Section>
  );
}

// API keys.

const { keys: keyWords, newKey: newWords } = settingsWords;

export function ApiKeys({ settings }: { settings: ProjectSettings }) {
  const [isMaking, setMaking] = useState(false);
  return (
    <Section title={keyWords.title} about={keyWords.about} docs="apiKeys">
      <Rows label={keyWords.list} none={keyWords.none}>
        {settings.keys.map((key) => (
          <Key key={key.id} one={key} project={settings.id} />
        ))}
      </Rows>
      <Button onClick={() => setMaking(true)}>{keyWords.make}</Button>
      {isMaking && <NewKey project={settings.id} onClose={() => setMaking(false)} />}
    </Section>
  );
}

function Key({ one, project }: { one: KeyRow; project: string }) {
  const name = one.name === "" ? keyWords.unnamed : one.name;
  return (
    <Row
      name={name}
      mark={keyWords.kinds[one.kind]}
      about={
        <>
          <code>{one.prefix}…</code> ·{" "}
          {one.lastUsedAt === null ? (
            keyWords.neverUsed
          ) : (
            <>
              {keyWords.used} <Ago at={one.lastUsedAt} />
            </>
          )}{" "}
          · {keyWords.made} <Day at={one.createdAt} />
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
      label={keyWords.revokeOf(name)}
      title={keyWords.revokeTitle(name)}
      text={keyWords.revokeText}
      act={keyWords.revoke}
      isBusy={change.isPending}
      error={change.error}
      onAct={() =>
        change.mutate({ send: () => call("revokeKey", { project, key: id }), message: keyWords.revoked })
      }
    />
  );
}

function NewKey({ project, onClose }: { project: string; onClose: () => void }) {
  const setSettings = useSetSettings(project);
  const [body, setBody] = useState<KeyBody>({ kind: "readWrite", name: "" });
  const made = useMutation({
    mutationFn: () => call("createKey", { project, body }),
    onSuccess: ({ settings }) => setSettings(settings),
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
          error={made.isError ? errorText(made.error) : null}
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
        <FormActions act={newWords.create} onClose={onClose} isBusy={made.isPending} />
      </form>
    </Dialog>
  );
}

function Made({ text, onClose }: { text: string; onClose: () => void }) {
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={newWords.createdTitle}
      description={newWords.createdText}
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

// Transfer of ownership.

const transferWords = settingsWords.transfer;

/** For the member who was asked to become the owner. */
export function TransferRequest({ settings }: { settings: ProjectSettings }) {
  const client = useQueryClient();
  const onAnswered = (answer: Answer) => {
    toast({ text: answer === "accept" ? transferWords.accepted : transferWords.declined });
    // The permissions are part of the page.
    if (answer === "accept") location.reload();
    else void client.invalidateQueries({ queryKey: ["settings", settings.id] });
  };
  if (settings.transfer?.isMine !== true) return null;
  return (
    <div className="settings-asked">
      <Notice kind="asking" title={transferWords.requestTitle}>
        <p>{transferWords.requestText}</p>
        <TransferAnswer project={settings.id} onAnswered={onAnswered} />
      </Notice>
    </div>
  );
}

/** For the owner. */
export function TransferOwnership({ settings }: { settings: ProjectSettings }) {
  const { transfer, members, id: project } = settings;
  const others = members.filter(({ isMe }) => !isMe);
  const [to, setTo] = useState("");
  const change = useChange(project);
  if (transfer !== null) {
    const cancel = {
      send: () => call("cancelTransfer", { project }),
      message: transferWords.cancelled,
    };
    return (
      <Section title={transferWords.title} about={transferWords.about} docs="projects">
        <p>{transferWords.waits(transfer.name === "" ? transfer.to : transfer.name)}</p>
        <Button isBusy={change.isPending} onClick={() => change.mutate(cancel, { onError: toastError })}>
          {transferWords.cancel}
        </Button>
      </Section>
    );
  }
  const account = to === "" ? (others[0]?.id ?? "") : to;
  const ask = {
    send: () => call("requestTransfer", { project, body: { account } }),
    message: transferWords.asked,
  };
  return (
    <Section
      title={transferWords.title}
      about={others.length === 0 ? transferWords.noMembers : transferWords.about}
      docs="projects"
    >
      {others.length > 0 && (
        <div className="section-line">
          <SelectField
            label={transferWords.to}
            value={account}
            onChange={(event) => setTo(event.target.value)}
          >
            {others.map((member) => (
              <option key={member.id} value={member.id}>
                {member.name === "" ? member.email : `${member.name} (${member.email})`}
              </option>
            ))}
          </SelectField>
          <Button isBusy={change.isPending} onClick={() => change.mutate(ask, { onError: toastError })}>
            {transferWords.ask}
          </Button>
        </div>
      )}
    </Section>
  );
}

// Leaving the project, and deleting it.

/** Loads a new page, which has the new list of projects. */
function toProjects(): void {
  location.assign(siteUrl(pageHref("projects")));
}

export function LeaveProject({ settings }: { settings: ProjectSettings }) {
  const words = settingsWords.leave;
  const [isAsking, setAsking] = useState(false);
  const left = useMutation({
    mutationFn: () => call("leaveProject", { project: settings.id }),
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

export function DeleteProject({ settings }: { settings: ProjectSettings }) {
  const words = settingsWords.remove;
  const [open, setOpen] = useOpen(["remove"]);
  const removed = useMutation({
    mutationFn: () => call("deleteProject", { project: settings.id }),
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
        onAct={() => removed.mutate()}
      />
    </Section>
  );
}
