// Handing a project over: its owner asks a member, and the member accepts or declines.
import { mayBeAsked, PROJECTS_OWNED_MAX } from "../../core/accounts/member-rules.ts";
import { AppError } from "../../core/errors.ts";
import type { Instant } from "../../core/instant.ts";
import {
  deleteTransfer,
  findTransfer,
  listMembers,
  lockProject,
  type Member,
  writeRole,
  writeTransfer,
} from "../../store/accounts/members.ts";
import { countOwnedProjects } from "../../store/accounts/project-changes.ts";
import { type Account, findAccountById, type Project } from "../../store/accounts/projects.ts";
import { countChecks } from "../../store/checks/check-rows.ts";
import { countChecksOwnedBy } from "../../store/checks/check-search.ts";
import { lockOwnedChecks } from "../../store/checks/checks.ts";
import type { Database } from "../../store/db.ts";
import type { Tx } from "../../store/transaction.ts";
import { inRetriedTransaction } from "../changing/retried.ts";
import { audit } from "./audit.ts";
import { mailTransfer } from "./mail.ts";
import { endInvitationsBy } from "./members.ts";

export type TransferChange = { project: Project; actorId: number; now: Instant };

async function ownerOf(tx: Tx, { project, actorId }: TransferChange): Promise<{ members: Member[] }> {
  await lockProject(tx, project.id);
  const members = await listMembers(tx, project.id);
  if (members.find(({ accountId }) => accountId === actorId)?.role !== "owner") {
    throw new AppError("forbidden", "Only the owner can transfer a project.");
  }
  return { members };
}

/** Asks a member to take a project over. AppError `invalid` for whoever is none. */
export async function askToTakeOver(
  database: Database,
  change: TransferChange & { toUuid: string; byMail: boolean },
): Promise<void> {
  const { project, actorId, now, toUuid, byMail } = change;
  await inRetriedTransaction(database, async (tx) => {
    const { members } = await ownerOf(tx, change);
    const member = members.find(({ uuid }) => uuid === toUuid) ?? null;
    if (member === null || !mayBeAsked(member)) {
      throw new AppError("invalid", "You can transfer a project only to one of its members.");
    }
    await writeTransfer(tx, { projectId: project.id, toAccountId: member.accountId, createdAt: now });
    if (byMail) await mailTransfer(tx, { accountId: member.accountId, projectUuid: project.uuid, at: now });
    const by = { projectId: project.id, accountId: actorId, keyId: null };
    const after = { to: member.email };
    await audit(tx, {
      ...by,
      what: "project.transferAsked",
      subject: project.name,
      before: null,
      after,
      at: now,
    });
  });
}

/** The owner asks no more, or whoever was asked declines. AppError `not_found` when nobody is asked. */
export async function endTransfer(database: Database, change: TransferChange): Promise<void> {
  const { project, actorId, now } = change;
  await inRetriedTransaction(database, async (tx) => {
    await lockProject(tx, project.id);
    const transfer = await findTransfer(tx, project.id);
    if (transfer === null) throw new AppError("not_found", "There is no pending transfer of this project.");
    if (transfer.toAccountId !== actorId) await ownerOf(tx, change);
    await deleteTransfer(tx, project.id);
    const by = { projectId: project.id, accountId: actorId, keyId: null };
    const what = "project.transferEnded";
    await audit(tx, { ...by, what, subject: project.name, before: null, after: null, at: now });
  });
}

/** Takes a project over. Its checks count for the new owner; AppError `forbidden` when there is no room for them. */
export async function takeOver(
  database: Database,
  { project, actorId, now, checkLimitDefault }: TransferChange & { checkLimitDefault: number | null },
): Promise<void> {
  await inRetriedTransaction(database, async (tx) => {
    await lockProject(tx, project.id);
    const transfer = await findTransfer(tx, project.id);
    const members = await listMembers(tx, project.id);
    const owner = members.find(({ role }) => role === "owner");
    const next = members.find(({ accountId }) => accountId === actorId);
    if (transfer?.toAccountId !== actorId || owner === undefined || next === undefined) {
      throw new AppError("not_found", "The transfer of this project to you is no longer pending.");
    }
    await demandRoom(tx, { project, account: await findAccountById(tx, actorId), checkLimitDefault });
    await writeRole(tx, { projectId: project.id, accountId: owner.accountId, role: "member" });
    await writeRole(tx, { projectId: project.id, accountId: actorId, role: "owner" });
    await deleteTransfer(tx, project.id);
    await endInvitationsBy(tx, { projectId: project.id, inviterId: owner.accountId, actorId, now });
    const sides = { before: { owner: owner.email }, after: { owner: next.email } };
    const by = { projectId: project.id, accountId: actorId, keyId: null };
    await audit(tx, { ...by, what: "project.transferred", subject: project.name, ...sides, at: now });
  });
}

async function demandRoom(
  tx: Tx,
  {
    project,
    account,
    checkLimitDefault,
  }: { project: Project; account: Account | null; checkLimitDefault: number | null },
): Promise<void> {
  if (account === null) return;
  if ((await countOwnedProjects(tx, account.id)) >= PROJECTS_OWNED_MAX) {
    throw new AppError("forbidden", `You have reached the limit of ${PROJECTS_OWNED_MAX} owned projects.`);
  }
  const limit = account.checkLimit ?? checkLimitDefault;
  if (limit === null) return;
  await lockOwnedChecks(tx, account.id);
  const owned = await countChecksOwnedBy(tx, account.id);
  const coming = (await countChecks(tx, [project.id])).get(project.id) ?? 0;
  if (owned + coming > limit) {
    throw new AppError(
      "forbidden",
      `The project has ${coming} checks, which would exceed your limit of ${limit} checks.`,
    );
  }
}
