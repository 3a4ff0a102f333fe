// Handlers of server administration: accounts, invitations, health, retention, and the audit log outside of projects.
import type { adminRoutes, Retention, RetentionLimit, ServerState } from "../../contract/api/admin.ts";
import { invitationMethod } from "../../core/access.ts";
import type { Instant } from "../../core/instant.ts";
import { isPartitionName, openEdges, type PartitionProgress, unappliedSince } from "../../core/log.ts";
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
import { lastFireDrill } from "../../operations/fire-drills.ts";
import { observeServer } from "../../operations/server-health.ts";
import { type IntakesView, readIntakes } from "../../operations/intakes.ts";
import { RECORDER_LOST_AFTER_MS } from "../../operations/log.ts";
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
import { listLogPartitions, listRecorders } from "../../store/log-partitions.ts";
import { countRejectedSignals, listQuarantinedPings } from "../../store/quarantine.ts";
import { presentSummary } from "./fire-drills.ts";
import { uuidParam } from "./params.ts";
import { auditPage } from "./projects.ts";
import type { ApiContext, ApiHandlers } from "./route.ts";
import { setupHandlers } from "./setup.ts";

const ACCOUNTS_PER_PAGE = 100;
/** With the partitions of a log, at most 256. */
const INTAKES_MAX = 500;
const QUARANTINED_SHOWN_MAX = 20;
/** Well below the time limit of a response. The rest can be retried with another request. */
const RETRY_MS_MAX = 15_000;

async function serverState(context: ApiContext, now: Instant): Promise<ServerState> {
  const { database: db, version, sendsMail, signIn } = context;
  const [open, partitions, backlog, migrations, identity, quarantined, fireDrill, { look, problems }] =
    await Promise.all([
      listOpenIntakes(db, { limit: INTAKES_MAX }),
      listLogPartitions(db),
      readBacklog(db, { now }),
      listMigrations(db),
      findStoredIdentity(db),
      readQuarantine(db),
      readFireDrill(db),
      readServerState(db),
    ]);
  const { oldestSweepAt, oldestUnsentAt, unsentCount, oldestLetterAt, databaseBytes } = backlog;
  const intakes = open.filter(({ name }) => !isPartitionName(name));
  const edges = openEdges(partitions);
  const isPastLease = ({ leaseUntilAt }: Intake) => leaseUntilAt < now;
  const sweeping = { sweepDueAt: oldestSweepAt, freshSinceAt: settlingOf(look).freshSinceAt };
  const health = healthOf(problems, {
    now,
    ...sweeping,
    intakeCount: intakes.length + edges.length,
    lostCount: intakes.filter(isPastLease).length,
    letterDueAt: oldestLetterAt,
    sendsMail,
    missingMigrationCount: migrations.filter(({ appliedAt }) => appliedAt === null).length,
  });
  return {
    version,
    now,
    intakes: [
      ...intakes.map((intake) => ({
        name: intake.name,
        startedAt: intake.startedAt,
        heartbeatAt: intake.heartbeatAt,
        isLost: isPastLease(intake),
        spoolEmpty: intake.spoolEmpty,
        spoolFill: intake.spoolFill,
        pingsPerMinute: intake.signalsPerMinute,
      })),
      ...edges.map(({ id, enteredAt, at }) => ({
        name: `edge ${id}`,
        startedAt: enteredAt,
        heartbeatAt: at,
        isLost: false,
        spoolEmpty: true,
        spoolFill: 0,
        pingsPerMinute: null,
      })),
    ],
    pingsPerMinute:
      partitions.length > 0
        ? null
        : intakes
            .filter((intake) => !isPastLease(intake))
            .reduce((sum, intake) => sum + (intake.signalsPerMinute ?? 0), 0),
    log: partitions.length === 0 ? null : await readLog(db, partitions, now),
    sweeperLagMs: sweepLagMs({ now, ...sweeping }),
    oldestUnsentAt,
    unsentCount,
    oldestEmailAt: oldestLetterAt,
    databaseBytes,
    migrations,
    problems: problems.map(({ kind, subject, since }) => ({ kind, subject, since })),
    quarantined,
    health,
    restore: identity && {
      state: identity.state,
      since: identity.stateSinceAt,
      reason: identity.reason,
    },
    fireDrill,
    problemCount: countNeeds(problems, health) + Number(identity !== null && identity.state !== "normal"),
    sendsMail,
    registrationOpen: signIn.registrationOpen,
    signIn: { oidcIssuer: signIn.oidcIssuer, proxyHeader: signIn.proxyHeader },
  };
}

async function readLog(
  db: Db,
  partitions: readonly PartitionProgress[],
  now: Instant,
): Promise<ServerState["log"]> {
  return {
    partitions: partitions.length,
    stopped: partitions.filter(({ stopped }) => stopped !== null).length,
    recorders: (await listRecorders(db)).filter(({ seenAt }) => now - seenAt <= RECORDER_LOST_AFTER_MS)
      .length,
    behindMs: Math.max(0, now - (unappliedSince(partitions) ?? now)),
  };
}

async function readFireDrill(db: Db): Promise<ServerState["fireDrill"]> {
  const last = await lastFireDrill(db);
  if (last === null) return null;
  const { endedAt, outcome, isSent, durationMs, channelCount } = presentSummary(last, null);
  if (endedAt === null || outcome === null) return null;
  const project = { id: last.project.uuid, name: last.project.name };
  return { project, endedAt, outcome, isSent, durationMs, channelCount };
}

async function readQuarantine(db: Db): Promise<ServerState["quarantined"]> {
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

/** Open incidents, and current health problems that no sweeper has reported yet. */
async function readServerState(db: Db): Promise<{ look: IntakesView; problems: HealthProblem[] }> {
  const look = await readIntakes(db);
  const [incidents, observed] = await Promise.all([
    listIncidents(db),
    // The sweeper checks the admin channel; the problems it found are among the incidents.
    observeServer(db, { look, unsettledSinceAt: null, locked: new Map(), channelUuid: null }),
  ]);
  const { begun } = changesOf(incidents, { problems: healthProblemsOf(observed), now: look.now });
  return { look, problems: [...incidents, ...begun] };
}

async function readRetention(context: ApiContext): Promise<Retention> {
  const { database, pingLogLimit, retention: kept, objects } = context;
  const days = (count: number): RetentionLimit => ({ by: "days", days: count });
  const limits: Readonly<Record<StoredName, RetentionLimit | null>> = {
    pings: { by: "perCheck", count: pingLogLimit, days: kept.ping },
    runs: days(DAYS_KEPT.run),
    flips: days(kept.flip),
    events: days(kept.event),
    messages: days(kept.delivery),
    auditEntries: days(kept.auditEntry),
    signIns: days(DAYS_KEPT.signIn),
    checks: { by: "deletion", days: DAYS_KEPT.deletedCheck },
    other: null,
  };
  const sizes = await readSizes(database);
  const retention = (Object.keys(limits) as StoredName[]).map((data) => {
    const { bytes, rowCount } = sizes[data];
    return { data, limit: limits[data], bytes, rowCount: data === "other" ? null : rowCount };
  });
  // The remaining ones come last, regardless of size.
  const isRest = ({ data }: (typeof retention)[number]) => Number(data === "other");
  const sorted = retention.toSorted((a, b) => isRest(a) - isRest(b) || b.bytes - a.bytes);
  return { retention: sorted, hasObjectStore: objects !== null };
}

export const adminHandlers: ApiHandlers<typeof adminRoutes> = {
  ...setupHandlers,
  listAccounts: async ({ context, query }) => {
    const { database: db, checkLimitDefault, sendsMail } = context;
    const afterId = Number(query.cursor ?? 0);
    const found = await listAccounts(db, { afterId, limit: ACCOUNTS_PER_PAGE + 1 });
    const shown = found.slice(0, ACCOUNTS_PER_PAGE);
    const facts = await listAccountFacts(
      db,
      shown.map(({ id }) => id),
    );
    const byId = new Map(facts.map((one) => [one.accountId, one]));
    const last = found.length > ACCOUNTS_PER_PAGE ? shown.at(-1) : undefined;
    return {
      json: {
        accounts: shown.map((account) => ({
          id: account.uuid,
          email: account.email,
          name: account.name,
          isAdmin: account.isAdmin,
          checkCount: account.checkCount,
          checkLimit: account.checkLimit ?? checkLimitDefault,
          hasOwnLimit: account.checkLimit !== null,
          createdAt: account.createdAt,
          signedInAt: byId.get(account.id)?.signedInAt ?? null,
          hasTotp: byId.get(account.id)?.hasTotp ?? false,
        })),
        next: last === undefined ? null : String(last.id),
        // Admins can always invite.
        invitesBy: invitationMethod({ sendsMail, isAdmin: true }) ?? "link",
      },
    };
  },
  updateAccountAsAdmin: async ({ context, account, params, body, now }) => {
    const { checkLimit, isAdmin } = body;
    await changeAccount(context.database, {
      actorId: account.id,
      accountUuid: uuidParam(params.account),
      ...(checkLimit !== undefined && { checkLimit }),
      ...(isAdmin !== undefined && { isAdmin: isAdmin }),
      now,
    });
    return { json: null };
  },
  inviteAccount: async ({ context, account, body, now }) => {
    const { database, signing, sendsMail, site } = context;
    const invitation = { project: null, role: null, inviterId: account.id, byMail: sendsMail };
    const { token } = await invite(database, { ...invitation, email: body.email, signing, now });
    return { json: { link: token === null ? null : `${site.url}/accounts/invitation/${token}/` } };
  },
  getServerState: async ({ context, now }) => ({ json: await serverState(context, now) }),
  confirmRestore: async ({ context, account }) => {
    await confirmRestore(context.database, { accountId: account.id });
    return { json: null };
  },
  retryQuarantine: async ({ context }) => {
    const { database, visibility, pingLogLimit: pingLogRows, signalsPerMinute: ratePerMinute } = context;
    const options = {
      visibility: visibility(),
      rules: { ratePerMinute },
      pingLogRows,
      decode: decodeQuarantined,
    };
    return { json: await retryQuarantined(database, { ...options, withinMs: RETRY_MS_MAX }) };
  },
  getRetention: async ({ context }) => ({ json: await readRetention(context) }),
  listServerAudit: async ({ context, query }) => ({
    json: await auditPage(context.database, { projectId: null, cursor: query.cursor }),
  }),
};
