// The Server admin page: accounts, invitations, server state, and the audit log outside of projects.
import {
  AdminAccountBody,
  AdminAccountsQuery,
  AdminInvitationBody,
  type AdminKept,
  type AdminState,
  type KeptBound,
} from "../../contract/api/admin.ts";
import { CursorQuery } from "../../contract/api/types.ts";
import { invitationMethod } from "../../core/access.ts";
import { isUuid } from "../../core/identity.ts";
import type { Instant } from "../../core/instant.ts";
import { DAYS_KEPT } from "../../core/retention.ts";
import {
  changesOf,
  countNeeds,
  healthOf,
  type HealthProblem,
  healthProblemsOf,
  sweepLagMs,
} from "../../core/server-health.ts";
import { settlingOf } from "../../core/watermark.ts";
import { decodeQuarantined } from "../../intake/accepted-codec.ts";
import { changeAccount } from "../../operations/admin.ts";
import { confirmRestore } from "../../operations/database-identity.ts";
import { observeServer } from "../../operations/incidents.ts";
import { type IntakesView, readIntakes } from "../../operations/intakes.ts";
import { invite } from "../../operations/members.ts";
import { retryQuarantined } from "../../operations/quarantine.ts";
import { listAccountFacts, listAccounts } from "../../store/accounts.ts";
import type { Db } from "../../store/db.ts";
import {
  findStoredIdentity,
  listIncidents,
  listMigrations,
  readBacklog,
  readSizes,
  type StoredName,
} from "../../store/instance.ts";
import { type Intake, listOpenIntakes } from "../../store/intakes.ts";
import { countRejectedSignals, listQuarantinedPings } from "../../store/quarantine.ts";
import { auditPage } from "./projects.ts";
import { accountRoute, type WebContext, WebRefusal, type WebRoute } from "../web/route.ts";

const ACCOUNTS_PER_PAGE = 100;
const INTAKES_MAX = 200;
const QUARANTINED_SHOWN_MAX = 20;
/** Well below the time in which a request has to be answered; what is left can be retried again. */
const RETRY_MS_MAX = 20_000;

const accounts = accountRoute({
  name: "admin.accounts",
  method: "GET",
  path: "/web/api/admin/accounts",
  access: "operator",
  query: AdminAccountsQuery,
  answer: async ({ context, query }) => {
    const { database: db, checkLimitDefault } = context;
    const found = await listAccounts(db, { afterId: Number(query.after ?? 0), limit: ACCOUNTS_PER_PAGE + 1 });
    const shown = found.slice(0, ACCOUNTS_PER_PAGE);
    const facts = await listAccountFacts(
      db,
      shown.map(({ id }) => id),
    );
    const byId = new Map(facts.map((one) => [one.accountId, one]));
    return {
      json: {
        accounts: shown.map((account) => ({
          uuid: account.uuid,
          email: account.email,
          name: account.name,
          isOperator: account.isOperator,
          checkCount: account.checkCount,
          checkLimit: account.checkLimit ?? checkLimitDefault,
          hasOwnLimit: account.checkLimit !== null,
          createdAt: account.createdAt,
          signedInAt: byId.get(account.id)?.signedInAt ?? null,
          hasTotp: byId.get(account.id)?.hasTotp ?? false,
        })),
        next: found.length > ACCOUNTS_PER_PAGE ? (shown.at(-1)?.id ?? null) : null,
        invitesBy: invitationMethod({ sendsMail: context.signIn.mail, isOperator: true }),
      },
    };
  },
});

const change = accountRoute({
  name: "admin.changeAccount",
  method: "PATCH",
  path: "/web/api/admin/accounts/:account",
  access: "operator",
  reauth: true,
  body: AdminAccountBody,
  answer: async ({ context, account, params, body, now }) => {
    const accountUuid = params["account"] ?? "";
    if (!isUuid(accountUuid)) throw new WebRefusal("not_found", "Account not found.");
    await changeAccount(context.database, { actorId: account.id, accountUuid, ...body, now });
    return { json: { ok: true } };
  },
});

const inviteToServer = accountRoute({
  name: "admin.invite",
  method: "POST",
  path: "/web/api/admin/invitations",
  access: "operator",
  body: AdminInvitationBody,
  answer: async ({ context, account, body, now }) => {
    const { database, signing, signIn, site } = context;
    const of = { project: null, role: null, inviterId: account.id, byMail: signIn.mail };
    const { token } = await invite(database, { ...of, email: body.email, signing, now });
    return {
      status: 201,
      json: { link: token === null ? null : `${site.url}/accounts/invitation/${token}/` },
    };
  },
});

const state = accountRoute({
  name: "admin.state",
  method: "GET",
  path: "/web/api/admin/state",
  access: "operator",
  answer: async ({ context, now }) => ({ json: await instanceState(context, now) }),
});

async function instanceState(context: WebContext, now: Instant): Promise<AdminState> {
  const { database: db, version, signIn } = context;
  const [intakes, backlog, migrations, identity, quarantined, { look, troubles }] = await Promise.all([
    listOpenIntakes(db, { limit: INTAKES_MAX }),
    readBacklog(db, { now }),
    listMigrations(db),
    findStoredIdentity(db),
    readQuarantine(db),
    readServerState(db),
  ]);
  const { oldestSweepAt, oldestUnsentAt, unsentCount, oldestLetterAt, databaseBytes } = backlog;
  const isPastLease = ({ leaseUntilAt }: Intake) => leaseUntilAt < now;
  const sweeping = { sweepDueAt: oldestSweepAt, freshSinceAt: settlingOf(look).freshSinceAt };
  const health = healthOf(troubles, {
    now,
    ...sweeping,
    intakeCount: intakes.length,
    lostCount: intakes.filter(isPastLease).length,
    letterDueAt: oldestLetterAt,
    sendsMail: signIn.mail,
    missingMigrationCount: migrations.filter(({ appliedAt }) => appliedAt === null).length,
  });
  return {
    version,
    now,
    intakes: intakes.map((intake) => ({
      name: intake.name,
      startedAt: intake.startedAt,
      beatAt: intake.beatAt,
      isLost: isPastLease(intake),
      spoolEmpty: intake.spoolEmpty,
      spoolFill: intake.spoolFill,
      signalsPerMinute: intake.signalsPerMinute,
    })),
    signalsPerMinute: intakes
      .filter((intake) => !isPastLease(intake))
      .reduce((sum, intake) => sum + (intake.signalsPerMinute ?? 0), 0),
    sweeperLagMs: sweepLagMs({ now, ...sweeping }),
    oldestUnsentAt,
    unsentCount,
    oldestLetterAt,
    databaseBytes,
    migrations,
    troubles: troubles.map(({ kind, subject, since }) => ({ trouble: kind, subject, sinceAt: since })),
    quarantined,
    health,
    restore: identity && {
      state: identity.state,
      sinceAt: identity.stateSinceAt,
      reason: identity.reason,
    },
    needCount: countNeeds(troubles, health) + Number(identity !== null && identity.state !== "normal"),
    mail: signIn.mail,
    registrationOpen: signIn.registrationOpen,
    signIn: { oidc: signIn.oidc?.issuer ?? null, proxyHeader: signIn.proxyHeader },
  };
}

const confirm = accountRoute({
  name: "admin.confirmRestore",
  method: "POST",
  path: "/web/api/admin/confirm-restore",
  access: "operator",
  answer: async ({ context, account }) => {
    await confirmRestore(context.database, { accountId: account.id });
    return { json: { ok: true } };
  },
});

async function readQuarantine(db: Db): Promise<AdminState["quarantined"]> {
  const [{ count }, pings] = await Promise.all([
    countRejectedSignals(db),
    listQuarantinedPings(db, QUARANTINED_SHOWN_MAX),
  ]);
  return {
    count,
    pings: pings.map(({ id, at, check, reason }) => {
      return { id, receivedAt: at, check: check && (check.name || check.uuid), reason };
    }),
  };
}

const retryQuarantine = accountRoute({
  name: "admin.retryQuarantine",
  method: "POST",
  path: "/web/api/admin/quarantine/retry",
  access: "operator",
  answer: async ({ context }) => {
    const { database, visibility, pingLogLimit: pingLogRows, signalsPerMinute: ratePerMinute } = context;
    const options = {
      visibility: visibility(),
      rules: { ratePerMinute },
      pingLogRows,
      decode: decodeQuarantined,
    };
    return { json: await retryQuarantined(database, { ...options, withinMs: RETRY_MS_MAX }) };
  },
});

/** Open incidents, and current health problems that no sweeper has reported yet. */
async function readServerState(db: Db): Promise<{ look: IntakesView; troubles: HealthProblem[] }> {
  const look = await readIntakes(db);
  const [incidents, observed] = await Promise.all([
    listIncidents(db),
    // The sweeper checks the admin channel; what it found is among the incidents.
    observeServer(db, { look, unsettledSinceAt: null, locked: new Map(), channelUuid: null }),
  ]);
  const { begun } = changesOf(incidents, { troubles: healthProblemsOf(observed), now: look.now });
  return { look, troubles: [...incidents, ...begun] };
}

const retentionRoute = accountRoute({
  name: "admin.kept",
  method: "GET",
  path: "/web/api/admin/kept",
  access: "operator",
  answer: async ({ context }) => ({ json: await readRetention(context) }),
});

async function readRetention({ database, pingLogLimit, objects }: WebContext): Promise<AdminKept> {
  const days = (sort: keyof typeof DAYS_KEPT): KeptBound => ({ by: "days", days: DAYS_KEPT[sort] });
  const bounds: Readonly<Record<StoredName, KeptBound | null>> = {
    pings: { by: "perCheck", count: pingLogLimit },
    runs: days("run"),
    flips: days("flip"),
    events: days("event"),
    messages: days("delivery"),
    auditEntries: days("auditEntry"),
    signIns: days("signIn"),
    checks: { by: "deletion", days: DAYS_KEPT.deletedCheck },
    other: null,
  };
  const sizes = await readSizes(database);
  const kept = (Object.keys(bounds) as StoredName[]).map((what) => {
    const { bytes, rowCount } = sizes[what];
    return { what, bound: bounds[what], bytes, rowCount: what === "other" ? null : rowCount };
  });
  // The rest comes last, however large all of it is together.
  const isRest = ({ what }: (typeof kept)[number]) => Number(what === "other");
  const sorted = kept.toSorted((a, b) => isRest(a) - isRest(b) || b.bytes - a.bytes);
  return { kept: sorted, hasObjectStore: objects !== null };
}

const record = accountRoute({
  name: "admin.audit",
  method: "GET",
  path: "/web/api/admin/audit",
  access: "operator",
  query: CursorQuery,
  answer: async ({ context, query }) => ({
    json: await auditPage(context.database, { projectId: null, cursor: query.cursor }),
  }),
});

export const adminRoutes: readonly WebRoute[] = [
  accounts,
  change,
  inviteToServer,
  state,
  retryQuarantine,
  confirm,
  retentionRoute,
  record,
];
