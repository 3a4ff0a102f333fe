// Writes checks of another installation with their history: new ones as they are, known ones with what has changed.
import { createHash, randomUUID } from "node:crypto";
import {
  type Finding,
  fingerprintOf,
  type History,
  isNewPing,
  isSourceNewer,
  type Known,
  mapCheck,
  type MappedChange,
  type MappedCheck,
  type MappedPing,
  mapFlips,
  mapState,
  mapStatus,
  NO_HISTORY,
  type Note,
  readHistory,
} from "../core/import.ts";
import type { SourceCheck, SourceFlip, SourcePing } from "../core/import-source.ts";
import { newUuidIn } from "../core/identity.ts";
import type { Instant } from "../core/instant.ts";
import type { DayTotals } from "../core/run.ts";
import { type CheckState, downAtOf, isAlertOpen } from "../core/state.ts";
import { assignChannels, listAssignmentsOfChecks } from "../store/channels.ts";
import { findChecksByIds, lockStates, type StoredState, updateCheck, writeStates } from "../store/checks.ts";
import { type CheckEvent, insertEvents } from "../store/events.ts";
import { insertFlips } from "../store/flips.ts";
import {
  assignImportedChannels,
  COPY_PING_BODIES_IN,
  COPY_PINGS_IN,
  dropStatusChanges,
  findImportedChecks,
  findImportItems,
  findTakenIdentifiers,
  type ImportItem,
  insertHeldAlerts,
  insertImportedChecks,
  pingBodyLine,
  pingLine,
  writeImportItems,
} from "../store/imports.ts";
import { addDayTotals } from "../store/runs.ts";
import type { BulkTx } from "../store/transaction.ts";
import { rewriteRules } from "./rules.ts";

/** A check with what is read of it when it is written. */
export type CheckToImport = {
  check: SourceCheck;
  /** When it was read, on the clock of the database. */
  readAt: Instant;
  /** Logged pings with a higher number, oldest first. */
  pings(after: number): AsyncIterable<readonly SourcePing[]> | Iterable<readonly SourcePing[]>;
  flips(): Promise<readonly SourceFlip[]>;
};

/** The project that gets the checks. */
export type TargetProject = {
  importId: number;
  projectId: number;
  projectUuid: string;
  /** Its policies apply to the checks. */
  hasPolicies: boolean;
  silence: { id: number; until: Instant };
  /** Our channels by the UUIDs of the source. */
  channels: ReadonlyMap<string, { id: number; uuid: string }>;
  at: Instant;
};

export type CheckCounts = {
  created: number;
  updated: number;
  unchanged: number;
  left: number;
  pings: number;
  bodies: number;
  flips: number;
  events: number;
};

export function noCounts(): CheckCounts {
  return { created: 0, updated: 0, unchanged: 0, left: 0, pings: 0, bodies: 0, flips: 0, events: 0 };
}

/** What a later run has to know of a check. */
type CheckDetail = { changedAt: Instant | null };

export function fingerprint(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

type Sorted = {
  created: { to: CheckToImport; mapped: MappedCheck }[];
  known: { to: CheckToImport; mapped: MappedCheck; item: ImportItem }[];
};

/** Which of the checks are new and which were imported before. Others are left, with a finding. */
export async function sortChecks(
  db: Pick<BulkTx, "query">,
  {
    checks,
    importId,
    projectId,
  }: { checks: readonly CheckToImport[]; importId: number | null; projectId: number | null },
  note: Note,
): Promise<Sorted & { left: number }> {
  const mapped = checks.flatMap((to) => {
    const one = mapCheck(to.check, note);
    return one === null ? [] : [{ to, mapped: one }];
  });
  const uuids = mapped.map(({ mapped: { uuid } }) => uuid);
  const found = await findImportedChecks(db, uuids);
  const items =
    importId === null ? new Map() : await findImportItems(db, { importId, kind: "check", refs: uuids });
  const sorted: Sorted = { created: [], known: [] };
  for (const one of mapped) {
    const { uuid, settings } = one.mapped;
    const item: ImportItem | undefined = items.get(uuid);
    const here = found.get(uuid);
    const finding = (level: Finding["level"], why: string) =>
      note({ level, kind: "check", name: settings.name || uuid, why });
    if (item === undefined && here === undefined) sorted.created.push(one);
    else if (item === undefined) finding("collision", "A check with this UUID exists here.");
    else if (here === undefined || here.isDeleted) finding("edited", "It was deleted here.");
    else if (projectId !== null && here.projectId !== projectId) {
      finding("edited", "It was moved to another project here.");
    } else sorted.known.push({ ...one, item });
  }
  return { ...sorted, left: checks.length - sorted.created.length - sorted.known.length };
}

/** Writes checks in the caller's transaction. The pings are written as they are read. */
export async function writeChecks(
  tx: BulkTx,
  target: TargetProject,
  { checks, note, counts }: { checks: readonly CheckToImport[]; note: Note; counts: CheckCounts },
): Promise<void> {
  const sorted = await sortChecks(tx, { ...target, checks }, note);
  counts.left += sorted.left;
  const writing = newWriting(tx, counts);
  await createChecks(tx, target, { created: sorted.created, note, writing });
  await updateChecks(tx, target, { known: sorted.known, note, writing });
  await flush(writing);
  await writeRest(tx, target, writing);
}

/** Lines of COPY are sent in parts of this size. */
const PART_LENGTH_MAX = 4 * 1024 * 1024;

type Writing = {
  tx: BulkTx;
  counts: CheckCounts;
  pings: string[];
  bodies: string[];
  length: number;
  states: StoredState[];
  changes: { checkId: number; change: MappedChange }[];
  days: { checkId: number; totals: DayTotals }[];
  /** Checks whose status changes after an instant are replaced. */
  replaced: { checkId: number; after: Instant }[];
  assignments: { checkId: number; channelId: number }[];
  items: ImportItem[];
};

function newWriting(tx: BulkTx, counts: CheckCounts): Writing {
  const rows = { states: [], changes: [], days: [], replaced: [], assignments: [], items: [] };
  return { tx, counts, pings: [], bodies: [], length: 0, ...rows };
}

async function addPing(writing: Writing, checkId: number, ping: MappedPing): Promise<void> {
  const line = pingLine(checkId, ping);
  writing.pings.push(line);
  writing.length += line.length;
  writing.counts.pings += 1;
  if (ping.body !== null) {
    const body = pingBodyLine(checkId, ping, ping.body);
    writing.bodies.push(body);
    writing.length += body.length;
    writing.counts.bodies += 1;
  }
  if (writing.length >= PART_LENGTH_MAX) await flush(writing);
}

async function flush(writing: Writing): Promise<void> {
  await copyLines(writing.tx, COPY_PINGS_IN, writing.pings);
  await copyLines(writing.tx, COPY_PING_BODIES_IN, writing.bodies);
  writing.pings = [];
  writing.bodies = [];
  writing.length = 0;
}

async function copyLines(tx: BulkTx, text: string, lines: readonly string[]): Promise<void> {
  if (lines.length === 0) return;
  const copy = await tx.copyIn(text);
  await copy.write(Buffer.from(lines.join(""), "utf8"));
  await copy.end();
}

async function createChecks(
  tx: BulkTx,
  target: TargetProject,
  { created, note, writing }: { created: Sorted["created"]; note: Note; writing: Writing },
): Promise<void> {
  if (created.length === 0) return;
  const { projectId, projectUuid, at } = target;
  const badges = created.flatMap(({ mapped }) => mapped.badgeUuid ?? []);
  const taken = new Set((await findTakenIdentifiers(tx, { badge: badges })).map(({ value }) => value));
  const rows = created.map(({ mapped, to }) => {
    const isTaken = mapped.badgeUuid !== null && taken.has(mapped.badgeUuid);
    const name = mapped.settings.name || mapped.uuid;
    if (isTaken) note({ level: "collision", kind: "check", name, why: "Its badge has a new URL." });
    const badgeUuid = isTaken ? null : mapped.badgeUuid;
    return {
      uuid: mapped.uuid,
      badgeUuid: badgeUuid ?? newUuidIn(projectUuid, randomUUID, tx.slots),
      projectId,
      settings: mapped.settings,
      createdAt: mapped.createdAt ?? at,
      to,
    };
  });
  const ids = await insertImportedChecks(tx, { checks: rows, at });
  const rulesOf = target.hasPolicies
    ? await rewriteRules(tx, {
        projectId,
        checks: created.map(({ mapped }, index) => ({ id: ids[index] ?? 0, settings: mapped.settings })),
      })
    : new Map();
  for (const [index, { to, mapped }] of created.entries()) {
    const checkId = ids[index] ?? 0;
    const reader = readHistory(NO_HISTORY, null);
    const fails: Instant[] = [];
    for await (const page of to.pings(0)) {
      for (const ping of page) {
        const one = reader.add(ping);
        if (one?.kind === "fail") fails.push(one.at);
        if (one !== null) await addPing(writing, checkId, one);
      }
    }
    const changes = mapFlips(await to.flips(), fails);
    const history = reader.history();
    const state = mapState(to.check, { history, changes });
    const timing = { ...mapped.settings, rules: rulesOf.get(checkId) ?? null };
    const downAt = downAtOf({ timing, state });
    const { lastSuccessN, today } = history;
    writing.states.push({ checkId, state, downAt, sweepAt: downAt, lastSuccessN, today });
    writing.days.push(...reader.settled().map((totals) => ({ checkId, totals })));
    writing.changes.push(...changes.map((change) => ({ checkId, change })));
    const channels = channelsOf(target, mapped);
    writing.assignments.push(...channels.map(({ id }) => ({ checkId, channelId: id })));
    const written = fingerprint(
      fingerprintOf(
        mapped.settings,
        channels.map(({ uuid }) => uuid),
      ),
    );
    writing.items.push(itemOf({ to, mapped }, { checkId, written, state, changes }));
    writing.counts.created += 1;
  }
}

function channelsOf(
  { channels }: TargetProject,
  { channelUuids }: MappedCheck,
): { id: number; uuid: string }[] {
  const found = channelUuids.flatMap((uuid) => channels.get(uuid) ?? []);
  return [...new Map(found.map((channel) => [channel.id, channel])).values()];
}

function itemOf(
  { to, mapped }: Sorted["created"][number],
  of: { checkId: number; written: string | null; state: CheckState; changes: readonly MappedChange[] },
): ImportItem {
  const times = of.changes.map((change) => (change.kind === "flip" ? change.flip.at : change.at));
  const detail: CheckDetail = { changedAt: times.length === 0 ? null : Math.max(...times) };
  return {
    kind: "check",
    sourceRef: mapped.uuid,
    targetId: of.checkId,
    isCreated: true,
    fingerprint: of.written,
    sourceStatus: mapStatus(to.check.status),
    pingCount: of.state.pingCount,
    readAt: to.readAt,
    detail,
  };
}

async function updateChecks(
  tx: BulkTx,
  target: TargetProject,
  { known, note, writing }: { known: Sorted["known"]; note: Note; writing: Writing },
): Promise<void> {
  if (known.length === 0) return;
  const ids = known.map(({ item }) => item.targetId);
  const states = new Map((await lockStates(tx, ids)).map((stored) => [stored.checkId, stored]));
  const checks = new Map((await findChecksByIds(tx, ids)).map((check) => [check.id, check]));
  const assigned = Map.groupBy(await listAssignmentsOfChecks(tx, ids), ({ checkId }) => checkId);
  for (const { to, mapped, item } of known) {
    const checkId = item.targetId;
    const stored = states.get(checkId);
    const check = checks.get(checkId);
    if (stored === undefined || check === undefined) continue;
    const uuids = (assigned.get(checkId) ?? []).map(({ channelUuid }) => channelUuid);
    const channels = channelsOf(target, mapped);
    const wanted = fingerprint(
      fingerprintOf(
        mapped.settings,
        channels.map(({ uuid }) => uuid),
      ),
    );
    const isEdited = fingerprint(fingerprintOf(check.settings, uuids)) !== item.fingerprint;
    const isWanted = !isEdited && wanted !== item.fingerprint;
    if (isEdited && wanted !== item.fingerprint) {
      const name = mapped.settings.name || mapped.uuid;
      note({ level: "edited", kind: "check", name, why: "It was changed here, so its settings were kept." });
    }
    let timing = check.settings;
    if (isWanted) {
      const { rules: _, ...patch } = mapped.settings;
      await updateCheck(tx, { checkId, patch, at: target.at });
      await assignChannels(tx, { checkId, channelIds: channels.map(({ id }) => id) });
      timing = { ...mapped.settings, rules: check.settings.rules };
      if (target.hasPolicies) {
        const rules = await rewriteRules(tx, {
          projectId: target.projectId,
          checks: [{ id: checkId, settings: timing }],
        });
        timing = { ...timing, rules: rules.get(checkId) ?? null };
      }
    }
    const isNew = await continueHistory(writing, { to, mapped, item, stored, timing, isRetimed: isWanted });
    const written = isWanted ? wanted : item.fingerprint;
    const last = writing.states.findLast((one) => one.checkId === checkId)?.state ?? stored.state;
    writing.items.push({
      ...itemOf({ to, mapped }, { checkId, written, state: last, changes: isNew.changes }),
    });
    if (isWanted || isNew.isChanged) writing.counts.updated += 1;
    else if (isEdited && wanted !== item.fingerprint) writing.counts.left += 1;
    else writing.counts.unchanged += 1;
  }
}

/** Adds pings that are new here, and takes the state of the source unless pings were received here since. */
async function continueHistory(
  writing: Writing,
  given: Sorted["known"][number] & { stored: StoredState; timing: CheckSettingsOf; isRetimed: boolean },
): Promise<{ isChanged: boolean; changes: readonly MappedChange[] }> {
  const { to, item, stored, timing } = given;
  const { checkId, state: before } = stored;
  const known: Known = {
    importedCount: item.pingCount ?? 0,
    pingCount: before.pingCount,
    newestAt: before.newestAt,
  };
  const start = before.lastStartAt === null ? null : { at: before.lastStartAt, rid: before.lastStartRid };
  const reader = readHistory(historyOf(stored), start);
  const fails: Instant[] = [];
  let pingCount = 0;
  for await (const page of to.pings(before.pingCount)) {
    for (const ping of page) {
      const one = isNewPing(ping, known) ? reader.add(ping) : null;
      if (one?.kind === "fail") fails.push(one.at);
      if (one === null) continue;
      await addPing(writing, checkId, one);
      pingCount += 1;
    }
  }
  const changes = mapFlips(await to.flips(), fails);
  const history = reader.history();
  const isTaken = isSourceNewer(to.check, known);
  const { changedAt = null } = (item.detail ?? {}) as Partial<CheckDetail>;
  const news = changes.filter(
    (change) => (change.kind === "flip" ? change.flip.at : change.at) > (changedAt ?? -Infinity),
  );
  const taken = isTaken ? mapState(to.check, { history, changes }) : before;
  const state = {
    ...taken,
    commandAt: taken.commandAt ?? before.commandAt,
    pingCount: Math.max(taken.pingCount, history.lastN, before.pingCount),
    coalescedCount: before.coalescedCount,
  };
  const isSame =
    !given.isRetimed && pingCount === 0 && (!isTaken || (news.length === 0 && isSameState(state, before)));
  if (isSame) return { isChanged: false, changes };
  const downAt = downAtOf({ timing, state });
  const { lastSuccessN, today } = history;
  writing.states.push({ checkId, state, downAt, sweepAt: downAt, lastSuccessN, today });
  writing.days.push(...reader.settled().map((totals) => ({ checkId, totals })));
  // The alert of a check that has been down all the time stays as it is.
  const isStillDown = news.length === 0 && isAlertOpen(before) && isAlertOpen(state);
  if (isTaken && !isStillDown) {
    writing.replaced.push({ checkId, after: changedAt ?? 0 });
    writing.changes.push(...news.map((change) => ({ checkId, change })));
  }
  return { isChanged: true, changes };
}

type CheckSettingsOf = MappedCheck["settings"];

function historyOf({ state, lastSuccessN, today }: StoredState): History {
  const { newestAt, pingCount, endedRids } = state;
  return { newestAt, lastN: pingCount, lastSuccessN, lastEnd: null, endedRids, today };
}

function isSameState(one: CheckState, other: CheckState): boolean {
  return (
    one.status === other.status &&
    one.lastPingAt === other.lastPingAt &&
    one.lastStartAt === other.lastStartAt &&
    one.pingCount === other.pingCount
  );
}

/** States, changes of status, and what later runs need, in few statements. */
async function writeRest(tx: BulkTx, target: TargetProject, writing: Writing): Promise<void> {
  const { states, changes, days, replaced, assignments, items, counts } = writing;
  if (states.length > 0) await writeStates(tx, states);
  await assignImportedChannels(tx, assignments);
  if (days.length > 0) await addDayTotals(tx, days);
  await dropStatusChanges(tx, { checks: replaced, at: target.at });
  const flips = changes.flatMap(({ checkId, change }) =>
    change.kind === "flip" ? [{ checkId, flip: change.flip }] : [],
  );
  const flipIds = flips.length > 0 ? await insertFlips(tx, flips) : [];
  const events = changes.flatMap(({ checkId, change }): Omit<CheckEvent, "id">[] =>
    change.kind === "event"
      ? [{ checkId, at: change.at, kind: change.event, accountId: null, detail: { from: change.from } }]
      : [],
  );
  if (events.length > 0) await insertEvents(tx, events);
  counts.flips += flips.length;
  counts.events += events.length;
  const lastDown = new Map(
    flips.flatMap(({ checkId, flip }, index) =>
      flip.to === "down" ? [[checkId, { flip, id: flipIds[index] ?? 0 }] as const] : [],
    ),
  );
  const alerts = states.flatMap(({ checkId, state }) => {
    if (!isAlertOpen(state)) return [];
    const down = lastDown.get(checkId);
    const openedAt = down?.flip.at ?? state.missed?.deadlineAt ?? state.lastPingAt ?? target.at;
    const cause = down?.flip.reason === "fail" ? ("failed" as const) : ("missed" as const);
    return [{ checkId, cause, openedAt, flipId: down?.id ?? 0 }];
  });
  await insertHeldAlerts(tx, { alerts, silenceId: target.silence.id, until: target.silence.until });
  await writeImportItems(tx, { importId: target.importId, items });
}
