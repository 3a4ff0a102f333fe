// Every column that can hold text, bytes or JSON has a declared limit, or a reason why outside input cannot fill it. A
// new column fails here until somebody has decided.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { AUDIT_SIDE_LENGTH_MAX, AUDIT_SUBJECT_LENGTH_MAX } from "../src/core/audit.ts";
import * as limits from "../src/core/limits.ts";
import { NEXT_PATH_LENGTH_MAX } from "../src/core/sign-in.ts";

/** A number: the limit that is enforced before the database is asked. A text: why none is needed. */
type Limit = number | string;

const CLOSED = "one of the values that its constraint lists";
const OURS = "made by the program, of fixed length";
const POLICY = "fields with limits of their own";
const ADDRESS = "an IP address that was parsed";

const LIMITS: Readonly<Record<string, Limit>> = {
  "access_tokens.name": limits.ACCESS_TOKEN_NAME_LENGTH_MAX,
  "access_tokens.scope": CLOSED,
  "access_tokens.prefix": OURS,
  "access_tokens.digest": OURS,
  "access_tokens.secret_id": OURS,
  "accounts.email": limits.EMAIL_ADDRESS_LENGTH_MAX,
  "accounts.name": limits.ACCOUNT_NAME_LENGTH_MAX,
  "accounts.theme": CLOSED,
  "accounts.density": CLOSED,
  "alerts.cause": CLOSED,
  "alerts.close_cause": CLOSED,
  "alerts.held_by": CLOSED,
  "api_keys.kind": CLOSED,
  "api_keys.name": limits.API_KEY_NAME_LENGTH_MAX,
  "api_keys.prefix": OURS,
  "api_keys.digest": OURS,
  "api_keys.secret_id": OURS,
  "attempts.kind": "the kinds of attempts are a type of the program",
  "attempts.digest": OURS,
  "audit_entries.what": "the words are a type of the program",
  "audit_entries.subject": AUDIT_SUBJECT_LENGTH_MAX,
  "audit_entries.before": AUDIT_SIDE_LENGTH_MAX,
  "audit_entries.after": AUDIT_SIDE_LENGTH_MAX,
  "authenticators.sealed": OURS,
  "authenticators.secret_id": OURS,
  "blind_intervals.reason": "the reasons are a type of the program",
  "board_links.name": limits.BOARD_LINK_NAME_LENGTH_MAX,
  "board_links.digest": OURS,
  "channel_quotas.quota": CLOSED,
  "channels.kind": limits.CHANNEL_KIND_LENGTH_MAX,
  "channels.name": limits.CHANNEL_NAME_LENGTH_MAX,
  "channels.config": limits.CHANNEL_CONFIG_LENGTH_MAX,
  "channels.disabled_reason": limits.DELIVERY_ERROR_LENGTH_MAX,
  "channels.last_error": limits.DELIVERY_ERROR_LENGTH_MAX,
  "channels.verified_address": "the address in the configuration of the channel",
  "check_states.status": CLOSED,
  "check_states.silence_from": CLOSED,
  "check_states.ended_rids": "eight UUIDs",
  "check_states.judged": "numbers, and as many deadlines as the threshold for missed runs",
  "checks.name": limits.NAME_LENGTH_MAX,
  "checks.slug": limits.SLUG_LENGTH_MAX,
  "checks.tags": limits.TAGS_LENGTH_MAX,
  "checks.unique_key": OURS,
  "checks.description": limits.DESCRIPTION_LENGTH_MAX,
  "checks.kind": CLOSED,
  "checks.schedule": limits.SCHEDULE_LENGTH_MAX,
  "checks.tz": limits.TZ_LENGTH_MAX,
  "checks.methods": CLOSED,
  "checks.rules": "numbers that have limits of their own",
  "checks.start_kw": limits.KEYWORDS_LENGTH_MAX,
  "checks.success_kw": limits.KEYWORDS_LENGTH_MAX,
  "checks.failure_kw": limits.KEYWORDS_LENGTH_MAX,
  "checks.policy": POLICY,
  "database_identity.system_identifier": "a number of the database server",
  "database_identity.site_url": "a setting of the process",
  "database_identity.state": CLOSED,
  "database_identity.reason": "a sentence of the program",
  "deliveries.state": CLOSED,
  "deliveries.kind": CLOSED,
  "deliveries.request_summary": limits.DELIVERY_ERROR_LENGTH_MAX,
  "deliveries.response_excerpt": limits.RESPONSE_EXCERPT_LENGTH_MAX,
  "deliveries.reason": limits.DELIVERY_ERROR_LENGTH_MAX,
  "deliveries.about": "names and reasons that have limits of their own",
  "delivery_alerts.change": CLOSED,
  "events.kind": "the kinds are a type of the program",
  "events.detail": "settings, each cut to a few hundred characters, and UUIDs of a project's channels",
  "flips.from_status": CLOSED,
  "flips.to_status": CLOSED,
  "flips.reason": CLOSED,
  "idempotency_keys.key_digest": OURS,
  "identity_challenges.answer": OURS,
  "idempotency_keys.request_digest": OURS,
  "incident_events.kind": "the kinds are a type of the program",
  "incident_events.detail": "a note, which has a limit of its own",
  "import_items.kind": CLOSED,
  "import_items.source_ref": "a UUID, an address or a digest, which have limits of their own",
  "import_items.fingerprint": OURS,
  "import_items.source_status": CLOSED,
  "import_items.detail": "numbers, and preferences that have limits of their own",
  "imports.source": "a sentence of the program with the name of a database or a URL",
  "instance_settings.name": OURS,
  "instance_settings.value": OURS,
  "intakes.name": "a setting of the process",
  "invitations.digest": OURS,
  "invitations.email": limits.EMAIL_ADDRESS_LENGTH_MAX,
  "invitations.role": CLOSED,
  "letters.kind": CLOSED,
  "letters.about": "UUIDs, addresses and reasons that have limits of their own",
  "letters.state": CLOSED,
  "letters.reason": limits.DELIVERY_ERROR_LENGTH_MAX,
  "members.role": CLOSED,
  "migration_checksums.name": "names of files of the program",
  "migration_checksums.checksum": OURS,
  "object_removals.object_key": OURS,
  "oidc_identities.issuer": limits.OIDC_ISSUER_LENGTH_MAX,
  "oidc_identities.subject": limits.OIDC_SUBJECT_LENGTH_MAX,
  "operator_incidents.trouble": "the kinds of incidents are a type of the program",
  "operator_incidents.subject": "names and ids that have limits of their own",
  "operator_incidents.said": "a sentence of the program about names that have limits of their own",
  "provider_refusals.kind": limits.CHANNEL_KIND_LENGTH_MAX,
  "provider_refusals.reason": limits.DELIVERY_ERROR_LENGTH_MAX,
  "passkeys.name": limits.PASSKEY_NAME_LENGTH_MAX,
  "passkeys.credential_id": limits.CREDENTIAL_ID_LENGTH_MAX,
  "passkeys.public_key": limits.PUBLIC_KEY_BYTES_MAX,
  "passkeys.transports": "the transports of WebAuthn; others are left out",
  "passwords.hash": OURS,
  "ping_bodies.body": "OVERDUE_PING_BODY_LIMIT and OVERDUE_EMAIL_BODY_LIMIT; what is beyond is cut",
  "ping_bodies.object_key": OURS,
  "pings.kind": CLOSED,
  "pings.scheme": limits.SCHEME_LENGTH_MAX,
  "pings.method": "HEAD, GET or POST; other methods are no pings",
  "pings.remote_addr": ADDRESS,
  "pings.ua": limits.USER_AGENT_LENGTH_MAX,
  "poisoned_checks.reason": limits.ERROR_MESSAGE_LENGTH_MAX,
  "preferences.tz": limits.TZ_LENGTH_MAX,
  "preferences.reports": CLOSED,
  "preferences.reminders": CLOSED,
  "projects.name": limits.PROJECT_NAME_LENGTH_MAX,
  "projects.tz": limits.TZ_LENGTH_MAX,
  "projects.ping_key": OURS,
  "projects.badge_key": "made by the program, or imported and cut to 150 characters",
  "projects.policy": POLICY,
  "recovery_codes.digest": OURS,
  "recovery_codes.secret_id": OURS,
  "refused_intervals.network": ADDRESS,
  "rejected_signals.reason": limits.ERROR_MESSAGE_LENGTH_MAX,
  "rejected_signals.signal": "a ping whose parts have limits of their own",
  "run_chunks.runs": "a hundred packed runs",
  "sessions.digest": OURS,
  "sessions.method": CLOSED,
  "sessions.ua": limits.USER_AGENT_LENGTH_MAX,
  "sessions.remote_addr": ADDRESS,
  "tag_rules.tag": limits.NAME_LENGTH_MAX,
  "tag_rules.policy": POLICY,
  "sign_in_steps.digest": OURS,
  "sign_in_steps.kind": CLOSED,
  "sign_in_steps.about": "random texts of the program, a path and an identity that have limits of their own",
  "sign_in_tokens.digest": OURS,
  "sign_in_tokens.purpose": CLOSED,
  "sign_in_tokens.email": limits.EMAIL_ADDRESS_LENGTH_MAX,
  "sign_in_tokens.next_path": NEXT_PATH_LENGTH_MAX,
  "sign_ins.method": CLOSED,
  "sign_ins.ua": limits.USER_AGENT_LENGTH_MAX,
  "sign_ins.remote_addr": ADDRESS,
  "incidents.key": "an address or a tag, which have limits of their own",
  "incidents.state": CLOSED,
  "incidents.severity": CLOSED,
  "silences.tag": limits.TAGS_LENGTH_MAX,
  "silences.reason": limits.SILENCE_REASON_LENGTH_MAX,
  "silences.schedule": limits.SCHEDULE_LENGTH_MAX,
  "silences.tz": limits.TZ_LENGTH_MAX,
};

/** The columns of the schema that hold text, bytes or JSON, each with the text of its table. */
function storedColumns(): { column: string; table: string }[] {
  const schema = readFileSync(new URL("../migrations/schema.sql", import.meta.url), "utf8");
  return [...schema.matchAll(/^create table (\w+) \(\n(.*?)^\)/gms)].flatMap(([, name = "", table = ""]) =>
    [...table.matchAll(/^ {2}(\w+) +(?:text|bytea|jsonb?|"char"|character|xml)/gm)]
      .filter(([, column]) => column !== "constraint")
      .map(([, column = ""]) => ({ column: `${name}.${column}`, table })),
  );
}

test("every column that stores text, bytes or JSON has a limit or a reason", () => {
  const columns = storedColumns().map(({ column }) => column);
  expect(columns.length).toBeGreaterThan(0);
  expect(columns.filter((column) => LIMITS[column] === undefined)).toEqual([]);
  expect(Object.keys(LIMITS).filter((column) => !columns.includes(column))).toEqual([]);
});

test("a column that is said to be constrained has a constraint that lists its values", () => {
  const unlisted = storedColumns().filter(({ column, table }) => {
    const name = column.split(".")[1] ?? "";
    return LIMITS[column] === CLOSED && !new RegExp(`CHECK \\(\\(?\\(?${name} = ANY`).test(table);
  });
  expect(unlisted.map(({ column }) => column)).toEqual([]);
});
