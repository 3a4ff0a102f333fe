// Who may bring people into a project, and take them out: on top of what a role may do at all, which is access.ts.
import { mayDo, mayRemoveMember, type Role } from "../access.ts";

/** What somebody can be invited as, or become. There is one owner, and only a transfer makes another. */
export type GivenRole = Exclude<Role, "owner">;

/** Members of a project; beyond it nobody can be invited. */
export const MEMBERS_MAX = 500;
/** Projects that one account may own. */
export const PROJECTS_OWNED_MAX = 500;
export const API_KEYS_MAX = 50;
export const PASSKEYS_MAX = 20;

/** Whether somebody may give a role: managers make no managers' superiors, and nobody makes owners. */
export function mayGiveRole(giver: Role, role: Role): boolean {
  return mayDo(giver, "manageMembers") && role !== "owner";
}

/** Whoever has sent an invitation, as they are now: their role in its project, and whether they run the installation. */
export type Inviter = { role: Role | null; isOperator: boolean };

/**
 * Whether an invitation still stands: whoever has sent it would have to be able to send it now. Null: the command line
 * has. `role` null: it is into the installation and no project of it.
 */
export function doesInvitationStand(inviter: Inviter | null, { role }: { role: GivenRole | null }): boolean {
  if (inviter === null) return true;
  if (role === null) return inviter.isOperator;
  return inviter.role !== null && mayGiveRole(inviter.role, role);
}

/** How an invitation gets to whom it is for: by mail, or by a link that whoever invites passes on. */
export type InvitingBy = "mail" | "link";

/**
 * How somebody who may invite does it; null: not at all. A link that goes through the inviter's hands makes accounts
 * for addresses that nobody has proven, so that where no mail is sent only operators get one.
 */
export function invitesBy({
  sendsMail,
  isOperator,
}: {
  sendsMail: boolean;
  isOperator: boolean;
}): InvitingBy | null {
  if (sendsMail) return "mail";
  return isOperator ? "link" : null;
}

/** Whether one member may change what another is. */
export function mayChangeRole(changer: Role, member: { role: Role; isChanger: boolean }): boolean {
  return mayRemoveMember(changer, { role: member.role, isRemover: member.isChanger });
}

/** Whether somebody may be asked to take a project over: members only, and not its owner. */
export function mayBeAsked(member: { role: Role } | null): boolean {
  return member !== null && member.role !== "owner";
}

export type ClosingAccount = {
  isOperator: boolean;
  operatorCount: number;
  /** Names of owned projects in which others are members, too. */
  sharedProjects: readonly string[];
};

/** What stands in the way of closing an account, as a sentence; null: nothing. */
export function closingObstacle({
  isOperator,
  operatorCount,
  sharedProjects,
}: ClosingAccount): string | null {
  if (isOperator && operatorCount <= 1) {
    return "This is the only admin account. Make another account an admin first.";
  }
  if (sharedProjects.length === 0) return null;
  const names = sharedProjects.map((name) => `“${name}”`).join(", ");
  return `You own projects with other members: ${names}. Transfer or delete them first.`;
}
