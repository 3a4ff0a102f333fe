// Health problems of the server: which ones are reported to the admin, when they begin and end, and their
// texts. No clock is read here, and nothing is sent.
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, SECOND_MS } from "./instant.ts";
import { SPOOL_FILL_REPORTED } from "./limits.ts";
import { isPartitionName, LOG_BEHIND_REPORTED_MS } from "./log.ts";
import type { AdminMessage } from "./message.ts";
import { HOLD_REPORTED_AFTER_MS, SETTLE_MS } from "./watermark.ts";

/** A sendable message waits no longer than this for its attempt. */
export const DELIVERY_STUCK_MS = 2 * MINUTE_MS;
/** A deadline that can be checked waits no longer than this for a sweeper. */
const SWEEP_STUCK_MS = 2 * MINUTE_MS;
/** A check that is locked for this long is reported. */
const LOCK_REPORTED_AFTER_MS = MINUTE_MS;
/** How long a lost intake is reported. */
export const LOSS_REPORTED_MS = HOUR_MS;
/** How long a refused key is reported after the last refusal, so that admins are notified at most once a day. */
export const REFUSAL_REPORTED_MS = DAY_MS;
/** A problem that was not observed for this long is over; shorter pauses are part of it. */
const OVER_AFTER_MS = MINUTE_MS;
/** How many are named in a text. */
const NAMED_MAX = 5;

export type HealthProblemKind =
  /**
   * Alerts about missing pings are delayed: an intake holds the watermark, none is receiving, or heartbeats
   * have gaps.
   */
  | "watermarkHeld"
  | "spoolFilling"
  /** Deadlines are not checked: no sweeper runs, or it makes no progress. */
  | "sweepStuck"
  | "deliveryStuck"
  | "intakeLost"
  /** The database or the log lost pings that it had confirmed: a restored backup, or a standby that was behind. */
  | "pingsLost"
  | "checkLocked"
  | "checkPoisoned"
  | "pingQuarantined"
  /** The admin channel does not exist or is disabled. */
  | "adminChannelUnusable"
  /** Recorders found that the log has lost records, and an admin has to decide. */
  | "logStopped"
  /** Pings wait in the log for so long that Kafka may delete them. */
  | "logBehind"
  /** A provider refuses the key of the server, so that all channels of a kind fail. */
  | "providerKeyRefused";

export type HealthProblem = {
  kind: HealthProblemKind;
  /** Distinguishes several problems of the same kind. */
  subject: string;
  since: Instant;
  /** A description in one or two sentences. */
  text: string;
};

/** The observed state of the server. */
export type Observed = {
  now: Instant;
  /** The watermark of all open intakes; null if there is none. */
  watermarkAt: Instant | null;
  /** The intake that holds it. */
  holderName: string | null;
  /** The newest heartbeat of any intake; null: there was none. */
  newestHeartbeatAt: Instant | null;
  /** Since when no deadlines have fired because heartbeats are not fresh; null if they fire. */
  unsettledSinceAt: Instant | null;
  /** Since when a deadline has been due; null: none is. */
  sweepDueAt: Instant | null;
  /** Since when heartbeats have had no gap; null: they have one. */
  freshSinceAt: Instant | null;
  spools: readonly { name: string; fill: number }[];
  lost: readonly { intakeId: string; name: string; lostAt: Instant }[];
  /** Intervals whose confirmed pings were lost by the database and could not be sent again. */
  lostCommits: readonly { id: number; from: Instant; to: Instant }[];
  /** Since when a sendable message has been waiting; null: none is. */
  deliveryDueAt: Instant | null;
  locked: readonly { name: string; since: Instant }[];
  poisoned: readonly { name: string; since: Instant; reason: string }[];
  /** The channel that OVERDUE_ADMIN_CHANNEL names; null: it is not set. */
  adminChannel: { uuid: string; state: "enabled" | "disabled" | "missing" } | null;
  /** Pings that could not be recorded, and since when there are any; null: there are none. */
  quarantined: { count: number; since: Instant } | null;
  /** Partitions of the log that are stopped. */
  stopped: readonly { partition: number; reason: string }[];
  /** Since when pings of the log may not be applied; null: there is no log, or no process that appends to it. */
  unappliedSinceAt: Instant | null;
  /** Kinds of channels whose provider refuses the key of the server. */
  refusals: readonly { kind: string; reason: string; since: Instant }[];
};

/** All current health problems. */
export function healthProblemsOf(observed: Observed): HealthProblem[] {
  return [
    ...heldWatermark(observed),
    ...fillingSpools(observed),
    ...stuckSweep(observed),
    ...stuckDelivery(observed),
    ...lostIntakes(observed),
    ...lostPings(observed),
    ...lockedChecks(observed),
    ...poisonedChecks(observed),
    ...unusableChannel(observed),
    ...quarantinedPings(observed),
    ...refusedKeys(observed),
    ...stoppedPartitions(observed),
    ...lateRecorders(observed),
  ];
}

function heldWatermark({
  now,
  watermarkAt,
  holderName,
  newestHeartbeatAt,
  unsettledSinceAt,
}: Observed): HealthProblem[] {
  const problem = { kind: "watermarkHeld", subject: "" } as const;
  const wait = "Alerts for missing pings are delayed until this is resolved.";
  // Before the first start of an intake, none can be missing.
  if (watermarkAt === null && newestHeartbeatAt === null) return [];
  const since = watermarkAt ?? newestHeartbeatAt ?? now;
  if (now - since > HOLD_REPORTED_AFTER_MS) {
    if (watermarkAt !== null && holderName !== null && isPartitionName(holderName)) {
      const text = `Pings in the log have not been recorded since ${clock(since)} (${holderName}).`;
      const act =
        "Run `overdue log status`, and make sure that processes with the roles recorder and ping are running.";
      return [{ ...problem, since, text: `${text} ${act} ${wait}` }];
    }
    const who =
      watermarkAt === null
        ? "No process has been able to receive pings"
        : `The process ${holderName ?? "?"} has not confirmed that all its pings are recorded`;
    return [{ ...problem, since, text: `${who} since ${clock(since)}. ${wait}` }];
  }
  if (unsettledSinceAt === null || now - unsettledSinceAt <= SETTLE_MS + HOLD_REPORTED_AFTER_MS) return [];
  const text = `Heartbeats of the receiving processes have been interrupted repeatedly since ${clock(unsettledSinceAt)}.`;
  return [{ ...problem, since: unsettledSinceAt, text: `${text} ${wait}` }];
}

function fillingSpools({ now, spools }: Observed): HealthProblem[] {
  return spools
    .filter(({ fill }) => fill >= SPOOL_FILL_REPORTED)
    .map(({ name, fill }) => ({
      kind: "spoolFilling",
      subject: name,
      since: now,
      text:
        fill >= 1
          ? `The spool of the process ${name} has no space left: the disk is full, the limit OVERDUE_SPOOL_BYTES is reached, or the folder is missing. Pings are rejected while the database is unavailable.`
          : `The spool of the process ${name} is ${Math.floor(fill * 100)}% full. When it is full, pings are rejected.`,
    }));
}

function stuckSweep(observed: Observed): HealthProblem[] {
  const { sweepDueAt, locked } = observed;
  // Where the watermark is held or a check is locked, deadlines wait for a reason that is reported.
  if (sweepDueAt === null || locked.length > 0 || heldWatermark(observed).length > 0) return [];
  if (sweepLagMs(observed) <= SWEEP_STUCK_MS) return [];
  const text =
    `No deadlines have been checked since ${clock(sweepDueAt)}, so missing pings raise no alerts. ` +
    "Start a process with the role sweeper, or check why the running one makes no progress.";
  return [{ kind: "sweepStuck", subject: "", since: sweepDueAt, text }];
}

function stuckDelivery({ now, deliveryDueAt }: Observed): HealthProblem[] {
  if (deliveryDueAt === null || now - deliveryDueAt <= DELIVERY_STUCK_MS) return [];
  const text = `A notification has been due since ${clock(deliveryDueAt)} but has not been sent. Check that a process with the role notifier is running.`;
  return [{ kind: "deliveryStuck", subject: "", since: deliveryDueAt, text }];
}

function lostIntakes({ now, lost }: Observed): HealthProblem[] {
  return lost
    .filter(({ lostAt }) => now - lostAt <= LOSS_REPORTED_MS)
    .map(({ intakeId, name, lostAt }) => ({
      kind: "intakeLost",
      subject: intakeId,
      since: lostAt,
      text:
        `The process ${name} has been considered lost since ${clock(lostAt)} because it stopped sending heartbeats. Pings that it received ` +
        "but did not record are missing until it returns. Missing pings from that time raise no alerts.",
    }));
}

function lostPings({ now, lostCommits }: Observed): HealthProblem[] {
  return lostCommits
    .filter(({ to }) => now - to <= LOSS_REPORTED_MS)
    .map(({ id, from, to }) => ({
      kind: "pingsLost",
      subject: String(id),
      since: to,
      text:
        `Acknowledged pings from ${clock(from)} to ${clock(to)} are missing: the database or the log was ` +
        "restored or failed over to a state without them. Missing pings from that time raise no alerts.",
    }));
}

function lockedChecks({ now, locked }: Observed): HealthProblem[] {
  const long = locked.filter(({ since }) => now - since >= LOCK_REPORTED_AFTER_MS);
  if (long.length === 0) return [];
  const since = Math.min(...long.map((one) => one.since));
  const text = `A database session has locked ${named(long)} since ${clock(since)}, so deadlines cannot be checked.`;
  return [{ kind: "checkLocked", subject: "", since, text }];
}

function poisonedChecks({ poisoned }: Observed): HealthProblem[] {
  const [first] = poisoned;
  if (first === undefined) return [];
  const since = Math.min(...poisoned.map((one) => one.since));
  const text = `Evaluating the deadline of ${named(poisoned)} failed and is retried every hour: ${first.reason}`;
  return [{ kind: "checkPoisoned", subject: "", since, text }];
}

function unusableChannel({ now, adminChannel }: Observed): HealthProblem[] {
  if (adminChannel === null || adminChannel.state === "enabled") return [];
  const { uuid, state } = adminChannel;
  const text =
    state === "missing"
      ? `The channel ${uuid} does not exist, so health problems are only logged. Set OVERDUE_ADMIN_CHANNEL to the UUID of a channel and restart.`
      : `The channel ${uuid} is disabled, so health problems are only logged. Enable it, or set OVERDUE_ADMIN_CHANNEL to another channel and restart.`;
  return [{ kind: "adminChannelUnusable", subject: uuid, since: now, text }];
}

function quarantinedPings({ quarantined }: Observed): HealthProblem[] {
  if (quarantined === null) return [];
  const { count, since } = quarantined;
  const pings = count === 1 ? "1 ping" : `${count} pings`;
  const text =
    `${pings} could not be recorded and ${count === 1 ? "is" : "are"} quarantined. ` +
    "Run `overdue admin quarantine list` to see why, and `overdue admin quarantine retry` to try again.";
  return [{ kind: "pingQuarantined", subject: "", since, text }];
}

function refusedKeys({ refusals }: Observed): HealthProblem[] {
  return refusals.map(({ kind, reason, since }) => ({
    kind: "providerKeyRefused",
    subject: kind,
    since,
    text: `Notifications to channels of kind ${kind} fail and are retried for a day: ${reason}. Correct the setting and restart.`,
  }));
}

function stoppedPartitions({ now, stopped }: Observed): HealthProblem[] {
  const [first] = stopped;
  if (first === undefined) return [];
  const which = stopped.length === 1 ? `Partition ${first.partition}` : `${stopped.length} partitions`;
  const text =
    `${which} of the log ${stopped.length === 1 ? "is" : "are"} stopped, and alerts for missing pings wait: ${first.reason}. ` +
    "Run `overdue log status`. If the records are lost, run `overdue log accept-loss`.";
  return [{ kind: "logStopped", subject: "", since: now, text }];
}

function lateRecorders({ now, unappliedSinceAt: since }: Observed): HealthProblem[] {
  if (since === null || now - since <= LOG_BEHIND_REPORTED_MS) return [];
  const text =
    `Pings in the log have not been applied since ${clock(since)}. Kafka deletes them when the retention of the topic ends; before that, ` +
    "pings are rejected. Start a process with the role recorder, or check why the running one makes no progress.";
  return [{ kind: "logBehind", subject: "", since, text }];
}

function named(checks: readonly { name: string }[]): string {
  const names = checks.slice(0, NAMED_MAX).map(({ name }) => name);
  const more = checks.length - names.length;
  return `${checks.length === 1 ? "the check" : "the checks"} ${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** Since when each of these checks has been locked by others, given the previous result. */
export function stillHeld(
  before: ReadonlyMap<number, Instant>,
  { checkIds, now }: { checkIds: readonly number[]; now: Instant },
): Map<number, Instant> {
  return new Map(checkIds.map((id) => [id, before.get(id) ?? now]));
}

/** Whether alerts and messages are being processed, so that an external monitor may be pinged. */
export function isMoving(
  problems: readonly HealthProblem[],
  { sweptAt, now }: { sweptAt: Instant | null; now: Instant },
): boolean {
  const isSweeping = sweptAt !== null && now - sweptAt <= HOLD_REPORTED_AFTER_MS;
  return isSweeping && !problems.some(({ kind }) => kind === "watermarkHeld" || kind === "deliveryStuck");
}

/** The parts of the server as shown to the admin. */
export type Part = "receiving" | "monitoring" | "notifications" | "email" | "database";

/** Whether each part works; null: unknown. */
export type Health = Readonly<Record<Part, boolean | null>>;

const PART_OF: Readonly<Record<HealthProblemKind, Part>> = {
  watermarkHeld: "receiving",
  spoolFilling: "receiving",
  intakeLost: "receiving",
  logStopped: "receiving",
  logBehind: "receiving",
  sweepStuck: "monitoring",
  pingsLost: "database",
  checkLocked: "monitoring",
  checkPoisoned: "monitoring",
  pingQuarantined: "receiving",
  deliveryStuck: "notifications",
  adminChannelUnusable: "notifications",
  providerKeyRefused: "notifications",
};

/** Facts about the parts in addition to health problems. */
export type Backlog = {
  now: Instant;
  /** Open intakes, and how many of them are past their lease but not yet declared lost. */
  intakeCount: number;
  lostCount: number;
  /** Since when a deadline and an email have been due; null: none is. */
  sweepDueAt: Instant | null;
  letterDueAt: Instant | null;
  /** Since when heartbeats have had no gap; null: they have one. */
  freshSinceAt: Instant | null;
  sendsMail: boolean;
  missingMigrationCount: number;
};

/**
 * How long a deadline has been due that could have been evaluated: after a gap of all intakes, none can for a
 * while.
 */
export function sweepLagMs({
  now,
  sweepDueAt,
  freshSinceAt,
}: Pick<Backlog, "now" | "sweepDueAt" | "freshSinceAt">): number {
  if (sweepDueAt === null || freshSinceAt === null) return 0;
  return Math.max(0, now - Math.max(sweepDueAt, freshSinceAt + SETTLE_MS));
}

/** The health of each part. */
export function healthOf(problems: readonly Pick<HealthProblem, "kind">[], backlog: Backlog): Health {
  const { now, intakeCount, lostCount, letterDueAt, sendsMail, missingMigrationCount } = backlog;
  const bad = new Set(problems.map(({ kind }) => PART_OF[kind]));
  if (lostCount > 0) bad.add("receiving");
  if (sweepLagMs(backlog) > HOLD_REPORTED_AFTER_MS) bad.add("monitoring");
  if (letterDueAt !== null && now - letterDueAt > DELIVERY_STUCK_MS) bad.add("email");
  if (missingMigrationCount > 0) bad.add("database");
  return {
    // No intake for a moment is a restart, and before the first start none can be missing.
    receiving: bad.has("receiving") ? false : intakeCount === 0 ? null : true,
    monitoring: !bad.has("monitoring"),
    notifications: !bad.has("notifications"),
    email: sendsMail ? !bad.has("email") : null,
    database: !bad.has("database"),
  };
}

/** Number of items that need attention: health problems, and unhealthy parts without one. */
export function countNeeds(problems: readonly Pick<HealthProblem, "kind">[], health: Health): number {
  const reported = new Set(problems.map(({ kind }) => PART_OF[kind]));
  const unreported = Object.entries(health).filter(
    ([part, isWell]) => isWell === false && !reported.has(part as Part),
  );
  return problems.length + unreported.length;
}

/** A reported health problem that is not over. */
export type Incident = HealthProblem & {
  /** When it was last observed. */
  seenAt: Instant;
};

export type Changes = {
  /** To report now. */
  begun: HealthProblem[];
  /** Reported before and still present. */
  lasting: Incident[];
  /** Not observed for a while: report that it is over. */
  over: Incident[];
};

/**
 * Compares problems with open incidents, so that each is reported once when it begins and once when it is
 * over.
 */
export function changesOf(
  open: readonly Incident[],
  { problems, now }: { problems: readonly HealthProblem[]; now: Instant },
): Changes {
  const keyOf = ({ kind, subject }: Pick<HealthProblem, "kind" | "subject">) => `${kind} ${subject}`;
  const seen = new Set(problems.map(keyOf));
  const known = new Set(open.map(keyOf));
  return {
    begun: problems.filter((problem) => !known.has(keyOf(problem))),
    lasting: open.filter((incident) => seen.has(keyOf(incident))),
    over: open.filter((incident) => !seen.has(keyOf(incident)) && now - incident.seenAt >= OVER_AFTER_MS),
  };
}

const TITLES: Readonly<Record<HealthProblemKind, { begun: string; over: string }>> = {
  watermarkHeld: {
    begun: "Alerts for missing pings are delayed",
    over: "Alerts for missing pings are on time again",
  },
  spoolFilling: { begun: "A spool is filling up", over: "The spool has free space again" },
  sweepStuck: { begun: "Deadlines are not being checked", over: "Deadlines are being checked again" },
  deliveryStuck: { begun: "Notifications are not being sent", over: "Notifications are being sent again" },
  intakeLost: { begun: "A receiving process was lost", over: "No other processes were lost" },
  pingsLost: {
    begun: "Acknowledged pings are missing from the database",
    over: "No other pings are missing from the database",
  },
  checkLocked: {
    begun: "A check is locked in the database",
    over: "No checks are locked in the database",
  },
  checkPoisoned: {
    begun: "The deadline of a check cannot be evaluated",
    over: "All deadlines can be evaluated again",
  },
  adminChannelUnusable: {
    begun: "The admin channel cannot be used",
    over: "The admin channel can be used again",
  },
  providerKeyRefused: {
    begun: "A provider rejects the server's key",
    over: "The provider accepts the server's key again",
  },
  logStopped: { begun: "A partition of the log is stopped", over: "No partition of the log is stopped" },
  logBehind: {
    begun: "Pings in the log may be deleted before they are applied",
    over: "Pings in the log are applied in time again",
  },
  pingQuarantined: { begun: "Pings are quarantined", over: "No pings are quarantined" },
};

/** The message about a health problem that has begun or is over. */
export function adminMessage(
  problem: HealthProblem,
  { at, isOver }: { at: Instant; isOver: boolean },
): AdminMessage {
  const { kind, since, text } = problem;
  const title = isOver ? TITLES[kind].over : TITLES[kind].begun;
  const said = isOver ? `Started at ${clock(since)}: ${text}` : text;
  return { kind: "operator", at, isOver, trouble: kind, since, title, text: said };
}

function clock(at: Instant): string {
  return `${new Date(Math.floor(at / SECOND_MS) * SECOND_MS).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}
