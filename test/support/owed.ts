// Pending messages, for tests of planning, claiming and sending: a check with channels, and its flips.
import { randomUUID } from "node:crypto";
import type { AlertChange } from "../../src/core/alert.ts";
import type { CheckSettings } from "../../src/core/check.ts";
import type { SendResult } from "../../src/core/delivery.ts";
import type { Instant } from "../../src/core/instant.ts";
import type { Flip } from "../../src/core/state.ts";
import { planAlerts } from "../../src/operations/plan-alerts.ts";
import { writeAlerts } from "../../src/store/alerts.ts";
import { assignChannels, type Channel, insertChannel } from "../../src/store/channels.ts";
import type { CheckWithState } from "../../src/store/checks.ts";
import { type Database, statement } from "../../src/store/db.ts";
import { insertFlips, retractFlip } from "../../src/store/flips.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { toTimestamp } from "../../src/store/values.ts";
import { MONDAY_NOON, sampleCheck, sampleProject } from "./sample.ts";

export type Watched = { check: CheckWithState; channels: Channel[] };

/** A channel of a project, with the kind and config of the test. */
export function addChannel(
  db: Database,
  { projectId, kind = "webhook", config = {} }: { projectId: number; kind?: string; config?: object },
): Promise<Channel> {
  const channel = { uuid: randomUUID(), name: "", createdAt: MONDAY_NOON, projectId, kind };
  return inTransaction(db, (tx) => insertChannel(tx, { ...channel, config: { ...config } }));
}

/** Assigns exactly these channels to a check. */
export function assign(
  db: Database,
  check: { id: number },
  channels: readonly { id: number }[],
): Promise<void> {
  const channelIds = channels.map(({ id }) => id);
  return inTransaction(db, (tx) => assignChannels(tx, { checkId: check.id, channelIds }));
}

/** A check in its own project, with this many channels. */
export async function watchedCheck(
  db: Database,
  { channelCount = 1, ...settings }: { channelCount?: number } & Partial<CheckSettings> = {},
): Promise<Watched & { channel: Channel }> {
  const { id: projectId } = await sampleProject(db);
  const check = await sampleCheck(db, { projectId, ...settings });
  const channels: Channel[] = [];
  for (let i = 0; i < channelCount; i += 1) channels.push(await addChannel(db, { projectId }));
  await assign(db, check, channels);
  const [channel] = channels;
  if (channel === undefined) throw new Error("a watched check needs a channel");
  return { check, channels, channel };
}

/** A flip as tests write it: `to`, time, and reason. */
export function flip(to: "up" | "down", at: Instant = MONDAY_NOON, given: Partial<Flip> = {}): Flip {
  const from = to === "up" ? "down" : "up";
  return { at, from, to, reason: to === "up" ? "success" : "timeout", ...given };
}

/** The change of the alert that a flip causes without a policy. */
export function alertOf(one: Flip): AlertChange | null {
  const { at, from, to, reason } = one;
  if (to === "down") return { kind: "opened", at, cause: reason === "fail" ? "failed" : "missed", flip: one };
  return from === "down" ? { kind: "closed", at, cause: "recovered", flip: one } : null;
}

/** Inserts flips of a check with their alerts in one transaction, and plans the deliveries; returns the IDs of the flips. */
export async function owe(
  db: Database,
  { check, at = MONDAY_NOON }: { check: { id: number }; at?: Instant },
  ...flips: readonly Flip[]
): Promise<number[]> {
  const checkId = check.id;
  const ids = await inTransaction(db, async (tx) => {
    const flipIds = await insertFlips(
      tx,
      flips.map((one) => ({ checkId, flip: one })),
    );
    // A recovery needs a problem that was notified.
    if (flips[0]?.to === "up") await tx.query(OPEN_NOTIFIED, [checkId, toTimestamp(at)]);
    const changes = flips.flatMap((one, index) => {
      const change = alertOf(one);
      return change === null ? [] : [{ checkId, change, flipId: flipIds[index] ?? 0 }];
    });
    await writeAlerts(tx, changes);
    return flipIds;
  });
  await planAlerts(db, { now: at });
  return ids;
}

const OPEN_NOTIFIED = statement({
  name: "test.open_notified",
  text: `insert into alerts (check_id, cause, opened_at, opened_flip_id, notified_at, planned_at, plan_at)
    values ($1, 'missed', $2, 0, $2, $2, to_timestamp(0)) on conflict do nothing`,
});

/** An open alert, so that a test of deleting finds a row in every table of a check. */
export async function fillAlerts(
  tx: Tx,
  { checkId, flipId }: { checkId: number; flipId: number },
): Promise<void> {
  const change = { kind: "opened", at: MONDAY_NOON, cause: "failed", flip: null } as const;
  await writeAlerts(tx, [{ checkId, change, flipId }]);
}

/** Retracts the flip of a missed deadline, like a success that was received before it. */
export async function retract(
  db: Database,
  { check, deadlineAt, at = MONDAY_NOON }: { check: { id: number }; deadlineAt: Instant; at?: Instant },
): Promise<void> {
  await inTransaction(db, async (tx) => {
    const flipId = await retractFlip(tx, { checkId: check.id, deadlineAt, at: deadlineAt - 1 });
    if (flipId === null) return;
    const change = { kind: "closed", at: deadlineAt - 1, cause: "takenBack", flip: null } as const;
    await writeAlerts(tx, [{ checkId: check.id, change, flipId }]);
  });
  await planAlerts(db, { now: at });
}

export const SENT: SendResult = { kind: "sent", summary: "POST test", code: 200, excerpt: "ok" };

/** A receiver's rejection; with `code: null` the outcome is unknown. */
export function refusal(given: Partial<Extract<SendResult, { kind: "failed" }>> = {}): SendResult {
  const answer = { summary: "POST test", code: 500, excerpt: "no", reason: "Received status code 500" };
  return { kind: "failed", permanent: false, retryAfterMs: null, ...answer, ...given };
}
