// Projects: settings, members, invitations, API keys, transfer, audit log.
import { type Static, Type } from "typebox";
import { EMAIL_ADDRESS_LENGTH_MAX, PROJECT_NAME_LENGTH_MAX, TZ_LENGTH_MAX } from "../../core/limits.ts";
import { RULE } from "../check.ts";
import { FIELD_LENGTHS } from "./limits.ts";
import { route } from "./route.ts";
import { Cursor, CursorQuery, nullable, Time, UuidText } from "./types.ts";

const RoleName = Type.Enum(["owner", "manager", "member", "readOnly"]);
export type RoleName = Static<typeof RoleName>;

export const Member = Type.Object({
  id: UuidText,
  email: Type.String(),
  name: Type.String(),
  role: RoleName,
  since: Time,
  isMe: Type.Boolean(),
  mayRemove: Type.Boolean({ description: "Whether you may remove this member." }),
  mayChangeRole: Type.Boolean({ description: "Whether you may change the role of this member." }),
});
export type MemberRow = Static<typeof Member>;

export const Invitation = Type.Object({
  id: UuidText,
  email: Type.String(),
  role: RoleName,
  invitedBy: nullable(Type.String(), "Email address of the inviter."),
  createdAt: Time,
  expiresAt: Time,
});
export type InvitationRow = Static<typeof Invitation>;

export const Key = Type.Object({
  id: Type.Integer(),
  kind: Type.Enum(["readWrite", "readOnly"]),
  name: Type.String(),
  prefix: Type.String({ description: "The first characters of the key." }),
  createdAt: Time,
  lastUsedAt: nullable(Time),
});
export type KeyRow = Static<typeof Key>;

export const ProjectSettings = Type.Object({
  id: UuidText,
  name: Type.String(),
  zone: Type.String({ description: "Time zone of times in chat messages." }),
  createdAt: Time,
  role: RoleName,
  may: Type.Object(
    {
      rename: Type.Boolean(),
      manageMembers: Type.Boolean(),
      manageKeys: Type.Boolean(),
      transfer: Type.Boolean(),
      remove: Type.Boolean(),
      leave: Type.Boolean(),
    },
    { description: "What you may do in the project." },
  ),
  members: Type.Array(Member),
  invitations: Type.Array(Invitation, {
    description: "Open invitations; empty if you may not manage members.",
  }),
  keys: Type.Array(Key, { description: "API keys in use; empty if you may not manage keys." }),
  pingKey: nullable(Type.String(), "Null if there is none or you may not manage keys."),
  transfer: nullable(
    Type.Object({
      to: Type.String({ description: "Email address of the member who was asked to take over the project." }),
      name: Type.String(),
      since: Time,
      isMine: Type.Boolean({ description: "Whether you were asked." }),
    }),
    "The pending transfer of ownership.",
  ),
  invitesBy: nullable(
    Type.Enum(["mail", "link"]),
    "How your invitations are delivered; null if you cannot invite.",
  ),
});
export type ProjectSettings = Static<typeof ProjectSettings>;

const ProjectBody = Type.Object(
  { name: Type.String({ minLength: 1, maxLength: FIELD_LENGTHS.projectName }) },
  { additionalProperties: false },
);

const ProjectChangeBody = Type.Object(
  {
    name: Type.Optional(ProjectBody.properties.name),
    nameBefore: Type.Optional(
      Type.String({
        maxLength: PROJECT_NAME_LENGTH_MAX,
        description: "If given and the project has another name by now, the request is rejected with 409.",
      }),
    ),
    zone: Type.Optional(Type.String({ maxLength: TZ_LENGTH_MAX, [RULE]: "zone" })),
  },
  { additionalProperties: false },
);
export type ProjectChangeBody = Static<typeof ProjectChangeBody>;

const GivenRole = Type.Enum(["manager", "member", "readOnly"]);

const InvitationBody = Type.Object(
  { email: Type.String({ maxLength: EMAIL_ADDRESS_LENGTH_MAX }), role: GivenRole },
  { additionalProperties: false },
);
export type InvitationBody = Static<typeof InvitationBody>;

const InvitationMade = Type.Object({
  settings: ProjectSettings,
  link: nullable(Type.String(), "The invitation link to pass on, if the server does not send email."),
});
export type InvitationMade = Static<typeof InvitationMade>;

const KeyBody = Type.Object(
  { kind: Key.properties.kind, name: Type.String({ maxLength: FIELD_LENGTHS.apiKeyName }) },
  { additionalProperties: false },
);
export type KeyBody = Static<typeof KeyBody>;

const KeyMade = Type.Object({
  key: Type.String({ description: "The API key. It is only returned once." }),
  settings: ProjectSettings,
});
export type KeyMade = Static<typeof KeyMade>;

export const AuditEntry = Type.Object({
  id: Type.Integer(),
  at: Time,
  who: nullable(Type.String(), "Email address, or first characters of an API key."),
  by: Type.Enum(["person", "key", "nobody"]),
  what: Type.String({ description: "Identifies the action." }),
  words: Type.String({ description: "The action as text." }),
  subject: Type.String(),
  before: nullable(Type.Record(Type.String(), Type.Unknown())),
  after: nullable(Type.Record(Type.String(), Type.Unknown())),
});
export type AuditRow = Static<typeof AuditEntry>;

export const AuditPage = Type.Object({ entries: Type.Array(AuditEntry), next: Cursor });
export type AuditPage = Static<typeof AuditPage>;

const settings = { status: 200, description: "The project.", schema: ProjectSettings } as const;
const PROJECT = "/projects/{project}";

export const projectRoutes = {
  createProject: route({
    method: "POST",
    path: "/projects",
    access: "account",
    keys: null,
    tag: "Projects",
    summary: "Create a project",
    body: ProjectBody,
    bodyExample: { name: "Backups" },
    success: {
      status: 201,
      description: "The new project.",
      schema: Type.Object({ id: UuidText, name: Type.String() }),
    },
    errors: [409],
  }),
  getProject: route({
    method: "GET",
    path: PROJECT,
    access: "view",
    keys: "readWrite",
    tag: "Projects",
    summary: "Get a project",
    description: "Returns a project with its members and, depending on your role, invitations and API keys.",
    success: settings,
  }),
  updateProject: route({
    method: "PATCH",
    path: PROJECT,
    access: "renameProject",
    keys: null,
    tag: "Projects",
    summary: "Update a project",
    body: ProjectChangeBody,
    bodyExample: { name: "Backups", zone: "Europe/Riga" },
    success: settings,
    errors: [409],
  }),
  deleteProject: route({
    method: "DELETE",
    path: PROJECT,
    access: "removeProject",
    keys: null,
    tag: "Projects",
    summary: "Delete a project",
    description: "Deletes a project with all its checks and channels. This cannot be undone.",
    reauth: true,
    success: { status: 204, description: "The project was deleted.", schema: null },
  }),
  leaveProject: route({
    method: "POST",
    path: `${PROJECT}/leave`,
    access: "leaveProject",
    keys: null,
    tag: "Projects",
    summary: "Leave a project",
    success: { status: 204, description: "You are no longer a member.", schema: null },
  }),
  inviteMember: route({
    method: "POST",
    path: `${PROJECT}/invitations`,
    access: "manageMembers",
    keys: null,
    tag: "Projects",
    summary: "Invite a member",
    description: "Sends an invitation by email. If the server does not send email, returns a link instead.",
    body: InvitationBody,
    bodyExample: { email: "ada@example.org", role: "member" },
    success: { status: 201, description: "The invitation was created.", schema: InvitationMade },
    errors: [409],
  }),
  cancelInvitation: route({
    method: "DELETE",
    path: `${PROJECT}/invitations/{invitation}`,
    access: "manageMembers",
    keys: null,
    tag: "Projects",
    summary: "Cancel an invitation",
    success: settings,
  }),
  changeRole: route({
    method: "PATCH",
    path: `${PROJECT}/members/{account}`,
    access: "manageMembers",
    keys: null,
    tag: "Projects",
    summary: "Change the role of a member",
    body: Type.Object({ role: GivenRole }, { additionalProperties: false }),
    bodyExample: { role: "manager" },
    success: settings,
  }),
  removeMember: route({
    method: "DELETE",
    path: `${PROJECT}/members/{account}`,
    access: "manageMembers",
    keys: null,
    tag: "Projects",
    summary: "Remove a member",
    success: settings,
  }),
  createKey: route({
    method: "POST",
    path: `${PROJECT}/keys`,
    access: "manageKeys",
    keys: null,
    tag: "Projects",
    summary: "Create an API key",
    body: KeyBody,
    bodyExample: { kind: "readWrite", name: "Terraform" },
    success: { status: 201, description: "The key, and the project.", schema: KeyMade },
    errors: [409],
  }),
  revokeKey: route({
    method: "DELETE",
    path: `${PROJECT}/keys/{key}`,
    access: "manageKeys",
    keys: null,
    tag: "Projects",
    summary: "Revoke an API key",
    success: settings,
  }),
  createPingKey: route({
    method: "POST",
    path: `${PROJECT}/ping-key`,
    access: "manageKeys",
    keys: null,
    tag: "Projects",
    summary: "Create or replace the ping key",
    description: "URLs with the previous ping key stop working.",
    success: settings,
  }),
  deletePingKey: route({
    method: "DELETE",
    path: `${PROJECT}/ping-key`,
    access: "manageKeys",
    keys: null,
    tag: "Projects",
    summary: "Delete the ping key",
    success: settings,
  }),
  requestTransfer: route({
    method: "PUT",
    path: `${PROJECT}/transfer`,
    access: "transferProject",
    keys: null,
    tag: "Projects",
    summary: "Ask a member to take over the project",
    reauth: true,
    body: Type.Object({ account: UuidText }, { additionalProperties: false }),
    bodyExample: { account: "5c2bbd30-6b2e-4a0f-9d3b-0f6f2f3c8a11" },
    success: settings,
    errors: [409],
  }),
  cancelTransfer: route({
    method: "DELETE",
    path: `${PROJECT}/transfer`,
    access: "transferProject",
    keys: null,
    tag: "Projects",
    summary: "Cancel the transfer",
    success: settings,
  }),
  acceptTransfer: route({
    method: "POST",
    path: `${PROJECT}/transfer/accept`,
    access: "view",
    keys: null,
    tag: "Projects",
    summary: "Take over the project",
    success: { status: 204, description: "You own the project.", schema: null },
    errors: [409],
  }),
  declineTransfer: route({
    method: "POST",
    path: `${PROJECT}/transfer/decline`,
    access: "view",
    keys: null,
    tag: "Projects",
    summary: "Decline to take over the project",
    success: { status: 204, description: "The transfer was canceled.", schema: null },
  }),
  listAudit: route({
    method: "GET",
    path: `${PROJECT}/audit`,
    access: "manageMembers",
    keys: null,
    tag: "Projects",
    summary: "List the audit log of a project",
    description: "Lists changes to the project and its checks, channels, members, and keys, newest first.",
    query: CursorQuery,
    success: { status: 200, description: "A page of entries.", schema: AuditPage },
  }),
} as const;
