// Actions in the audit log and their texts. An action is never removed, because old entries use it.

export const AUDIT_ACTIONS = {
  "account.created": "created the account",
  "account.closed": "closed the account",
  "account.changed": "changed the profile",
  "account.emailChanged": "changed the email address",
  "account.passwordSet": "set a password",
  "account.passwordRemoved": "removed the password",
  "account.passkeyAdded": "added a passkey",
  "account.passkeyRemoved": "removed a passkey",
  "account.totpAdded": "set up an authenticator app",
  "account.totpRemoved": "removed the authenticator app",
  "account.codesRenewed": "generated new recovery codes",
  "account.providerAdded": "linked single sign-on",
  "account.providerRemoved": "unlinked single sign-on",
  "account.tokenCreated": "created a personal access token",
  "account.tokenRevoked": "revoked a personal access token",
  "account.limitChanged": "changed the check limit",
  "account.operatorChanged": "changed admin rights",
  "instance.restoreConfirmed": "confirmed the restore",
  "project.created": "created the project",
  "project.renamed": "renamed the project",
  "project.zoneChanged": "changed the time zone of the project",
  "project.policyChanged": "changed the policy of the project",
  "project.tagRulesChanged": "changed the tag rules of the project",
  "project.removed": "deleted the project",
  "project.transferAsked": "requested an ownership transfer",
  "project.transferEnded": "canceled or declined the ownership transfer",
  "project.transferred": "accepted ownership of the project",
  "member.invited": "invited a member",
  "member.inviteEnded": "revoked an invitation",
  "member.joined": "joined the project",
  "member.roleChanged": "changed a member's role",
  "member.removed": "removed a member",
  "member.left": "left the project",
  "key.created": "created an API key",
  "key.revoked": "revoked an API key",
  "key.pingKeyChanged": "changed the ping key",
  "check.created": "created a check",
  "check.changed": "changed a check",
  "check.paused": "paused a check",
  "check.resumed": "resumed a check",
  "check.pinged": "sent a ping manually",
  "check.cleared": "cleared the history of a check",
  "check.moved": "moved a check",
  "check.deleted": "deleted a check",
  "check.restored": "restored a check",
  "alias.created": "added an alias to a check",
  "alias.deleted": "removed an alias of a check",
  "nearMiss.ignored": "ignored a near miss",
  "nearMiss.unignored": "stopped ignoring a near miss",
  "incident.resolved": "resolved an incident",
  "channel.created": "created a channel",
  "channel.changed": "changed a channel",
  "channel.deleted": "deleted a channel",
  "channel.tested": "tested a channel",
  "channel.enabled": "enabled a channel",
  "channel.disabled": "disabled a channel",
  "fireDrill.started": "started a fire drill",
  "fireDrill.scheduleChanged": "changed the weekly fire drill",
  "boardLink.created": "created a share link for the wall board",
  "boardLink.revoked": "revoked a share link for the wall board",
  "silence.created": "created a silence",
  "silence.changed": "changed a silence",
  "silence.ended": "ended a silence",
  "forecast.marked": "marked a surprise as intended",
  "forecast.unmarked": "unmarked a surprise",
  "forecast.feedCreated": "created a calendar feed",
  "forecast.feedRevoked": "revoked a calendar feed",
  "statusPage.created": "created a status page",
  "statusPage.changed": "changed a status page",
  "statusPage.deleted": "deleted a status page",
  "statusPage.restored": "restored a status page",
  "statusPage.logoChanged": "changed the logo of a status page",
  "statusPage.published": "published on a status page",
  "statusPage.postChanged": "changed what is published on a status page",
  "statusPage.postRemoved": "removed something from a status page",
  "statusPage.webhookAdded": "added a webhook to a status page",
  "statusPage.subscriberRemoved": "removed a subscriber of a status page",
} as const;

export type AuditAction = keyof typeof AUDIT_ACTIONS;

/** Retention of the audit log. */
export const AUDIT_DAYS = 365;
/** Entries per page. */
export const AUDIT_PAGE_MAX = 100;
/** Maximum stored length of a name, and of one side of a change in characters of JSON. */
export const AUDIT_SUBJECT_LENGTH_MAX = 200;
export const AUDIT_SIDE_LENGTH_MAX = 10_000;

/** Names of fields that may contain a secret. */
const SECRET_FIELD =
  /secret|password|token|hash|digest|credential|recovery|(^|_)(api_?)?key$|apiKey|pingKey|url$|header/i;
/** Replaces redacted values. */
export const AUDIT_HIDDEN = "(hidden)";

/** One side of a change for storage: secrets redacted, length limited. */
export function auditSide(side: object | null): object | null {
  if (side === null) return null;
  const shown = hidden(side) as object;
  return JSON.stringify(shown).length > AUDIT_SIDE_LENGTH_MAX ? { tooLong: true } : shown;
}

function hidden(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(hidden);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, inner]): [string, unknown] => [
    name,
    SECRET_FIELD.test(name) && typeof inner !== "boolean" && inner !== null ? AUDIT_HIDDEN : hidden(inner),
  ]);
  return Object.fromEntries(entries);
}

/** The fields in which two sides differ, of each side; null where they are the same. */
export function auditDifference(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): { before: Record<string, unknown>; after: Record<string, unknown> } | null {
  const names = Object.keys(after).filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  );
  if (names.length === 0) return null;
  const pick = (from: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(names.map((name) => [name, from[name] ?? null]));
  return { before: pick(before), after: pick(after) };
}
