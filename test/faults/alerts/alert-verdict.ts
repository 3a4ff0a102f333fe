// Compares notifications with those expected: by check, by the key that repetitions share, and by order.
import type { Stage } from "../stage/stage.ts";
import type { Arrival } from "./alert-receiver.ts";
import type { WatchedCheck } from "./watched-checks.ts";

export type StoredFlip = {
  checkId: number;
  at: number;
  to: "up" | "down";
  reason: string;
  isRetracted: boolean;
};

/** The flips of these checks, oldest first. */
export async function readFlips(stage: Stage, watched: readonly WatchedCheck[]): Promise<StoredFlip[]> {
  const { rows } = await stage.withClient((client) =>
    client.query<{ check_id: string; at: Date; to_status: "up" | "down"; reason: string; is_back: boolean }>(
      `select check_id, at, to_status, reason, taken_back_at is not null as is_back from flips
       where check_id = any ($1::bigint[]) order by at, id`,
      [watched.map(({ checkId }) => checkId)],
    ),
  );
  return rows.map((row) => ({
    checkId: Number(row.check_id),
    at: row.at.getTime(),
    to: row.to_status,
    reason: row.reason,
    isRetracted: row.is_back,
  }));
}

/** The notifications about checks, by UUID. */
export function notificationsOf(
  arrivals: readonly Arrival[],
  watched: readonly WatchedCheck[],
): Map<string, readonly Arrival[]> {
  const uuids = new Set(watched.map(({ uuid }) => uuid));
  return Map.groupBy(
    arrivals.filter(({ uuid }) => uuids.has(uuid)),
    ({ uuid }) => uuid,
  );
}

/**
 * How many of these checks are down because of a missed deadline, or were reported as down, although they should not
 * be.
 */
export async function countFalse(
  stage: Stage,
  { arrivals, watched }: { arrivals: readonly Arrival[]; watched: readonly WatchedCheck[] },
): Promise<number> {
  const silent = (await readFlips(stage, watched)).filter(({ reason }) => reason === "timeout");
  const byId = new Map(watched.map(({ checkId, uuid }) => [checkId, uuid]));
  const notified = arrivals.filter(({ what }) => what === "down").map(({ uuid }) => uuid);
  const ofWatched = new Set(byId.values());
  return new Set([
    ...silent.map(({ checkId }) => byId.get(checkId) ?? ""),
    ...notified.filter((uuid) => ofWatched.has(uuid)),
  ]).size;
}

/** Repetitions of a message with the same key. */
export function countRepeated(arrivals: readonly Arrival[]): number {
  return arrivals.length - new Set(arrivals.map(({ key }) => key)).size;
}

/** Messages with the same content as another one, but a different key: the reader is notified twice. */
export function countDuplicated(arrivals: readonly Arrival[]): number {
  const keys = new Map<string, Set<string>>();
  for (const { channel, what, uuid, key, body } of arrivals) {
    const about = [channel, what, uuid === "" ? body : uuid].join(" ");
    keys.set(about, (keys.get(about) ?? new Set()).add(key));
  }
  return [...keys.values()].reduce((sum, { size }) => sum + size - 1, 0);
}

/** Checks that were reported as down after they had been reported as up. */
export function countOutOfOrder(notified: ReadonlyMap<string, readonly Arrival[]>): number {
  const isWrong = (of: readonly Arrival[]) => {
    const firstUp = of.findIndex(({ what }) => what === "up");
    return firstUp !== -1 && of.slice(firstUp).some(({ what }) => what === "down");
  };
  return [...notified.values()].filter(isWrong).length;
}

/** Number of deliveries by final state. */
export async function deliveryStates(stage: Stage): Promise<Record<string, number>> {
  const { rows } = await stage.withClient((client) =>
    client.query<{ state: string; count: string }>(
      "select state, count(*) as count from deliveries group by state order by state",
    ),
  );
  return Object.fromEntries(rows.map(({ state, count }) => [state, Number(count)]));
}

export type Noticed = {
  /** Expected notices: one per channel and blind interval. */
  notices: number;
  blindTimes: number;
  /** How often each check is named in a notice. */
  timesByCheck: ReadonlyMap<number, number>;
};

/** The notices about these checks. */
export async function readNoticed(stage: Stage, watched: readonly WatchedCheck[]): Promise<Noticed> {
  const { rows } = await stage.withClient((client) =>
    client.query<{ check_id: string; delivery_id: string; from_at: Date; to_at: Date }>(
      `select n.check_id, n.delivery_id, d.blind_from_at as from_at, d.blind_to_at as to_at
       from notice_checks n join deliveries d on d.id = n.delivery_id where n.check_id = any ($1::bigint[])`,
      [watched.map(({ checkId }) => checkId)],
    ),
  );
  const timesByCheck = new Map<number, number>();
  for (const row of rows) {
    const checkId = Number(row.check_id);
    timesByCheck.set(checkId, (timesByCheck.get(checkId) ?? 0) + 1);
  }
  return {
    notices: new Set(rows.map(({ delivery_id }) => delivery_id)).size,
    blindTimes: new Set(rows.map(({ from_at, to_at }) => `${from_at.getTime()} ${to_at.getTime()}`)).size,
    timesByCheck,
  };
}

/** The number of checks that a notice states in its text. */
export function checksNamed({ body }: Arrival): number {
  const title = /"title": *"([^"]*)"/.exec(body)?.[1] ?? "";
  if (!title.includes("Monitoring gap")) return 0;
  const more = / and (\d+) more/.exec(title)?.[1];
  return 1 + Number(more ?? 0);
}
