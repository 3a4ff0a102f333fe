// The people of a project and those who are invited: their roles, and the ways in and out.
import { useState } from "react";
import type {
  InvitationRow,
  MemberRow,
  ProjectSettings,
  RoleName,
} from "../../../src/contract/web/project-settings.ts";
import { ConfirmButton } from "../../parts/confirm.tsx";
import { Row, Rows, Section } from "../../parts/section.tsx";
import { Button } from "../../ui/button.tsx";
import { toastTrouble } from "../../ui/toast.tsx";
import { Day, Until } from "../../ui/when.tsx";
import { ROLE_ABOUT, ROLE_WORDS, settingsWords } from "../../words/settings.ts";
import { Invite } from "./invite.tsx";
import { useChange } from "./use-settings.ts";

const words = settingsWords.members;
const ROLES = Object.keys(ROLE_WORDS) as RoleName[];
const GIVEN_ROLES = Object.keys(ROLE_ABOUT) as Exclude<RoleName, "owner">[];

export function Members({ settings }: { settings: ProjectSettings }) {
  const [isInviting, setInviting] = useState(false);
  const { members, invitations, may, uuid } = settings;
  return (
    <Section title={words.title} about={words.about}>
      <Rows label={words.list}>
        {members.toSorted(byRole).map((member) => (
          <Member key={member.uuid} member={member} project={uuid} />
        ))}
      </Rows>
      {invitations.length > 0 && (
        <>
          <h3>{words.invitations}</h3>
          <Rows label={words.invitations}>
            {invitations.map((invitation) => (
              <Invitation key={invitation.uuid} invitation={invitation} project={uuid} />
            ))}
          </Rows>
        </>
      )}
      {may.manageMembers &&
        (settings.invitesBy === null ? (
          <p className="muted">{settingsWords.invite.nobody}</p>
        ) : (
          <Button onClick={() => setInviting(true)}>{words.invite}</Button>
        ))}
      {isInviting && <Invite settings={settings} onClose={() => setInviting(false)} />}
    </Section>
  );
}

/** The owner first, and whoever may only look last. */
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
      mark={member.isMe ? words.you : null}
      about={
        <>
          {member.name !== "" && `${member.email} · `}
          {words.since} <Day at={member.since} />
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

/** Holds at once, and can be taken back. */
function RoleChoice({ member, project }: { member: MemberRow; project: string }) {
  const change = useChange(project);
  const name = nameOf(member);
  const path = `/members/${member.uuid}`;
  const give = (role: string) => {
    const says = words.roleChanged(name, ROLE_WORDS[role as RoleName]);
    const undo = { method: "PATCH", path, body: { role: member.role }, says } as const;
    change.mutate({ method: "PATCH", path, body: { role }, says, undo }, { onError: toastTrouble });
  };
  return (
    <select
      className="input select settings-role-choice"
      aria-label={words.roleOf(name)}
      value={member.role}
      disabled={change.isPending}
      onChange={(event) => give(event.target.value)}
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
  const path = `/members/${member.uuid}`;
  return (
    <ConfirmButton
      label={words.removeOf(name)}
      title={words.removeTitle(name)}
      text={words.removeText}
      act={words.remove}
      isBusy={change.isPending}
      error={change.error}
      onAct={() => change.mutate({ method: "DELETE", path, says: words.removed(name) })}
    />
  );
}

function Invitation({ invitation, project }: { invitation: InvitationRow; project: string }) {
  const change = useChange(project);
  const { uuid, email, role, invitedBy, expiresAt } = invitation;
  const withdraw = () =>
    change.mutate(
      { method: "DELETE", path: `/invitations/${uuid}`, says: words.withdrawn(email) },
      { onError: toastTrouble },
    );
  return (
    <Row
      name={email}
      about={
        <>
          {ROLE_WORDS[role]} · {words.invitedBy(invitedBy)} · {words.ends} <Until at={expiresAt} />
        </>
      }
      acts={
        <Button kind="bare" aria-label={words.withdrawOf(email)} isBusy={change.isPending} onClick={withdraw}>
          {words.withdraw}
        </Button>
      }
    />
  );
}
