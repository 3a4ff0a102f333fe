// Turns claimed deliveries into messages: reads how things are now, for many of them at once, and asks core what is
// to be said. Nothing is sent here, and nothing is written.
import type {
  AlertMessage,
  CheckFacts,
  FlipMessage,
  LastPing,
  OtherChecks,
} from "../../core/alerts/message.ts";
import { type Composition, composeNews, type PendingNews } from "../../core/alerts/pending-news.ts";
import type { Hearing } from "../../core/alerts/sending.ts";
import type { Instant } from "../../core/instant.ts";
import { NOTICE_CHECKS_LISTED_MAX, OTHER_CHECKS_LISTED_MAX, TRIES_MAX } from "../../core/limits.ts";
import type { Channel } from "../../store/alerts/channels.ts";
import { type ChannelInProject, findChannelsByIds } from "../../store/alerts/channels.ts";
import { listAssignmentsOfChecks } from "../../store/alerts/check-channels.ts";
import type { SettledState } from "../../store/alerts/deliveries.ts";
import { findNoticedChecks, findToldChecks } from "../../store/alerts/message-facts.ts";
import type { CheckWithState } from "../../store/checks/checks.ts";
import type { Db } from "../../store/db.ts";
import { findFlips, findFlipsBefore, type StoredFlip } from "../../store/history/flips.ts";
import { findLastPings, type Ping } from "../../store/history/pings.ts";
import type { Claim } from "./claim-deliveries.ts";
import type { Neighbours } from "./neighbours.ts";

/** What becomes of each delivery of a message once it is sent. */
export type Sentence = Pick<Composition, "told" | "withdrawn" | "skipped">;

export type Prepared = { claim: Claim } & (
  | {
      kind: "send";
      channel: ChannelInProject;
      message: AlertMessage;
      sentence: Sentence;
      toldFlips: readonly StoredFlip[];
    }
  /** Nothing is to be said. */
  | { kind: "settle"; states: ReadonlyMap<number, SettledState>; reason: string }
);

export type PrepareOptions = {
  now: Instant;
  hears: (channel: Channel, what: Hearing) => boolean;
  /** How the other checks of a project are; null: messages say nothing about them. */
  neighbours: Neighbours | null;
};

/** The message of each claim, or why there is none; in the same order. */
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
    const obstacle = obstacleTo(claim, channel);
    if (obstacle !== null) prepared.set(claim, obstacle);
    else if (channel === undefined) continue;
    else if (claim.deliveries[0].flipId !== null) aboutFlips.push({ claim, channel });
    else prepared.set(claim, await prepareOther(db, { claim, channel }, options));
  }
  for (const one of await prepareFlipMessages(db, aboutFlips, options)) prepared.set(one.claim, one);
  return claims.flatMap((claim) => prepared.get(claim) ?? []);
}

type Addressed = { claim: Claim; channel: ChannelInProject };

/** Why nothing can be sent to a channel, whatever it is about. A test, or a group, may reach a disabled one. */
function obstacleTo(claim: Claim, channel: Channel | undefined): Prepared | null {
  if (channel === undefined) return settled(claim, "withdrawn", "The channel was deleted");
  const isReached = claim.deliveries.some(({ kind, groupId }) => kind === "test" || groupId !== null);
  if (channel.disabledAt !== null && !isReached) {
    return settled(claim, "dead", `The channel is disabled: ${channel.disabledReason ?? ""}`);
  }
  if (claim.attempt > TRIES_MAX) return settled(claim, "dead", "All attempts were interrupted");
  return null;
}

function settled(claim: Claim, state: SettledState, reason: string): Prepared {
  return { claim, kind: "settle", states: new Map(claim.deliveries.map(({ id }) => [id, state])), reason };
}

/** Messages about anything but a check's status: each of them is one delivery. */
async function prepareOther(
  db: Db,
  { claim, channel }: Addressed,
  options: PrepareOptions,
): Promise<Prepared> {
  const [delivery] = claim.deliveries;
  const { id, kind } = delivery;
  if (kind !== "test" && !options.hears(channel, "notice")) return settled(claim, "skipped", NOT_HEARD);
  const sentence = { told: [id], withdrawn: [], skipped: [] };
  const message = await otherMessage(db, { claim, channel }, options.now);
  if (message === null) return settled(claim, "withdrawn", "The checks were deleted or moved");
  return { claim, kind: "send", channel, message, sentence, toldFlips: [] };
}

const NOT_HEARD = "The channel is not set up for this type of message";

async function otherMessage(
  db: Db,
  { claim, channel }: Addressed,
  now: Instant,
): Promise<AlertMessage | null> {
  const [{ id, kind, about, blindFromAt, blindToAt }] = claim.deliveries;
  const { projectName, uuid, name } = channel;
  // Written by us, in this shape.
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

type Composed = Addressed & {
  check: CheckWithState;
  message: NonNullable<Composition["message"]>;
  sentence: Sentence;
  toldFlips: StoredFlip[];
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
    findToldChecks(db, [...new Set(addressed.map(checkIdOf))]),
  ]);
  const flipById = new Map(flips.map((flip) => [flip.id, flip]));
  const checkById = new Map(checks.map((check) => [check.id, check]));
  const done: Prepared[] = [];
  const composed: Composed[] = [];
  for (const one of addressed) {
    const check = checkById.get(checkIdOf(one));
    if (check === undefined) {
      done.push(settled(one.claim, "withdrawn", "The check was deleted"));
      continue;
    }
    // Whoever was told of it there is not told what became of it elsewhere: its name, its channels, its neighbours.
    if (check.projectId !== one.channel.projectId) {
      done.push(settled(one.claim, "withdrawn", "The check was moved to another project"));
      continue;
    }
    const result = compose(one, { check, flipById, before, options });
    if ("kind" in result) done.push(result);
    else composed.push(result);
  }
  return [...done, ...(await withFacts(db, composed, options))];
}

function compose(
  { claim, channel }: Addressed,
  given: {
    check: CheckWithState;
    flipById: ReadonlyMap<number, StoredFlip>;
    before: readonly StoredFlip[];
    options: PrepareOptions;
  },
): Composed | Prepared {
  const { check, flipById, before, options } = given;
  const news = claim.deliveries.flatMap(({ id, kind, flipId }): PendingNews[] => {
    const flip = flipById.get(flipId ?? 0);
    if (flip === undefined) return [];
    return [{ deliveryId: id, kind: kind === "correction" ? "correction" : "flip", flip }];
  });
  const first = Math.min(...flipIdsOf(claim.deliveries));
  const { message, ...sentence } = composeNews(news, {
    hears: (direction) => options.hears(channel, direction),
    before:
      before
        .filter(({ checkId, id }) => checkId === check.id && id < first)
        .toSorted(byId)
        .at(-1) ?? null,
  });
  if (message === null) return unsaid(claim, sentence);
  const told = new Set(sentence.told);
  const toldIds = claim.deliveries.filter(({ id }) => told.has(id)).map(({ flipId }) => flipId ?? 0);
  const toldFlips = toldIds.flatMap((id) => flipById.get(id) ?? []);
  return { claim, channel, check, message, sentence, toldFlips };
}

/** Nobody is told: what is not unheard of was taken back, or its flip is forgotten. */
function unsaid(claim: Claim, { skipped }: Sentence): Prepared {
  const unheard = new Set(skipped);
  const states = new Map(
    claim.deliveries.map(({ id }): [number, SettledState] => [id, unheard.has(id) ? "skipped" : "withdrawn"]),
  );
  const reason = unheard.size > 0 ? NOT_HEARD : "Corrected before it was sent";
  return { claim, kind: "settle", states, reason };
}

async function withFacts(
  db: Db,
  composed: readonly Composed[],
  { now, neighbours }: PrepareOptions,
): Promise<Prepared[]> {
  if (composed.length === 0) return [];
  const checkIds = [...new Set(composed.map(({ check }) => check.id))];
  const projectIds = [...new Set(composed.map(({ check }) => check.projectId))];
  const [pings, health, assignments] = await Promise.all([
    findLastPings(
      db,
      composed.map(({ check, message }) => ({ checkId: check.id, at: message.since })),
    ),
    neighbours?.of(db, projectIds, now),
    listAssignmentsOfChecks(db, checkIds),
  ]);
  const channelsOf = Map.groupBy(assignments, ({ checkId }) => checkId);
  return composed.map(({ claim, channel, check, message, sentence, toldFlips }) => {
    const channelUuids = (channelsOf.get(check.id) ?? []).map(({ channelUuid }) => channelUuid).toSorted();
    const full: FlipMessage = {
      ...message,
      at: now,
      check: factsOf(check, { projectName: channel.projectName, channelUuids }),
      lastPing: lastPingOf(pings, { checkId: check.id, at: message.since }),
      otherChecks: othersOf(check, health?.get(check.projectId)),
    };
    return { claim, kind: "send", channel, message: full, sentence, toldFlips };
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

/** Two channels may be told of the same check at different moments of it. */
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

/** The project without the check itself. It may have changed since its project was looked at. */
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
