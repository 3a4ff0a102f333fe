// What people were told, held against what they should have been: by the check that it was about, by the key that
// repetitions share, and in the order in which it came.
import type { Stage } from "../stage/stage.ts";
import type { Arrival } from "./alert-receiver.ts";
import type { Member } from "./crowd.ts";

export type StoredFlip = {
  checkId: number;
  at: number;
  to: "up" | "down";
  reason: string;
  isTakenBack: boolean;
};

/** The flips of these checks, oldest first. */
export async function readFlips(stage: Stage, crowd: readonly Member[]): Promise<StoredFlip[]> {
  const { rows } = await stage.withClient((client) =>
    client.query<{ check_id: string; at: Date; to_status: "up" | "down"; reason: string; is_back: boolean }>(
      `select check_id, at, to_status, reason, taken_back_at is not null as is_back from flips
       where check_id = any ($1::bigint[]) order by at, id`,
      [crowd.map(({ checkId }) => checkId)],
    ),
  );
  return rows.map((row) => ({
    checkId: Number(row.check_id),
    at: row.at.getTime(),
    to: row.to_status,
    reason: row.reason,
    isTakenBack: row.is_back,
  }));
}

/** What was told of checks, by their UUID. */
export function toldOf(
  arrivals: readonly Arrival[],
  crowd: readonly Member[],
): Map<string, readonly Arrival[]> {
  const uuids = new Set(crowd.map(({ uuid }) => uuid));
  return Map.groupBy(
    arrivals.filter(({ uuid }) => uuids.has(uuid)),
    ({ uuid }) => uuid,
  );
}

/** How many checks of these are down by silence, or were told to be, although they should not be. */
export async function countFalse(
  stage: Stage,
  { arrivals, crowd }: { arrivals: readonly Arrival[]; crowd: readonly Member[] },
): Promise<number> {
  const silent = (await readFlips(stage, crowd)).filter(({ reason }) => reason === "timeout");
  const byId = new Map(crowd.map(({ checkId, uuid }) => [checkId, uuid]));
  const told = arrivals.filter(({ what }) => what === "down").map(({ uuid }) => uuid);
  const ofCrowd = new Set(byId.values());
  return new Set([
    ...silent.map(({ checkId }) => byId.get(checkId) ?? ""),
    ...told.filter((uuid) => ofCrowd.has(uuid)),
  ]).size;
}

/** Repetitions of a message under the key that it had before. */
export function countRepeated(arrivals: readonly Arrival[]): number {
  return arrivals.length - new Set(arrivals.map(({ key }) => key)).size;
}

/** Messages that say what another one has said, under another key: whoever reads them is told twice. */
export function countDuplicated(arrivals: readonly Arrival[]): number {
  const keys = new Map<string, Set<string>>();
  for (const { channel, what, uuid, key, body } of arrivals) {
    const about = [channel, what, uuid === "" ? body : uuid].join(" ");
    keys.set(about, (keys.get(about) ?? new Set()).add(key));
  }
  return [...keys.values()].reduce((sum, { size }) => sum + size - 1, 0);
}

/** Checks of which somebody was told that they are down after having been told that they are up. */
export function countOutOfOrder(told: ReadonlyMap<string, readonly Arrival[]>): number {
  const isWrong = (of: readonly Arrival[]) => {
    const firstUp = of.findIndex(({ what }) => what === "up");
    return firstUp !== -1 && of.slice(firstUp).some(({ what }) => what === "down");
  };
  return [...told.values()].filter(isWrong).length;
}

/** How many deliveries have ended in each state. */
export async function deliveryStates(stage: Stage): Promise<Record<string, number>> {
  const { rows } = await stage.withClient((client) =>
    client.query<{ state: string; count: string }>(
      "select state, count(*) as count from deliveries group by state order by state",
    ),
  );
  return Object.fromEntries(rows.map(({ state, count }) => [state, Number(count)]));
}

export type Noticed = {
  /** Notices that are owed: one for each channel and blind time. */
  notices: number;
  blindTimes: number;
  /** How often each check is named in one. */
  timesByCheck: ReadonlyMap<number, number>;
};

/** What the notices of these checks tell of. */
export async function readNoticed(stage: Stage, crowd: readonly Member[]): Promise<Noticed> {
  const { rows } = await stage.withClient((client) =>
    client.query<{ check_id: string; delivery_id: string; from_at: Date; to_at: Date }>(
      `select n.check_id, n.delivery_id, d.blind_from_at as from_at, d.blind_to_at as to_at
       from notice_checks n join deliveries d on d.id = n.delivery_id where n.check_id = any ($1::bigint[])`,
      [crowd.map(({ checkId }) => checkId)],
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

/** How many checks a notice says that it is about, by its own words. */
export function checksNamed({ body }: Arrival): number {
  const title = /"title": *"([^"]*)"/.exec(body)?.[1] ?? "";
  if (!title.includes("Monitoring gap")) return 0;
  const more = / and (\d+) more/.exec(title)?.[1];
  return 1 + Number(more ?? 0);
}
