// The routes of a project's settings: name, members, invitations, keys, handing over, removing, and the record.
import {
  AuditQuery,
  InvitationBody,
  KeyBody,
  ProjectBody,
  ProjectChangeBody,
  RoleBody,
} from "../../../contract/web/project-settings.ts";
import { EmptyForm } from "../../../contract/web/requests/sign-in.ts";
import { invitesBy } from "../../../core/accounts/member-rules.ts";
import { AppError } from "../../../core/errors.ts";
import { isUuid } from "../../../core/identity.ts";
import { listAudit } from "../../../operations/accounts/audit.ts";
import {
  changeRole,
  invite,
  leaveProject,
  removeMember,
  withdrawInvitation,
} from "../../../operations/accounts/members.ts";
import {
  changePingKey,
  changeProjectName,
  changeProjectZone,
  endApiKey,
  makeApiKey,
  openProject,
} from "../../../operations/accounts/projects.ts";
import {
  accountRoute,
  type Asking,
  type ProjectAsk,
  projectRoute,
  WebRefusal,
  type WebRoute,
} from "../route.ts";
import { changedBy } from "../serving/changed-by.ts";
import { pathNumber } from "../serving/path-number.ts";
import { actorOf, changeOf, settings } from "./changing.ts";
import { ownershipRoutes } from "./ownership.ts";
import { auditPage, projectSettings } from "./settings-page.ts";

const PATH = "/web/api/projects/:project";

function uuidParam({ params }: Asking, name: string): string {
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
  answer: async ({ house, account, body, now }) => ({
    status: 201,
    json: await openProject(house.database, { accountId: account.id, name: body.name, now }),
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
  answer: async (ask) => {
    const { name, nameBefore: expected, zone } = ask.body;
    if (name !== undefined) {
      const change = { ...changeOf(ask), name, ...(expected !== undefined && { expected }) };
      await changeProjectName(ask.house.database, change).catch(async (error: unknown) => {
        if (!(error instanceof AppError) || error.code !== "precondition_failed") throw error;
        throw await overtakenName(ask);
      });
    }
    if (zone !== undefined) await changeProjectZone(ask.house.database, { ...changeOf(ask), zone });
    return settings(ask);
  },
});

/** What is answered to a form that was filled before somebody else renamed the project. */
async function overtakenName({ house, account, project, now }: ProjectAsk): Promise<WebRefusal> {
  const { entries } = await listAudit(house.database, { projectId: project.id });
  const entry = entries.find(({ what }) => what === "project.renamed");
  return new WebRefusal("conflict", "Someone else renamed this project while you were editing it.", null, {
    by: changedBy(entry, account.id),
    at: entry?.at ?? now,
    before: { ...entry?.before },
    after: { ...entry?.after },
    version: 0,
  });
}

const inviteSomebody = projectRoute({
  name: "project.invite",
  method: "POST",
  path: `${PATH}/invitations`,
  access: "manageMembers",
  body: InvitationBody,
  answer: async (ask) => {
    const { house, account, project, body, now } = ask;
    const by = invitesBy({ sendsMail: house.signIn.mail, isOperator: account.isOperator });
    if (by === null) {
      const text = "This server doesn't send email. An admin can create an invitation link.";
      throw new WebRefusal("invalid", text, "email");
    }
    const { signing } = house;
    const request = { project, inviterId: account.id, ...body, signing, byMail: by === "mail", now };
    const { token } = await invite(house.database, request);
    const link = token === null ? null : `${house.site.url}/accounts/invitation/${token}/`;
    return { status: 201, json: { settings: await projectSettings(ask), link } };
  },
});

const uninvite = projectRoute({
  name: "project.uninvite",
  method: "DELETE",
  path: `${PATH}/invitations/:uuid`,
  access: "manageMembers",
  answer: async (ask) => {
    await withdrawInvitation(ask.house.database, { ...actorOf(ask), uuid: uuidParam(ask, "uuid") });
    return settings(ask);
  },
});

const role = projectRoute({
  name: "project.changeRole",
  method: "PATCH",
  path: `${PATH}/members/:account`,
  access: "manageMembers",
  body: RoleBody,
  answer: async (ask) => {
    const memberUuid = uuidParam(ask, "account");
    await changeRole(ask.house.database, { ...actorOf(ask), memberUuid, role: ask.body.role });
    return settings(ask);
  },
});

const removeOne = projectRoute({
  name: "project.removeMember",
  method: "DELETE",
  path: `${PATH}/members/:account`,
  access: "manageMembers",
  answer: async (ask) => {
    await removeMember(ask.house.database, { ...actorOf(ask), memberUuid: uuidParam(ask, "account") });
    return settings(ask);
  },
});

const leave = projectRoute({
  name: "project.leave",
  method: "POST",
  path: `${PATH}/leave`,
  access: "leaveProject",
  body: EmptyForm,
  answer: async ({ house, project, account, now }) => {
    await leaveProject(house.database, { project, accountId: account.id, now });
    return { json: { left: true } };
  },
});

const makeKey = projectRoute({
  name: "project.makeKey",
  method: "POST",
  path: `${PATH}/keys`,
  access: "manageKeys",
  body: KeyBody,
  answer: async (ask) => {
    const { house, body } = ask;
    const { secretKey } = house;
    const key = await makeApiKey(house.database, { ...changeOf(ask), ...body, secretKey });
    return { status: 201, json: { key, settings: await projectSettings(ask) } };
  },
});

const endKey = projectRoute({
  name: "project.endKey",
  method: "DELETE",
  path: `${PATH}/keys/:id`,
  access: "manageKeys",
  answer: async (ask) => {
    const keyId = pathNumber(ask.params["id"]);
    await endApiKey(ask.house.database, { ...changeOf(ask), keyId });
    return settings(ask);
  },
});

const newPingKey = projectRoute({
  name: "project.newPingKey",
  method: "POST",
  path: `${PATH}/ping-key`,
  access: "manageKeys",
  body: EmptyForm,
  answer: async (ask) => {
    await changePingKey(ask.house.database, { ...changeOf(ask), to: "new" });
    return settings(ask);
  },
});

const noPingKey = projectRoute({
  name: "project.endPingKey",
  method: "DELETE",
  path: `${PATH}/ping-key`,
  access: "manageKeys",
  answer: async (ask) => {
    await changePingKey(ask.house.database, { ...changeOf(ask), to: "none" });
    return settings(ask);
  },
});

const record = projectRoute({
  name: "project.audit",
  method: "GET",
  path: `${PATH}/audit`,
  access: "manageMembers",
  query: AuditQuery,
  answer: async ({ house, project, query }) => ({
    json: await auditPage(house.database, { projectId: project.id, before: query.before }),
  }),
});

export const projectRoutes: readonly WebRoute[] = [
  create,
  show,
  rename,
  inviteSomebody,
  uninvite,
  role,
  removeOne,
  leave,
  makeKey,
  endKey,
  newPingKey,
  noPingKey,
  record,
  ...ownershipRoutes,
];
