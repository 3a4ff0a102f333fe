// Prepares the messages of claimed deliveries: what has happened since the last message, composed by core/message.ts,
// with the facts that rendering needs. Writes nothing.
import type { AckLink } from "../core/ack-link.ts";
import type { AlertCause } from "../core/alert.ts";
import type { SendResult, SubscribedEvent } from "../core/delivery.ts";
import { mayStillSend } from "../core/fire-drill.ts";
import { parseIncidentKey } from "../core/incident.ts";
import { type Instant, MINUTE_MS, SECOND_MS } from "../core/instant.ts";
import {
  GROUP_CHECKS_LISTED_MAX,
  GROUP_MEMBERS_JUDGED_MAX,
  NOTICE_CHECKS_LISTED_MAX,
  OTHER_CHECKS_LISTED_MAX,
  TRIES_MAX,
} from "../core/limits.ts";
import {
  type AlertMessage,
  type CheckFacts,
  composeChanges,
  type Composition,
  type FlipMessage,
  groupDirection,
  type GroupKey,
  type GroupMessage,
  type LastPing,
  NO_POLICY,
  type OtherChecks,
  type PendingChange,
  type PolicyFacts,
} from "../core/message.ts";
import { isGroupable } from "../core/plan.ts";
import { beyondQuota, type ClaimQuota } from "../core/quota.ts";
import type { Rules } from "../core/rules.ts";
import type { Held } from "../core/silence.ts";
import {
  type Channel,
  type ChannelInProject,
  findChannelsByIds,
  listAssignmentsOfChecks,
} from "../store/channels.ts";
import type { CheckWithState } from "../store/checks.ts";
import type { Db } from "../store/db.ts";
import {
  type AlertFacts,
  type Delivery,
  findAlertFacts,
  findChecksForMessages,
  findGroupFacts,
  findNoticedChecks,
  findProjectHealth,
  type GroupFacts,
  listGroupLines,
  listGroupMembers,
  type SettledState,
} from "../store/deliveries.ts";
import { type DrillOfCheck, type DrillRequest, findDrillsOfChecks } from "../store/fire-drills.ts";
import { findFlips, findFlipsBefore, type StoredFlip } from "../store/flips.ts";
import { findLastPings, type Ping } from "../store/pings.ts";
import { silencesOf } from "./alert-silences.ts";

/** A message that one sender holds until its lease ends. */
export type Claim = {
  /** Identifies the claim when it is settled. */
  claimedBy: string;
  channelId: number;
  /** The account that owns the channel's project; null if the channel or its project no longer exists. */
  ownerId: number | null;
  /** The same for every attempt at the same message. */
  dedupeKey: string;
  /** Number of this attempt, from 1. */
  attempt: number;
  /** It may have been sent before, so its content must stay the same. */
  isRepeat: boolean;
  /** When the only sender that may have sent it before claimed it; null: there is none, or there were several. */
  interruptedAt: Instant | null;
  /** Its channel is failing or slow. */
  isDegraded: boolean;
  /** What it has taken from a monthly quota; null: nothing, or an earlier attempt has. */
  quota: ClaimQuota | null;
  /** The deliveries that the message settles, oldest first; at least one. */
  deliveries: readonly [Delivery, ...Delivery[]];
};

/** Which deliveries of a claim the message includes, and which it leaves out. */
export type MessageParts = Pick<Composition, "included" | "withdrawn" | "skipped">;

export type Prepared = { claim: Claim } & (
  | {
      kind: "send";
      channel: ChannelInProject;
      message: AlertMessage;
      parts: MessageParts;
      includedFlips: readonly StoredFlip[];
      /** Part of a fire drill; with `isSent` false, it is only rendered. */
      drill?: { drillId: number; isSent: boolean };
    }
  /** There is nothing to send. */
  | {
      kind: "settle";
      states: ReadonlyMap<number, SettledState>;
      reason: string;
      /** A limit has stopped it; the attempt does not count. */
      isBeyondQuota?: true;
    }
  /** A rule holds it; the attempt does not count. */
  | {
      kind: "hold";
      until: Instant;
      reason: string;
      /** Alerts that a message of their own names instead. */
      separated?: readonly number[];
    }
);

/** A message of a fire drill as it was, or would have been, sent. */
export type DrillSend = {
  title: string;
  text: string;
  requests: readonly DrillRequest[];
  renderedAt: Instant | null;
  /** Why one that was only rendered would not have been sent. */
  failure: string | null;
};

/** A message that was sent or had nothing to send. */
export type Ended =
  | {
      prepared: Extract<Prepared, { kind: "send" }>;
      result: SendResult;
      durationMs: number;
      record?: DrillRecord;
    }
  | { prepared: Exclude<Prepared, { kind: "send" }>; record?: DrillRecord };

/** What is kept of a message of a fire drill. */
export type DrillRecord = {
  drillId: number;
  channel: Pick<Channel, "id" | "uuid" | "kind" | "name">;
  answeredAt: Instant;
  sent: DrillSend | null;
};

export type PrepareOptions = {
  now: Instant;
  isSubscribed: (channel: Channel, what: SubscribedEvent) => boolean;
  projectHealth: ProjectHealthCache;
  /** The link to acknowledge an incident that is sent to a channel; null: there are none. */
  ackUrl: ((link: AckLink) => string) | null;
};

/**
 * Prepares the message of each claim, or the reason there is none; in the same order. Reads the current state
 * for many claims at once and writes nothing.
 */
export async function prepareClaims(
  db: Db,
  claims: readonly Claim[],
  options: PrepareOptions,
): Promise<Prepared[]> {
  const channels = await findChannelsByIds(db, [...new Set(claims.map(({ channelId }) => channelId))]);
  const channelById = new Map(channels.map((channel) => [channel.id, channel]));
  const prepared = new Map<Claim, Prepared>();
  const aboutFlips: Addressed[] = [];
  for (const claim of claims) {
    const channel = channelById.get(claim.channelId);
    const unsendableClaim = unsendable(claim, channel);
    if (unsendableClaim !== null) prepared.set(claim, unsendableClaim);
    else if (channel === undefined) continue;
    else if (claim.deliveries[0].flipId !== null) aboutFlips.push({ claim, channel });
    else if (claim.deliveries[0].kind === "group")
      prepared.set(claim, await prepareGroup(db, { claim, channel }, options));
    else prepared.set(claim, await prepareOther(db, { claim, channel }, options));
  }
  for (const one of await prepareFlipMessages(db, aboutFlips, options)) prepared.set(one.claim, one);
  return claims.flatMap((claim) => prepared.get(claim) ?? []).map(withinQuota);
}

/** Only a message that would be sent is stopped by a limit. */
function withinQuota(prepared: Prepared): Prepared {
  const { claim } = prepared;
  const reason = beyondQuota(claim.quota);
  if (prepared.kind !== "send" || reason === null) return prepared;
  const { included, skipped } = prepared.parts;
  const stateOf = (id: number): SettledState =>
    included.includes(id) ? "dead" : skipped.includes(id) ? "skipped" : "withdrawn";
  const states = new Map(claim.deliveries.map(({ id }) => [id, stateOf(id)]));
  return { claim, kind: "settle", states, reason, isBeyondQuota: true };
}

type Addressed = { claim: Claim; channel: ChannelInProject };

/** A check that a message to a channel may be about. */
type AboutCheck = { check: CheckWithState; drill: DrillOfCheck | null };

/** Why nothing can be sent to a channel, if so. A test or a group can reach a disabled channel. */
function unsendable(claim: Claim, channel: Channel | undefined): Prepared | null {
  if (channel === undefined) return settledWithout(claim, "withdrawn", "The channel was deleted");
  const isReached = claim.deliveries.some(({ kind, groupId }) => kind === "test" || groupId !== null);
  if (channel.disabledAt !== null && !isReached) {
    return settledWithout(claim, "dead", `The channel is disabled: ${channel.disabledReason ?? ""}`);
  }
  if (claim.attempt > TRIES_MAX) return settledWithout(claim, "dead", "All attempts were interrupted");
  return null;
}

function settledWithout(claim: Claim, state: SettledState, reason: string): Prepared {
  return { claim, kind: "settle", states: new Map(claim.deliveries.map(({ id }) => [id, state])), reason };
}

/** Messages that are not about a status change; each is one delivery. */
async function prepareOther(
  db: Db,
  { claim, channel }: Addressed,
  options: PrepareOptions,
): Promise<Prepared> {
  const [delivery] = claim.deliveries;
  const { id, kind } = delivery;
  if (kind !== "test" && !options.isSubscribed(channel, "notice"))
    return settledWithout(claim, "skipped", NOT_SUBSCRIBED);
  const parts = { included: [id], withdrawn: [], skipped: [] };
  const message = await otherMessage(db, { claim, channel }, options.now);
  if (message === null) return settledWithout(claim, "withdrawn", "The checks were deleted or moved");
  return { claim, kind: "send", channel, message, parts, includedFlips: [] };
}

const ACKNOWLEDGED = "Acknowledged before it was sent";
const NOT_SUBSCRIBED = "The channel is not set up for this type of message";

async function otherMessage(
  db: Db,
  { claim, channel }: Addressed,
  now: Instant,
): Promise<AlertMessage | null> {
  const [{ id, kind, about, blindFromAt, blindToAt }] = claim.deliveries;
  const { projectName, uuid, name } = channel;
  // Stored by us in this shape.
  if (about !== null) return about as AlertMessage;
  if (kind !== "notice" || blindFromAt === null || blindToAt === null) {
    return { kind: "test", at: now, projectName, channel: { uuid, kind: channel.kind, name } };
  }
  const noticed = await findNoticedChecks(db, {
    deliveryId: id,
    channelId: channel.id,
    blindFromAt,
    blindToAt,
    limit: NOTICE_CHECKS_LISTED_MAX,
  });
  if (noticed.checkCount === 0) return null;
  return { kind: "notice", at: now, projectName, blind: { from: blindFromAt, to: blindToAt }, ...noticed };
}

/** A group message that waits for a parent is looked at again after this time. */
const PARENT_LOOK_MS = MINUTE_MS;
/** And one that waits for an earlier message. */
const EARLIER_LOOK_MS = 10 * SECOND_MS;
/** A silence can be changed: what it holds is looked at again after this time. */
const SILENCE_LOOK_MS = MINUTE_MS;

/** A message about several checks of an incident. */
async function prepareGroup(
  db: Db,
  { claim, channel }: Addressed,
  { now, isSubscribed, ackUrl }: PrepareOptions,
): Promise<Prepared> {
  const [{ id: deliveryId, incidentId }] = claim.deliveries;
  const about = { incidentId: incidentId ?? 0, channelId: channel.id, deliveryId };
  const [facts, lines] = await Promise.all([
    findGroupFacts(db, about),
    listGroupLines(db, { ...about, limit: GROUP_CHECKS_LISTED_MAX }),
  ]);
  if (facts === null) return settledWithout(claim, "withdrawn", "The incident was deleted");
  const { parent, downCount, number, severity, projectUuid, cause } = facts;
  if (facts.projectId !== channel.projectId)
    return settledWithout(claim, "withdrawn", "The check was moved to another project");
  if (facts.isBehind && !claim.isRepeat)
    return { claim, kind: "hold", until: now + EARLIER_LOOK_MS, reason: "Waits for an earlier notification" };
  const { opened, closed } = lines;
  const { interruptedAt } = claim;
  const isReminder = opened.count + closed.count === 0;
  // A recovery is never held, and neither is what may have been sent; a reminder need not be repeated.
  const mayBeHeld = !claim.isRepeat || interruptedAt !== null || isReminder;
  if (parent?.isDown && closed.count === 0 && mayBeHeld) {
    const reason = `Held while ${parent.name === "" ? "a check that it depends on" : parent.name} is down`;
    return { claim, kind: "hold", until: now + PARENT_LOOK_MS, reason };
  }
  if (claim.isRepeat && interruptedAt !== null) {
    const before = { deliveryId, channel, at: interruptedAt, includesClosed: true };
    const { whole, alertIds } = await silenceOfGroup(db, before);
    if (alertIds.length > 0 || (whole !== null && closed.count === 0)) return unsent(claim, now);
  }
  if (!claim.isRepeat) {
    const silenced = await silenceOfGroup(db, { deliveryId, channel, at: now, includesClosed: false });
    if (silenced.whole !== null && closed.count === 0)
      return { claim, kind: "hold", ...holdBy(silenced.whole, now) };
    if (silenced.alertIds.length > 0) {
      const reason = "Sent without the checks that a silence covers";
      return { claim, kind: "hold", until: now, reason, separated: silenced.alertIds };
    }
  }
  if (isReminder && downCount === 0)
    return settledWithout(claim, "withdrawn", "The checks have recovered before it was sent");
  if (isReminder && facts.isAcknowledged) return settledWithout(claim, "withdrawn", ACKNOWLEDGED);
  const message: GroupMessage = {
    kind: "group",
    at: now,
    projectName: channel.projectName,
    projectUuid,
    incident: { number, ackUrl: ackUrlOf(facts, { channel, ackUrl }) },
    severity,
    key: groupKeyOf(facts, channel.projectName),
    state: downCount === 0 ? "up" : facts.isUpdate ? "update" : "down",
    opened: opened.checks,
    openedCount: opened.count,
    closed: closed.checks,
    closedCount: closed.count,
    downCount,
    since: facts.since ?? now,
    cause,
  };
  if (!isSubscribed(channel, groupDirection(message)))
    return settledWithout(claim, "skipped", NOT_SUBSCRIBED);
  const parts = { included: [deliveryId], withdrawn: [], skipped: [] };
  return { claim, kind: "send", channel, message, parts, includedFlips: [] };
}

/**
 * Silences of the checks that a group message says are down: the one that ends first, if all are silenced, and the
 * alerts that the channel was not told about before.
 */
async function silenceOfGroup(
  db: Db,
  {
    deliveryId,
    channel,
    at,
    includesClosed,
  }: { deliveryId: number; channel: ChannelInProject; at: Instant; includesClosed: boolean },
): Promise<{ whole: Held | null; alertIds: number[] }> {
  const { id: channelId, projectId } = channel;
  const limit = GROUP_MEMBERS_JUDGED_MAX;
  const members = await listGroupMembers(db, { deliveryId, channelId, includesClosed, limit });
  const held = await silencesOf(
    db,
    members.map((member) => ({ ...member, projectId, at })),
  );
  const [first = null] = held.filter((one) => one !== null).toSorted((one, other) => one.until - other.until);
  const alertIds = members.flatMap(({ alertId, isSaid }, index) =>
    (held[index] ?? null) === null || isSaid ? [] : [alertId],
  );
  return { whole: held.includes(null) ? null : first, alertIds };
}

/**
 * A sender was interrupted that could not have sent the message, because a silence covered it then. What has changed
 * since is planned first.
 */
function unsent(claim: Claim, now: Instant): Prepared {
  return { claim, kind: "hold", until: now, reason: "Interrupted before it was sent" };
}

function holdBy({ silence, until }: Held, now: Instant): { until: Instant; reason: string } {
  const by = silence.reason === "" ? "a silence" : `the silence “${silence.reason}”`;
  return { until: Math.min(until, now + SILENCE_LOOK_MS), reason: `Held by ${by}` };
}

function groupKeyOf({ key, parent }: GroupFacts, projectName: string): GroupKey {
  const parsed = key === null ? null : parseIncidentKey(key);
  if (parsed?.kind === "source") return { kind: "source", value: parsed.address };
  if (parsed?.kind === "tag") return { kind: "tag", value: parsed.tag };
  if (parsed?.kind === "project") return { kind: "project", value: projectName };
  return { kind: "parent", value: parent?.name ?? "" };
}

function ackUrlOf(
  { incidentId, hasAckLinks }: { incidentId: number; hasAckLinks: boolean },
  { channel, ackUrl }: { channel: { id: number } } & Pick<PrepareOptions, "ackUrl">,
): string | null {
  return hasAckLinks && ackUrl !== null ? ackUrl({ incidentId, channelId: channel.id }) : null;
}

type Composed = Addressed & {
  check: CheckWithState;
  drill: DrillOfCheck | null;
  message: NonNullable<Composition["message"]>;
  parts: MessageParts;
  includedFlips: StoredFlip[];
};

async function prepareFlipMessages(
  db: Db,
  addressed: readonly Addressed[],
  options: PrepareOptions,
): Promise<Prepared[]> {
  if (addressed.length === 0) return [];
  const [flips, before, checks] = await Promise.all([
    findFlips(db, flipIdsOf(addressed.flatMap(({ claim }) => claim.deliveries))),
    findFlipsBefore(db, addressed.flatMap(firstFlipOf)),
    findChecksForMessages(db, [...new Set(addressed.map(checkIdOf))]),
  ]);
  const flipById = new Map(flips.map((flip) => [flip.id, flip]));
  const checkById = new Map(checks.map((check) => [check.id, check]));
  const drills = await readDrills(db, addressed, checkById);
  const done: Prepared[] = [];
  const composed: Composed[] = [];
  for (const one of addressed) {
    const check = checkById.get(checkIdOf(one));
    if (check === undefined) {
      done.push(settledWithout(one.claim, "withdrawn", "The check was deleted"));
      continue;
    }
    // The old project must not learn about the check in its new project: its name, channels and other checks. A fire
    // drill has its check in a project of its own.
    const drilled = drills.get(check.id);
    const isDrill = drilled?.drill?.projectId === one.channel.projectId;
    if (check.projectId !== one.channel.projectId && !isDrill) {
      done.push(settledWithout(one.claim, "withdrawn", "The check was moved to another project"));
      continue;
    }
    const about = drilled !== undefined && isDrill ? drilled : { check, drill: null };
    const result = compose(one, { about, flipById, before, options });
    if ("kind" in result) done.push(result);
    else if (isOverdueDrill(result, options.now))
      done.push(settledWithout(one.claim, "withdrawn", "The fire drill has ended"));
    else composed.push(result);
  }
  const facts = await readAlertFacts(db, composed);
  const held = await holdSilenced(db, composed, { facts, now: options.now });
  for (const { claim, message } of composed) {
    if (message.isRepeat && facts(claim)?.isAcknowledged)
      held.set(claim, settledWithout(claim, "withdrawn", ACKNOWLEDGED));
  }
  const sent = composed.filter((one) => !held.has(one.claim));
  return [...done, ...held.values(), ...(await withFacts(db, sent, { ...options, facts }))];
}

/** What may have been sent is repeated, and closed afterwards. */
function isOverdueDrill({ claim, drill, message }: Composed, now: Instant): boolean {
  return drill !== null && message.kind === "down" && !claim.isRepeat && !mayStillSend(drill, now);
}

/**
 * The checks of fire drills, among those that belong to another project than the channel of their message. The message
 * shows the schedule of the check that the drill simulates.
 */
async function readDrills(
  db: Db,
  addressed: readonly Addressed[],
  checkById: ReadonlyMap<number, CheckWithState>,
): Promise<ReadonlyMap<number, AboutCheck>> {
  const others = addressed.flatMap((one) => {
    const check = checkById.get(checkIdOf(one));
    return check === undefined || check.projectId === one.channel.projectId ? [] : [check.id];
  });
  if (others.length === 0) return new Map();
  const drills = await findDrillsOfChecks(db, [...new Set(others)]);
  const simulated = await findChecksForMessages(
    db,
    drills.flatMap(({ asCheckId }) => asCheckId ?? []),
  );
  return new Map(
    drills.flatMap((drill): [number, AboutCheck][] => {
      const check = checkById.get(drill.checkId);
      if (check === undefined) return [];
      const as = simulated.find(
        ({ id, projectId }) => id === drill.asCheckId && projectId === drill.projectId,
      );
      const { name, slug, tags } = check.settings;
      const settings = as === undefined ? check.settings : { ...as.settings, name, slug, tags };
      return [[check.id, { check: { ...check, settings }, drill }]];
    }),
  );
}

function compose(
  { claim, channel }: Addressed,
  given: {
    about: AboutCheck;
    flipById: ReadonlyMap<number, StoredFlip>;
    before: readonly StoredFlip[];
    options: PrepareOptions;
  },
): Composed | Prepared {
  const { about, flipById, before, options } = given;
  const { check, drill } = about;
  const changes = claim.deliveries.flatMap(({ id, kind, flipId }): PendingChange[] => {
    const flip = flipById.get(flipId ?? 0);
    if (flip === undefined) return [];
    return [{ deliveryId: id, kind: kind === "correction" || kind === "repeat" ? kind : "flip", flip }];
  });
  const first = Math.min(...flipIdsOf(claim.deliveries));
  const { message, ...parts } = composeChanges(changes, {
    isSubscribed: (direction) => options.isSubscribed(channel, direction),
    before:
      before
        .filter(({ checkId, id }) => checkId === check.id && id < first)
        .toSorted(byId)
        .at(-1) ?? null,
  });
  if (message === null) return unsaid(claim, parts);
  const included = new Set(parts.included);
  const includedIds = claim.deliveries.filter(({ id }) => included.has(id)).map(({ flipId }) => flipId ?? 0);
  const includedFlips = includedIds.flatMap((id) => flipById.get(id) ?? []);
  return { claim, channel, check, drill, message, parts, includedFlips };
}

/**
 * Nothing is sent: each delivery was retracted, its flip was deleted, or the channel is not subscribed to it.
 */
function unsaid(claim: Claim, { skipped }: MessageParts): Prepared {
  const skippedIds = new Set(skipped);
  const states = new Map(
    claim.deliveries.map(({ id }): [number, SettledState] => [
      id,
      skippedIds.has(id) ? "skipped" : "withdrawn",
    ]),
  );
  const reason = skippedIds.size > 0 ? NOT_SUBSCRIBED : "Corrected before it was sent";
  return { claim, kind: "settle", states, reason };
}

/** The alert of the last change of each message; a process of the previous release plans without alerts. */
async function readAlertFacts(db: Db, composed: readonly Composed[]): Promise<FactsOf> {
  const alertIds = new Set(composed.flatMap(({ claim }) => alertIdOf(claim) ?? []));
  const facts = alertIds.size === 0 ? [] : await findAlertFacts(db, [...alertIds]);
  const factsById = new Map(facts.map((one) => [one.alertId, one]));
  return (claim) => factsById.get(alertIdOf(claim) ?? 0) ?? null;
}

type FactsOf = (claim: Claim) => AlertFacts | null;

function alertIdOf({ deliveries }: Claim): number | null {
  return deliveries.findLast(({ alertId }) => alertId !== null)?.alertId ?? null;
}

/** Problems that a silence covers although they were planned before it: they wait, unless they may have been sent. */
async function holdSilenced(
  db: Db,
  composed: readonly Composed[],
  { facts, now }: { facts: FactsOf; now: Instant },
): Promise<Map<Claim, Prepared>> {
  const held = new Map<Claim, Prepared>();
  // Of what was held, also whether it ended during the silence.
  const candidates = composed.filter(
    ({ message, claim }) =>
      message.kind === "down" || claim.deliveries.some(({ heldUntilAt }) => heldUntilAt !== null),
  );
  const judged = candidates.filter(({ claim }) => !claim.isRepeat || claim.interruptedAt !== null);
  const atOf = ({ isRepeat, interruptedAt }: Claim) => (isRepeat ? (interruptedAt ?? now) : now);
  const silences = await silencesOf(
    db,
    judged.map(({ claim, check, message }) => ({
      checkId: check.id,
      projectId: check.projectId,
      tags: check.settings.tags,
      openedAt: facts(claim)?.openedAt ?? message.since,
      at: message.kind === "down" ? atOf(claim) : Math.min(atOf(claim), message.since),
    })),
  );
  for (const [index, { claim, message }] of judged.entries()) {
    const silenced = silences[index] ?? null;
    if (silenced === null) continue;
    if (claim.isRepeat) {
      held.set(claim, unsent(claim, now));
      continue;
    }
    if (message.kind === "up") {
      held.set(claim, settledWithout(claim, "withdrawn", "The problem began and ended during a silence"));
      continue;
    }
    held.set(claim, { claim, kind: "hold", ...holdBy(silenced, now) });
  }
  return held;
}

/** What the policy adds to a message. */
function policyFactsOf(
  { claim, channel, check, message }: Composed,
  { facts, ackUrl }: { facts: FactsOf } & Pick<PrepareOptions, "ackUrl">,
): PolicyFacts {
  const alert = facts(claim);
  if (alert === null) return NO_POLICY;
  const { rules } = check.settings;
  const { heldBy, silenceReason, parentName } = alert;
  return {
    incident: {
      number: alert.number,
      ackUrl: message.kind === "down" ? ackUrlOf(alert, { channel, ackUrl }) : null,
    },
    severity: alert.severity,
    tolerance: toleranceOf(alert.cause, rules),
    releasedFrom:
      heldBy === "silence"
        ? { kind: "silence", reason: silenceReason ?? "" }
        : heldBy === "dependency" && parentName !== null
          ? { kind: "dependency", name: parentName }
          : null,
    dependentCount: alert.dependentCount,
    cause: alert.cause,
    rules,
  };
}

function toleranceOf(cause: AlertCause, rules: Rules | null): PolicyFacts["tolerance"] {
  if (rules === null) return null;
  if (isGroupable(cause)) return rules.missed > 1 ? { kind: "missed", count: rules.missed } : null;
  return rules.failures.count > 1 ? { kind: "failures", ...rules.failures } : null;
}

async function withFacts(
  db: Db,
  composed: readonly Composed[],
  { now, projectHealth, ...options }: PrepareOptions & { facts: FactsOf },
): Promise<Prepared[]> {
  if (composed.length === 0) return [];
  const checkIds = [...new Set(composed.map(({ check }) => check.id))];
  const projectIds = [...new Set(composed.map(({ check }) => check.projectId))];
  const [pings, health, assignments] = await Promise.all([
    findLastPings(
      db,
      composed.map((one) => ({ checkId: one.check.id, at: pingsUntil(one, options) })),
    ),
    projectHealth.of(db, projectIds, now),
    listAssignmentsOfChecks(db, checkIds),
  ]);
  const channelsOf = Map.groupBy(assignments, ({ checkId }) => checkId);
  return composed.map((one) => {
    const { claim, channel, check, drill, message, parts, includedFlips } = one;
    const channelUuids = (channelsOf.get(check.id) ?? []).map(({ channelUuid }) => channelUuid).toSorted();
    const full: FlipMessage = {
      ...policyFactsOf(one, options),
      ...message,
      at: now,
      check: factsOf(check, { projectName: channel.projectName, channelUuids }),
      lastPing: lastPingOf(pings, { checkId: check.id, at: pingsUntil(one, options) }),
      otherChecks: othersOf(check, health.get(check.projectId)),
    };
    const prepared = { claim, kind: "send", channel, message: full, parts, includedFlips } as const;
    if (drill === null) return prepared;
    const { drillId, isSent, projectUuid } = drill;
    return { ...prepared, message: { ...full, drill: { projectUuid } }, drill: { drillId, isSent } };
  });
}

function factsOf(
  { uuid, badgeUuid, settings, state, createdAt }: CheckWithState,
  given: { projectName: string; channelUuids: readonly string[] },
): CheckFacts {
  return { uuid, badgeUuid, settings, state, createdAt, ...given };
}

function byId(one: { id: number }, other: { id: number }): number {
  return one.id - other.id;
}

/** With a threshold, the alert opens later than the check goes down, and the last of its failures has the output. */
function pingsUntil({ claim, message }: Composed, { facts }: { facts: FactsOf }): Instant {
  return message.kind === "down" ? Math.max(message.since, facts(claim)?.openedAt ?? 0) : message.since;
}

/** Two channels may be notified about different changes of the same check. */
function lastPingOf(
  pings: readonly Ping[],
  { checkId, at }: { checkId: number; at: Instant },
): LastPing | null {
  const candidates = pings.filter((ping) => ping.checkId === checkId && ping.at <= at);
  const last = candidates.toSorted((one, other) => one.n - other.n).at(-1);
  if (last === undefined) return null;
  const { n, kind, exitStatus, durationMs, scheme, remoteAddr, ua, bodySize } = last;
  return { n, kind, at: last.at, exitStatus, durationMs, scheme, remoteAddr, ua, bodySize, body: null };
}

const NAMES = new Intl.Collator("en", { numeric: true });

/** The project without the check itself, which may have changed since the project was read. */
function othersOf({ uuid, state }: CheckWithState, health: OtherChecks | undefined): OtherChecks | null {
  if (health === undefined || health.total <= 1) return null;
  const isCounted =
    health.down.length === 0 ? state.status === "down" : health.down.some((one) => one.uuid === uuid);
  const downCount = Math.max(0, health.downCount - (isCounted ? 1 : 0));
  const down = health.down
    .filter((one) => one.uuid !== uuid)
    .toSorted((one, other) => NAMES.compare(one.name, other.name));
  const isListed = downCount <= OTHER_CHECKS_LISTED_MAX && down.length === downCount;
  return { total: health.total - 1, downCount, down: isListed ? down : [] };
}

function flipIdsOf(deliveries: Claim["deliveries"] | readonly { flipId: number | null }[]): number[] {
  return deliveries.flatMap(({ flipId }) => flipId ?? []);
}

function firstFlipOf({ claim }: Addressed): { checkId: number; flipId: number }[] {
  const [{ checkId }] = claim.deliveries;
  const flipId = Math.min(...flipIdsOf(claim.deliveries));
  return checkId === null ? [] : [{ checkId, flipId }];
}

function checkIdOf({ claim }: Addressed): number {
  return claim.deliveries[0].checkId ?? 0;
}

const PROJECTS_MAX = 10_000;

export class ProjectHealthCache {
  readonly #maxAgeMs: number;
  readonly #known = new Map<number, { at: Instant; health: OtherChecks | null }>();

  /** Entries older than this are read again. */
  constructor({ maxAgeMs }: { maxAgeMs: number }) {
    this.#maxAgeMs = maxAgeMs;
  }

  /** The state of these projects at `now`, at most `maxAgeMs` old. */
  async of(db: Db, projectIds: readonly number[], now: Instant): Promise<ReadonlyMap<number, OtherChecks>> {
    const stale = projectIds.filter(
      (id) => Math.abs(now - (this.#known.get(id)?.at ?? -Infinity)) >= this.#maxAgeMs,
    );
    if (stale.length > 0) await this.#read(db, stale, now);
    return new Map(
      projectIds.flatMap((id) => {
        const health = this.#known.get(id)?.health ?? null;
        return health === null ? [] : [[id, health]];
      }),
    );
  }

  async #read(db: Db, projectIds: readonly number[], now: Instant): Promise<void> {
    // One more than is listed, because the check of the message may be among them.
    const found = await findProjectHealth(db, { projectIds, listedMax: OTHER_CHECKS_LISTED_MAX + 1 });
    if (this.#known.size + projectIds.length > PROJECTS_MAX) this.#known.clear();
    for (const id of projectIds) this.#known.set(id, { at: now, health: found.get(id) ?? null });
  }
}
