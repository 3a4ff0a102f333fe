// What whoever runs the installation is told about it: which trouble is worth a message, when one begins and when it is
// over, and in which words. No clock is read here, and nothing is sent.
import { HOUR_MS, type Instant, MINUTE_MS, SECOND_MS } from "./instant.ts";
import { SPOOL_FILL_REPORTED } from "./limits.ts";
import type { AdminMessage } from "./message.ts";
import { HOLD_REPORTED_AFTER_MS, SETTLE_MS } from "./watermark.ts";

/** A message that nothing hinders waits no longer than this for its try. */
export const DELIVERY_STUCK_MS = 2 * MINUTE_MS;
/** A deadline that can be checked waits no longer than this for a sweeper. */
const SWEEP_STUCK_MS = 2 * MINUTE_MS;
/** Somebody who holds a check for so long has forgotten it. */
const LOCK_REPORTED_AFTER_MS = MINUTE_MS;
/** An intake that was lost is news for this long. */
export const LOSS_REPORTED_MS = HOUR_MS;
/** A trouble that nobody has seen for this long is over: shorter pauses are part of it. */
const OVER_AFTER_MS = MINUTE_MS;
/** How many are named, where there can be many. */
const NAMED_MAX = 5;

export type HealthProblemKind =
  /** Alerts about silence wait: somebody holds the watermark, nobody receives, or beats keep breaking off. */
  | "watermarkHeld"
  | "spoolFilling"
  /** Deadlines are not checked: no sweeper runs, or it makes no progress. */
  | "sweepStuck"
  | "deliveryStuck"
  | "intakeLost"
  /** The database lost pings that it had confirmed: a restored backup, or a standby that was behind. */
  | "pingsLost"
  | "checkLocked"
  | "checkPoisoned"
  | "pingQuarantined"
  /** The channel that is told of all this does not exist, or is disabled. */
  | "adminChannelUnusable";

export type HealthProblem = {
  kind: HealthProblemKind;
  /** Tells those of a kind apart, where there can be several at a time. */
  subject: string;
  since: Instant;
  /** What is the matter, in a sentence or two. */
  text: string;
};

/** What is known of the installation at a moment. */
export type Observed = {
  now: Instant;
  /** Of everybody who receives; null when nobody does. */
  watermarkAt: Instant | null;
  /** Whoever holds it. */
  holderName: string | null;
  /** The newest sign of life of anybody who receives or received; null: there was none ever. */
  newestBeatAt: Instant | null;
  /** Since when silence has not been believed, as far as whoever observes knows; null: it is. */
  unsettledSinceAt: Instant | null;
  /** Since when a deadline has waited to be checked; null: none does. */
  sweepDueAt: Instant | null;
  /** Since when heartbeats of the processes that receive have come without a gap; null: they do not. */
  freshSinceAt: Instant | null;
  spools: readonly { name: string; fill: number }[];
  lost: readonly { intakeId: string; name: string; lostAt: Instant }[];
  /** Times of which the database lost confirmed pings that no process could send again. */
  lostCommits: readonly { id: number; from: Instant; to: Instant }[];
  /** Since when a message has waited for its try that nothing hinders; null: none does. */
  deliveryDueAt: Instant | null;
  locked: readonly { name: string; since: Instant }[];
  poisoned: readonly { name: string; since: Instant; reason: string }[];
  /** The channel that OVERDUE_ADMIN_CHANNEL names; null: it is not set. */
  adminChannel: { uuid: string; state: "enabled" | "disabled" | "missing" } | null;
  /** Pings that could not be recorded, and since when there are any; null: there are none. */
  quarantined: { count: number; since: Instant } | null;
};

/** Everything that is worth telling now. */
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
  ];
}

function heldWatermark({
  now,
  watermarkAt,
  holderName,
  newestBeatAt,
  unsettledSinceAt,
}: Observed): HealthProblem[] {
  const trouble = { kind: "watermarkHeld", subject: "" } as const;
  const wait = "Alerts for missing pings are delayed until this is resolved.";
  // Before the first start of an intake nobody can be missed.
  if (watermarkAt === null && newestBeatAt === null) return [];
  const since = watermarkAt ?? newestBeatAt ?? now;
  if (now - since > HOLD_REPORTED_AFTER_MS) {
    const who =
      watermarkAt === null
        ? "No process has received pings"
        : `The process ${holderName ?? "?"} has not confirmed that all its pings are recorded`;
    return [{ ...trouble, since, text: `${who} since ${clock(since)}. ${wait}` }];
  }
  if (unsettledSinceAt === null || now - unsettledSinceAt <= SETTLE_MS + HOLD_REPORTED_AFTER_MS) return [];
  const text = `Heartbeats of the receiving processes have been interrupted repeatedly since ${clock(unsettledSinceAt)}.`;
  return [{ ...trouble, since: unsettledSinceAt, text: `${text} ${wait}` }];
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
          ? `The spool of the process ${name} has no space left: the disk or OVERDUE_SPOOL_BYTES is exhausted, or the folder is missing. Pings are rejected while the database is unavailable.`
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
    "Start a process with the role sweeper, or find out why the running one makes no progress.";
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
        `Acknowledged pings from ${clock(from)} to ${clock(to)} are missing: the database was restored or failed ` +
        "over to a state without them. Missing pings from that time raise no alerts.",
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

function named(checks: readonly { name: string }[]): string {
  const names = checks.slice(0, NAMED_MAX).map(({ name }) => name);
  const more = checks.length - names.length;
  return `${checks.length === 1 ? "the check" : "the checks"} ${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** Since when each of these checks has been held by somebody else, given what was known before. */
export function stillHeld(
  before: ReadonlyMap<number, Instant>,
  { checkIds, now }: { checkIds: readonly number[]; now: Instant },
): Map<number, Instant> {
  return new Map(checkIds.map((id) => [id, before.get(id) ?? now]));
}

/** Whether silence alerts and messages are on their way, so that somebody outside may be told that all is well. */
export function isMoving(
  troubles: readonly HealthProblem[],
  { sweptAt, now }: { sweptAt: Instant | null; now: Instant },
): boolean {
  const isSweeping = sweptAt !== null && now - sweptAt <= HOLD_REPORTED_AFTER_MS;
  return isSweeping && !troubles.some(({ kind }) => kind === "watermarkHeld" || kind === "deliveryStuck");
}

/** What an installation does, as whoever runs it sees it. */
export type Part = "receiving" | "watching" | "telling" | "letters" | "database";

/** Whether each part does what it is for; null: it is neither good nor bad. */
export type Health = Readonly<Record<Part, boolean | null>>;

const PART_OF: Readonly<Record<HealthProblemKind, Part>> = {
  watermarkHeld: "receiving",
  spoolFilling: "receiving",
  intakeLost: "receiving",
  sweepStuck: "watching",
  pingsLost: "database",
  checkLocked: "watching",
  checkPoisoned: "watching",
  pingQuarantined: "receiving",
  deliveryStuck: "telling",
  adminChannelUnusable: "telling",
};

/** What can be seen of the parts besides the troubles that are told. */
export type Backlog = {
  now: Instant;
  /** Those who receive now, and how many of them are past their lease: lost, though nobody may have said so yet. */
  intakeCount: number;
  lostCount: number;
  /** Since when a deadline waits to be judged, and a letter to be tried; null: none does. */
  sweepDueAt: Instant | null;
  letterDueAt: Instant | null;
  /** Since when signs of life have come without a gap; null: they do not. */
  freshSinceAt: Instant | null;
  sendsMail: boolean;
  missingMigrationCount: number;
};

/** For how long a deadline has waited that could have been judged: after a gap of everybody none can for a while. */
export function sweepLagMs({
  now,
  sweepDueAt,
  freshSinceAt,
}: Pick<Backlog, "now" | "sweepDueAt" | "freshSinceAt">): number {
  if (sweepDueAt === null || freshSinceAt === null) return 0;
  return Math.max(0, now - Math.max(sweepDueAt, freshSinceAt + SETTLE_MS));
}

/** How the parts are doing, given everything that is the matter. */
export function healthOf(troubles: readonly Pick<HealthProblem, "kind">[], backlog: Backlog): Health {
  const { now, intakeCount, lostCount, letterDueAt, sendsMail, missingMigrationCount } = backlog;
  const bad = new Set(troubles.map(({ kind }) => PART_OF[kind]));
  if (lostCount > 0) bad.add("receiving");
  if (sweepLagMs(backlog) > HOLD_REPORTED_AFTER_MS) bad.add("watching");
  if (letterDueAt !== null && now - letterDueAt > DELIVERY_STUCK_MS) bad.add("letters");
  if (missingMigrationCount > 0) bad.add("database");
  return {
    // Nobody for a moment is a restart, and before the first start nobody can be missed.
    receiving: bad.has("receiving") ? false : intakeCount === 0 ? null : true,
    watching: !bad.has("watching"),
    telling: !bad.has("telling"),
    letters: sendsMail ? !bad.has("letters") : null,
    database: !bad.has("database"),
  };
}

/** How many things need somebody: what is the matter, and each part that is unwell without any of it. */
export function countNeeds(troubles: readonly Pick<HealthProblem, "kind">[], health: Health): number {
  const reported = new Set(troubles.map(({ kind }) => PART_OF[kind]));
  const unreported = Object.entries(health).filter(
    ([part, isWell]) => isWell === false && !reported.has(part as Part),
  );
  return troubles.length + unreported.length;
}

/** A trouble that was told and is not over. */
export type Incident = HealthProblem & {
  /** When somebody last saw it. */
  seenAt: Instant;
};

export type Changes = {
  /** Told now. */
  begun: HealthProblem[];
  /** Told before, and seen again. */
  lasting: Incident[];
  /** Seen no more for a while: told that it is over. */
  over: Incident[];
};

/** What has changed, so that each trouble is told once when it begins and once when it is over. */
export function changesOf(
  open: readonly Incident[],
  { troubles, now }: { troubles: readonly HealthProblem[]; now: Instant },
): Changes {
  const keyOf = ({ kind, subject }: Pick<HealthProblem, "kind" | "subject">) => `${kind} ${subject}`;
  const seen = new Set(troubles.map(keyOf));
  const known = new Set(open.map(keyOf));
  return {
    begun: troubles.filter((trouble) => !known.has(keyOf(trouble))),
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
  pingQuarantined: { begun: "Pings are quarantined", over: "No pings are quarantined" },
};

/** The message about a trouble that has begun, or is over. */
export function adminMessage(
  trouble: HealthProblem,
  { at, isOver }: { at: Instant; isOver: boolean },
): AdminMessage {
  const { kind, since, text } = trouble;
  const title = isOver ? TITLES[kind].over : TITLES[kind].begun;
  const said = isOver ? `Started at ${clock(since)}: ${text}` : text;
  return { kind: "operator", at, isOver, trouble: kind, since, title, text: said };
}

function clock(at: Instant): string {
  return `${new Date(Math.floor(at / SECOND_MS) * SECOND_MS).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}
