// Requests and responses of project settings: members, invitations, keys, transfer, audit log. Instants are epoch
// milliseconds. A key is only in the response that creates it.
import { type Static, Type } from "typebox";
import type { InvitationMethod } from "../../core/access.ts";
import { EMAIL_ADDRESS_LENGTH_MAX, PROJECT_NAME_LENGTH_MAX, TZ_LENGTH_MAX } from "../../core/limits.ts";
import { RULE } from "../check.ts";
import { FIELD_LENGTHS } from "./limits.ts";

export type RoleName = "owner" | "manager" | "member" | "readOnly";

/** GET /web/api/projects/:project/settings (every member) */
export type ProjectSettings = {
  uuid: string;
  name: string;
  /** In which messages to chats name times. */
  zone: string;
  createdAt: number;
  role: RoleName;
  /** What the person who asks may do here. */
  may: {
    rename: boolean;
    manageMembers: boolean;
    manageKeys: boolean;
    transfer: boolean;
    remove: boolean;
    leave: boolean;
  };
  members: MemberRow[];
  /** Only for whoever may manage members; otherwise empty. */
  invitations: InvitationRow[];
  /** Only for whoever may manage keys; otherwise empty. Revoked ones are left out. */
  keys: KeyRow[];
  /** Null: no ping key, or the person may not manage keys. */
  pingKey: string | null;
  transfer: { to: string; name: string; since: number; isMine: boolean } | null;
  /** How whoever asks invites people; null: not at all, because no mail is sent and it takes an operator to get a link. */
  invitesBy: InvitationMethod | null;
};

export type MemberRow = {
  uuid: string;
  email: string;
  name: string;
  role: RoleName;
  since: number;
  isMe: boolean;
  mayRemove: boolean;
  mayChangeRole: boolean;
};

export type InvitationRow = {
  uuid: string;
  email: string;
  role: RoleName;
  invitedBy: string | null;
  createdAt: number;
  expiresAt: number;
};

export type KeyRow = {
  id: number;
  kind: "readWrite" | "readOnly";
  name: string;
  prefix: string;
  createdAt: number;
  lastUsedAt: number | null;
};

/** POST /web/api/projects { name } → { uuid, name } */
export const ProjectBody = Type.Object(
  { name: Type.String({ minLength: 1, maxLength: FIELD_LENGTHS.projectName }) },
  { additionalProperties: false },
);
export type ProjectBody = Static<typeof ProjectBody>;

/** PATCH /web/api/projects/:project { name?, zone? } → ProjectSettings, or 409 with what was changed meanwhile. */
export const ProjectChangeBody = Type.Object(
  {
    name: Type.Optional(ProjectBody.properties.name),
    /** The name that the form was filled from; without it, whatever is there is overwritten. */
    nameBefore: Type.Optional(Type.String({ maxLength: PROJECT_NAME_LENGTH_MAX })),
    zone: Type.Optional(Type.String({ maxLength: TZ_LENGTH_MAX, [RULE]: "zone" })),
  },
  { additionalProperties: false },
);
export type ProjectChangeBody = Static<typeof ProjectChangeBody>;

const GivenRole = Type.Union([Type.Literal("manager"), Type.Literal("member"), Type.Literal("readOnly")]);

/** POST /web/api/projects/:project/invitations → InvitationMade · DELETE …/invitations/:uuid → ProjectSettings */
export const InvitationBody = Type.Object(
  { email: Type.String({ maxLength: EMAIL_ADDRESS_LENGTH_MAX }), role: GivenRole },
  { additionalProperties: false },
);
export type InvitationBody = Static<typeof InvitationBody>;

export type InvitationMade = {
  settings: ProjectSettings;
  /** To be passed on by hand; only where no mail is sent, and shown once. */
  link: string | null;
};

/** PATCH /web/api/projects/:project/members/:account { role } · DELETE …/members/:account → ProjectSettings */
export const RoleBody = Type.Object({ role: GivenRole }, { additionalProperties: false });
export type RoleBody = Static<typeof RoleBody>;

// POST /web/api/projects/:project/leave → { left: true }

/** POST /web/api/projects/:project/keys → KeyMade · DELETE …/keys/:id → ProjectSettings */
export const KeyBody = Type.Object(
  {
    kind: Type.Union([Type.Literal("readWrite"), Type.Literal("readOnly")]),
    name: Type.String({ maxLength: FIELD_LENGTHS.apiKeyName }),
  },
  { additionalProperties: false },
);
export type KeyBody = Static<typeof KeyBody>;

/** The key itself, shown once. */
export type KeyMade = { key: string; settings: ProjectSettings };

// POST /web/api/projects/:project/ping-key → ProjectSettings (a new one) · DELETE …/ping-key → ProjectSettings

/**
 * POST /web/api/projects/:project/transfer { account } (reauth) → ProjectSettings · DELETE …/transfer → ProjectSettings,
 * by its owner. Who was asked: POST …/transfer/accept and …/transfer/decline → { uuid }.
 */
export const TransferBody = Type.Object(
  { account: Type.String({ maxLength: 36 }) },
  { additionalProperties: false },
);
export type TransferBody = Static<typeof TransferBody>;

/** POST /web/api/projects/:project/remove { name } (reauth, the name typed again) → { removed: true } */
export const RemoveProjectBody = Type.Object(
  { name: Type.String({ maxLength: PROJECT_NAME_LENGTH_MAX }) },
  { additionalProperties: false },
);
export type RemoveProjectBody = Static<typeof RemoveProjectBody>;

/** GET /web/api/projects/:project/audit?before= (manageMembers) */
export type AuditPage = { entries: AuditRow[]; next: number | null };

export type AuditRow = {
  id: number;
  at: number;
  /** Address of a person or beginning of a key; null: the command line, or somebody who is gone. */
  who: string | null;
  by: "person" | "key" | "nobody";
  what: string;
  /** The same as a sentence part: "renamed the project". */
  words: string;
  subject: string;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
};

export const AuditQuery = Type.Object(
  { before: Type.Optional(Type.String({ pattern: "^[0-9]{1,15}$" })) },
  { additionalProperties: false },
);
