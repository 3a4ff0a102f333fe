// Prevents a restored or copied database from sending notifications next to the server in service. All
// processes read the same row; the sweeper and the notifier call `readService` before each piece of work.
import { randomBytes, randomUUID } from "node:crypto";
import {
  type Asking,
  type DatabaseIdentity,
  isSameDatabase,
  type ServiceState,
  type Verdict,
  verdictOf,
} from "../core/database-identity.ts";
import { AppError } from "../core/errors.ts";
import { type Instant, MINUTE_MS } from "../core/instant.ts";
import type { AdminMessage } from "../core/message.ts";
import type { TickResult } from "../lib/loop.ts";
import { findChannelByUuid } from "../store/channels.ts";
import type { Database, Db } from "../store/db.ts";
import { insertMessages } from "../store/planning.ts";
import {
  findStoredIdentity,
  insertChallenge,
  insertIdentity,
  lockStoredIdentity,
  readActualIdentity,
  readDatabaseClock,
  type StoredIdentity,
  writeIdentity,
} from "../store/instance.ts";
import { closeAllIntakes, findHeartbeats, insertBlindInterval } from "../store/intakes.ts";
import { inTransaction, type Tx } from "../store/transaction.ts";
import { audit } from "./audit.ts";

/** Challenges are answered within seconds. */
const CHALLENGE_KEPT_MS = 10 * MINUTE_MS;
const ANSWER_BYTES = 32;

export type Service = {
  /** False: nothing may be sent, except the notice. */
  isInService: boolean;
  /** The delivery to the admin that may be sent anyway. */
  noticeId: number | null;
};

/** Whether the database behind this connection is in service. Before the first start of a server it is. */
export async function readService(db: Db): Promise<Service> {
  const [stored, actual] = await Promise.all([findStoredIdentity(db), readActualIdentity(db)]);
  const isInService = stored === null || (stored.state === "normal" && isSameDatabase(stored, actual));
  return { isInService, noticeId: stored?.noticeId ?? null };
}

/** A process that checks the identity: its public URL, null if it does not listen. */
export type Looking = { siteUrl: string | null };

/**
 * Compares the database with the one that the data was last in service in, and returns the state. The first start
 * stores where the data is. Data that has moved goes to the state "checking", from which nothing is sent.
 */
export async function checkIdentity(database: Database, { siteUrl }: Looking): Promise<ServiceState> {
  const [stored, actual] = await Promise.all([findStoredIdentity(database), readActualIdentity(database)]);
  if (stored !== null && isUpToDate(stored, { actual, siteUrl })) return stored.state;
  return inTransaction(database, async (tx) => {
    const now = await readDatabaseClock(tx);
    const before = await lockStoredIdentity(tx);
    if (before === null) {
      await insertIdentity(tx, { identity: actual, siteUrl, now });
      return "normal";
    }
    if (isSameDatabase(before, actual)) {
      const isNormal = before.state === "normal";
      const systemIdentifier = actual.systemIdentifier ?? before.systemIdentifier;
      const site = isNormal ? { siteUrl: siteUrl ?? before.siteUrl } : {};
      await writeIdentity(tx, { ...before, ...site, systemIdentifier });
      return before.state;
    }
    await writeIdentity(tx, await moved(tx, { before, actual, now }));
    return "checking";
  });
}

function isUpToDate(
  stored: StoredIdentity,
  { actual, siteUrl }: { actual: DatabaseIdentity; siteUrl: string | null },
): boolean {
  if (!isSameDatabase(stored, actual)) return false;
  if (stored.systemIdentifier === null && actual.systemIdentifier !== null) return false;
  return stored.state !== "normal" || siteUrl === null || stored.siteUrl === siteUrl;
}

async function moved(
  tx: Tx,
  { before, actual, now }: { before: StoredIdentity; actual: DatabaseIdentity; now: Instant },
): Promise<StoredIdentity> {
  const { newestHeartbeatAt } = await findHeartbeats(tx, { through: now });
  // Processes of the other database are open in the data. They would hold the watermark here until their lease ends.
  await closeAllIntakes(tx, { at: now });
  return {
    ...actual,
    siteUrl: before.siteUrl,
    state: "checking",
    stateSinceAt: now,
    // A copy of a copy in safe mode has not been in service since before the first of them.
    gapFromAt: before.state === "normal" ? newestHeartbeatAt : before.gapFromAt,
    reason: null,
    noticeId: null,
  };
}

/** What this process does next while the state is "checking"; null: the state is another one. */
export async function nextVerdict(
  database: Database,
  asking: Pick<Asking, "siteUrl" | "askedMs" | "askMsMax">,
): Promise<Verdict | null> {
  const stored = await findStoredIdentity(database);
  if (stored?.state !== "checking") return null;
  const now = await readDatabaseClock(database);
  return verdictOf({ ...asking, now, sinceAt: stored.stateSinceAt, storedSiteUrl: stored.siteUrl });
}

/** Stores a random value that only a server on this database can answer with. */
export async function createChallenge(database: Database): Promise<{ id: string; answer: string }> {
  const challenge = { id: randomUUID(), answer: randomBytes(ANSWER_BYTES).toString("base64url") };
  await inTransaction(database, async (tx) => {
    const now = await readDatabaseClock(tx);
    await insertChallenge(tx, { ...challenge, now, keptFrom: now - CHALLENGE_KEPT_MS });
  });
  return challenge;
}

/** The recipient, and how the message names this server. */
export type AdminNotice = {
  /** The channel that messages go to; null: they are only logged. */
  channelUuid: string | null;
  /** The host that this process runs on. */
  host: string;
};

/**
 * Stops sending until an admin confirms, and plans one message to the admin. False: the state is no longer
 * "checking".
 */
export function enterSafeMode(
  database: Database,
  { reason, ...notice }: AdminNotice & { reason: string },
): Promise<boolean> {
  return inTransaction(database, async (tx) => {
    const now = await readDatabaseClock(tx);
    const stored = await lockStoredIdentity(tx);
    if (stored?.state !== "checking") return false;
    await stopSending(tx, { stored, reason, now, ...notice });
    return true;
  });
}

async function stopSending(
  tx: Tx,
  { stored, reason, now, ...notice }: AdminNotice & { stored: StoredIdentity; reason: string; now: Instant },
): Promise<void> {
  const noticeId = await notifyAdmin(tx, notice, {
    kind: "operator",
    at: now,
    isOver: false,
    trouble: "safeMode",
    since: now,
    title: "Safe mode: notifications are off",
    text:
      `The database of the Overdue server on ${notice.host} was restored or copied. ${reason} Pings are recorded, ` +
      "but no notifications are sent. If this is the production server, confirm it on the Server admin page or run " +
      "`overdue admin restore confirm`. If it is a copy, no action is needed.",
  });
  await writeIdentity(tx, { ...stored, state: "safe", stateSinceAt: now, reason, noticeId });
}

/** Puts data that was just loaded from a backup into safe mode, in the transaction that has loaded it. */
export async function markRestored(
  tx: Tx,
  { reason, ...notice }: AdminNotice & { reason: string },
): Promise<void> {
  const now = await readDatabaseClock(tx);
  const actual = await readActualIdentity(tx);
  // A server that has never been started has no identity yet.
  await insertIdentity(tx, { identity: actual, siteUrl: null, now });
  const before = await lockStoredIdentity(tx);
  if (before === null) throw new Error("the identity of the database was just stored");
  const stored = await moved(tx, { before, actual, now });
  await stopSending(tx, { stored, reason, now, ...notice });
}

/**
 * Resumes after a restore, because the public URL has shown that this server is in service. False: it was
 * already.
 */
export function resumeAfterRestore(
  database: Database,
  { siteUrl, ...notice }: AdminNotice & { siteUrl: string },
): Promise<boolean> {
  return inTransaction(database, async (tx) => {
    const now = await readDatabaseClock(tx);
    const stored = await lockStoredIdentity(tx);
    if (stored?.state !== "checking") return false;
    await resume(tx, { stored: { ...stored, siteUrl }, now });
    await notifyAdmin(tx, notice, {
      kind: "operator",
      at: now,
      isOver: true,
      trouble: "databaseRestored",
      since: stored.gapFromAt ?? now,
      title: "The database was restored or moved",
      text:
        `The Overdue server on ${notice.host} is using a restored or moved database and is reachable at ${siteUrl}, so ` +
        "monitoring continues. Pings missed since the last heartbeat in the database raise no alerts.",
    });
    return true;
  });
}

/**
 * Resumes because an admin confirms that this server is in service. Pending messages are sent now. Throws
 * AppError `conflict` if there is nothing to confirm.
 */
export function confirmRestore(
  database: Database,
  { accountId }: { accountId: number | null },
): Promise<void> {
  return inTransaction(database, async (tx) => {
    const now = await readDatabaseClock(tx);
    const stored = await lockStoredIdentity(tx);
    if (stored === null || stored.state === "normal") {
      throw new AppError("conflict", "The server is not in safe mode.");
    }
    // The next check of a listening process stores the URL that is in use now.
    await resume(tx, { stored, now });
    await audit(tx, {
      accountId,
      keyId: null,
      projectId: null,
      what: "instance.restoreConfirmed",
      subject: "",
      before: { state: stored.state },
      after: { state: "normal" },
      at: now,
    });
  });
}

/** Everything since the last heartbeat in the data is a monitoring gap: no deadline in it raises an alert. */
async function resume(tx: Tx, { stored, now }: { stored: StoredIdentity; now: Instant }): Promise<void> {
  if (stored.gapFromAt !== null && stored.gapFromAt < now) {
    const gap = { intakeId: null, from: stored.gapFromAt, to: now, reason: "the database was restored" };
    await insertBlindInterval(tx, gap);
  }
  const normal = {
    state: "normal",
    stateSinceAt: now,
    gapFromAt: null,
    reason: null,
    noticeId: null,
  } as const;
  await writeIdentity(tx, { ...stored, ...normal });
}

/** Plans a message to the admin; returns its id, or null without a channel. */
async function notifyAdmin(
  tx: Tx,
  { channelUuid }: AdminNotice,
  message: AdminMessage,
): Promise<number | null> {
  const channel = channelUuid === null ? null : await findChannelByUuid(tx, channelUuid);
  if (channel === null) return null;
  const saying = { channelId: channel.id, kind: "operator" as const, about: message };
  const [id] = await insertMessages(tx, { messages: [saying], at: message.at });
  return id ?? null;
}

type Tick = (signal: AbortSignal) => Promise<TickResult>;

/** The tick of a loop, skipped while the database is a restored copy that is not in service. */
export function whileInService(database: Database, tick: Tick): Tick {
  return async (signal) => ((await readService(database)).isInService ? tick(signal) : "idle");
}
