// Project settings: name, members, invitations, keys, transfer, deletion, audit log. The role decides what is shown.
import { EmptyForm } from "../../contract/api/account.ts";
import {
  type AuditPage,
  AuditQuery,
  InvitationBody,
  type InvitationRow,
  KeyBody,
  type KeyRow,
  type MemberRow,
  ProjectBody,
  ProjectChangeBody,
  type ProjectSettings,
  RemoveProjectBody,
  RoleBody,
  TransferBody,
} from "../../contract/api/projects.ts";
import { invitationMethod, mayChangeRole, mayDo, mayRemoveMember, type Role } from "../../core/access.ts";
import { AUDIT_ACTIONS } from "../../core/audit.ts";
import { AppError } from "../../core/errors.ts";
import { isUuid } from "../../core/identity.ts";
import { listAudit } from "../../operations/audit.ts";
import {
  changeRole,
  endTransfer,
  invite,
  leaveProject,
  removeMember,
  requestTransfer,
  takeOverProject,
  withdrawInvitation,
} from "../../operations/members.ts";
import {
  changePingKey,
  changeProjectName,
  changeProjectZone,
  endApiKey,
  makeApiKey,
  openProject,
  type ProjectChange,
  removeProject,
} from "../../operations/projects.ts";
import { type ApiKey, listApiKeys } from "../../store/api-keys.ts";
import type { Db } from "../../store/db.ts";
import { type Invitation, listInvitations } from "../../store/invitations.ts";
import { findProjectEntry, findTransfer, listMembers, type Member } from "../../store/projects.ts";
import {
  accountRoute,
  changedBy,
  pathNumber,
  type ProjectRequest,
  projectRoute,
  WebRefusal,
  type WebRequest,
  type WebRoute,
} from "../web/route.ts";

/** The settings of a project, as they are now. */
async function projectSettings({ context, account, project, now }: ProjectRequest): Promise<ProjectSettings> {
  const { database: db } = context;
  // Read again: the request may just have changed it.
  const entry = await findProjectEntry(db, { accountId: account.id, projectId: project.id });
  if (entry === null) throw new WebRefusal("not_found", "It doesn't exist, or you don't have access to it.");
  const { role } = entry;
  const [members, invitations, keys, transfer] = await Promise.all([
    listMembers(db, project.id),
    mayDo(role, "manageMembers") ? listInvitations(db, project.id) : [],
    mayDo(role, "manageKeys") ? listApiKeys(db, project.id) : [],
    findTransfer(db, project.id),
  ]);
  const asked = members.find(({ accountId }) => accountId === transfer?.toAccountId);
  return {
    uuid: project.uuid,
    name: entry.project.name,
    zone: entry.project.tz,
    createdAt: project.createdAt,
    role,
    may: {
      rename: mayDo(role, "renameProject"),
      manageMembers: mayDo(role, "manageMembers"),
      manageKeys: mayDo(role, "manageKeys"),
      transfer: mayDo(role, "transferProject"),
      remove: mayDo(role, "removeProject"),
      leave: mayDo(role, "leaveProject"),
    },
    members: members.map((member) => shownMember(member, { role, accountId: account.id })),
    invitations: invitations.filter(({ expiresAt }) => expiresAt > now).map(shownInvitation),
    keys: keys.filter(({ revokedAt }) => revokedAt === null).map(shownKey),
    pingKey: mayDo(role, "manageKeys") ? entry.project.pingKey : null,
    transfer:
      transfer === null || asked === undefined
        ? null
        : {
            to: asked.email,
            name: asked.name,
            since: transfer.createdAt,
            isMine: asked.accountId === account.id,
          },
    invitesBy: invitationMethod({ sendsMail: context.signIn.mail, isOperator: account.isOperator }),
  };
}

function shownMember(member: Member, asker: { role: Role; accountId: number }): MemberRow {
  const isMe = member.accountId === asker.accountId;
  const { uuid, email, name, role, since } = member;
  return {
    uuid,
    email,
    name,
    role,
    since,
    isMe,
    mayRemove: mayRemoveMember(asker.role, { role, isRemover: isMe }),
    mayChangeRole: mayChangeRole(asker.role, { role, isChanger: isMe }),
  };
}

function shownInvitation({ uuid, email, role, invitedBy, createdAt, expiresAt }: Invitation): InvitationRow {
  return { uuid, email, role: role ?? "readOnly", invitedBy, createdAt, expiresAt };
}

function shownKey({ id, kind, name, prefix, createdAt, lastUsedAt }: ApiKey): KeyRow {
  return { id, kind, name, prefix, createdAt, lastUsedAt };
}

/** A page of the record of a project, or (null) of what is about none. */
export async function auditPage(
  db: Db,
  { projectId, before }: { projectId: number | null; before: string | undefined },
): Promise<AuditPage> {
  const { entries, nextBeforeId } = await listAudit(db, {
    projectId,
    ...(before !== undefined && { beforeId: Number(before) }),
  });
  return {
    next: nextBeforeId,
    entries: entries.map((entry) => ({
      id: entry.id,
      at: entry.at,
      who: entry.email ?? (entry.keyPrefix === null ? null : `${entry.keyPrefix}…`),
      by: entry.accountId !== null ? "person" : entry.keyId !== null ? "key" : "nobody",
      what: entry.what,
      words: AUDIT_ACTIONS[entry.what] ?? entry.what,
      subject: entry.subject,
      // Written from objects, always.
      before: entry.before as Record<string, unknown> | null,
      after: entry.after as Record<string, unknown> | null,
    })),
  };
}

type SettingsRequest = WebRequest & ProjectRequest;

/** A change of the project by the signed-in user. */
function changeOf({ project, account, now }: SettingsRequest): ProjectChange {
  return { project, by: { accountId: account.id, keyId: null }, now };
}

/** The same for what is done to people. */
function actorOf({ project, account, now }: SettingsRequest) {
  return { project, actorId: account.id, now };
}

/** The settings as they are after the change. */
async function settings(request: SettingsRequest) {
  return { json: await projectSettings(request) };
}

const PATH = "/web/api/projects/:project";

const transfer = projectRoute({
  name: "project.transfer",
  method: "POST",
  path: `${PATH}/transfer`,
  access: "transferProject",
  reauth: true,
  body: TransferBody,
  answer: async (request) => {
    const { context, body } = request;
    await requestTransfer(context.database, {
      ...actorOf(request),
      toUuid: body.account,
      byMail: context.signIn.mail,
    });
    return settings(request);
  },
});

const noTransfer = projectRoute({
  name: "project.cancelTransfer",
  method: "DELETE",
  path: `${PATH}/transfer`,
  access: "transferProject",
  answer: async (request) => {
    await endTransfer(request.context.database, actorOf(request));
    return settings(request);
  },
});

const acceptTransferRoute = projectRoute({
  name: "project.acceptTransfer",
  method: "POST",
  path: `${PATH}/transfer/accept`,
  access: "view",
  body: EmptyForm,
  answer: async (request) => {
    const { context, project } = request;
    const { checkLimitDefault } = context;
    await takeOverProject(context.database, { ...actorOf(request), checkLimitDefault });
    return { json: { uuid: project.uuid } };
  },
});

const declineTransferRoute = projectRoute({
  name: "project.declineTransfer",
  method: "POST",
  path: `${PATH}/transfer/decline`,
  access: "view",
  body: EmptyForm,
  answer: async (request) => {
    await endTransfer(request.context.database, actorOf(request));
    return { json: { uuid: request.project.uuid } };
  },
});

const remove = projectRoute({
  name: "project.remove",
  method: "POST",
  path: `${PATH}/remove`,
  access: "removeProject",
  reauth: true,
  body: RemoveProjectBody,
  answer: async (request) => {
    if (request.body.name.trim() !== request.project.name) {
      throw new WebRefusal("invalid", "Type the project name to delete it.", "name");
    }
    await removeProject(request.context.database, changeOf(request));
    return { json: { removed: true } };
  },
});

const ownershipRoutes: readonly WebRoute[] = [
  transfer,
  noTransfer,
  acceptTransferRoute,
  declineTransferRoute,
  remove,
];

function uuidParam({ params }: WebRequest, name: string): string {
  const uuid = params[name] ?? "";
  if (!isUuid(uuid)) throw new WebRefusal("not_found", "It doesn't exist, or you don't have access to it.");
  return uuid;
}

const create = accountRoute({
  name: "project.create",
  method: "POST",
  path: "/web/api/projects",
  access: "account",
  body: ProjectBody,
  answer: async ({ context, account, body, now }) => ({
    status: 201,
    json: await openProject(context.database, { accountId: account.id, name: body.name, now }),
  }),
});

const show = projectRoute({
  name: "project.settings",
  method: "GET",
  path: `${PATH}/settings`,
  access: "view",
  answer: settings,
});

const rename = projectRoute({
  name: "project.rename",
  method: "PATCH",
  path: PATH,
  access: "renameProject",
  body: ProjectChangeBody,
  answer: async (request) => {
    const { name, nameBefore: expected, zone } = request.body;
    if (name !== undefined) {
      const change = { ...changeOf(request), name, ...(expected !== undefined && { expected }) };
      await changeProjectName(request.context.database, change).catch(async (error: unknown) => {
        if (!(error instanceof AppError) || error.code !== "precondition_failed") throw error;
        throw await overtakenName(request);
      });
    }
    if (zone !== undefined) await changeProjectZone(request.context.database, { ...changeOf(request), zone });
    return settings(request);
  },
});

/** The answer to a form that was opened before another user renamed the project. */
async function overtakenName({ context, account, project, now }: ProjectRequest): Promise<WebRefusal> {
  const { entries } = await listAudit(context.database, { projectId: project.id });
  const entry = entries.find(({ what }) => what === "project.renamed");
  return new WebRefusal("conflict", "Someone else renamed this project while you were editing it.", null, {
    by: changedBy(entry, account.id),
    at: entry?.at ?? now,
    before: { ...entry?.before },
    after: { ...entry?.after },
    version: 0,
  });
}

const inviteMember = projectRoute({
  name: "project.invite",
  method: "POST",
  path: `${PATH}/invitations`,
  access: "manageMembers",
  body: InvitationBody,
  answer: async (request) => {
    const { context, account, project, body, now } = request;
    const by = invitationMethod({ sendsMail: context.signIn.mail, isOperator: account.isOperator });
    if (by === null) {
      const text = "This server doesn't send email. An admin can create an invitation link.";
      throw new WebRefusal("invalid", text, "email");
    }
    const { signing } = context;
    const invitation = { project, inviterId: account.id, ...body, signing, byMail: by === "mail", now };
    const { token } = await invite(context.database, invitation);
    const link = token === null ? null : `${context.site.url}/accounts/invitation/${token}/`;
    return { status: 201, json: { settings: await projectSettings(request), link } };
  },
});

const cancelInvitation = projectRoute({
  name: "project.uninvite",
  method: "DELETE",
  path: `${PATH}/invitations/:uuid`,
  access: "manageMembers",
  answer: async (request) => {
    await withdrawInvitation(request.context.database, {
      ...actorOf(request),
      uuid: uuidParam(request, "uuid"),
    });
    return settings(request);
  },
});

const role = projectRoute({
  name: "project.changeRole",
  method: "PATCH",
  path: `${PATH}/members/:account`,
  access: "manageMembers",
  body: RoleBody,
  answer: async (request) => {
    const memberUuid = uuidParam(request, "account");
    await changeRole(request.context.database, { ...actorOf(request), memberUuid, role: request.body.role });
    return settings(request);
  },
});

const removeMemberRoute = projectRoute({
  name: "project.removeMember",
  method: "DELETE",
  path: `${PATH}/members/:account`,
  access: "manageMembers",
  answer: async (request) => {
    await removeMember(request.context.database, {
      ...actorOf(request),
      memberUuid: uuidParam(request, "account"),
    });
    return settings(request);
  },
});

const leave = projectRoute({
  name: "project.leave",
  method: "POST",
  path: `${PATH}/leave`,
  access: "leaveProject",
  body: EmptyForm,
  answer: async ({ context, project, account, now }) => {
    await leaveProject(context.database, { project, accountId: account.id, now });
    return { json: { left: true } };
  },
});

const makeKey = projectRoute({
  name: "project.makeKey",
  method: "POST",
  path: `${PATH}/keys`,
  access: "manageKeys",
  body: KeyBody,
  answer: async (request) => {
    const { context, body } = request;
    const { secretKey } = context;
    const key = await makeApiKey(context.database, { ...changeOf(request), ...body, secretKey });
    return { status: 201, json: { key, settings: await projectSettings(request) } };
  },
});

const endKey = projectRoute({
  name: "project.endKey",
  method: "DELETE",
  path: `${PATH}/keys/:id`,
  access: "manageKeys",
  answer: async (request) => {
    const keyId = pathNumber(request.params["id"]);
    await endApiKey(request.context.database, { ...changeOf(request), keyId });
    return settings(request);
  },
});

const newPingKey = projectRoute({
  name: "project.newPingKey",
  method: "POST",
  path: `${PATH}/ping-key`,
  access: "manageKeys",
  body: EmptyForm,
  answer: async (request) => {
    await changePingKey(request.context.database, { ...changeOf(request), to: "new" });
    return settings(request);
  },
});

const noPingKey = projectRoute({
  name: "project.endPingKey",
  method: "DELETE",
  path: `${PATH}/ping-key`,
  access: "manageKeys",
  answer: async (request) => {
    await changePingKey(request.context.database, { ...changeOf(request), to: "none" });
    return settings(request);
  },
});

const record = projectRoute({
  name: "project.audit",
  method: "GET",
  path: `${PATH}/audit`,
  access: "manageMembers",
  query: AuditQuery,
  answer: async ({ context, project, query }) => ({
    json: await auditPage(context.database, { projectId: project.id, before: query.before }),
  }),
});

export const projectRoutes: readonly WebRoute[] = [
  create,
  show,
  rename,
  inviteMember,
  cancelInvitation,
  role,
  removeMemberRoute,
  leave,
  makeKey,
  endKey,
  newPingKey,
  noPingKey,
  record,
  ...ownershipRoutes,
];
