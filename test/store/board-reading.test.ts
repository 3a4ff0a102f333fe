// What the wall board counts in SQL: checks by their first tag, and the next expected pings.
import { expect, test } from "vitest";
import { HOUR_MS, MINUTE_MS } from "../../src/core/instant.ts";
import { listNextExpected, tallyFirstTags } from "../../src/store/check-lists.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();
const NOW = MONDAY_NOON;

type State = { status: string; downAt?: number; startedAt?: number };

async function checkIn(
  projectId: number,
  { name, tags = "", ...state }: State & { name: string; tags?: string },
): Promise<void> {
  const { id } = await sampleCheck(database.db, { projectId, name, tags, graceSeconds: 600 });
  const time = (at: number | undefined) => (at === undefined ? null : new Date(at));
  await database.db.pool.query(
    `update check_states set status = $2, down_at = $3, sweep_at = $3, last_ping_at = $4, last_start_at = $5
      where check_id = $1`,
    [id, state.status, time(state.downAt), time(NOW - HOUR_MS), time(state.startedAt)],
  );
}

test("checks are counted by their first tag and status; groups with problems come first", async () => {
  const { id: projectId } = await sampleProject(database.db);
  const up = { status: "up", downAt: NOW + HOUR_MS };
  const late = { status: "up", downAt: NOW + 5 * MINUTE_MS };
  await checkIn(projectId, { name: "a", tags: "web db", ...up });
  await checkIn(projectId, { name: "b", tags: " web", ...up });
  await checkIn(projectId, { name: "c", tags: "db", status: "down" });
  await checkIn(projectId, { name: "d", tags: "etl web", ...late });
  await checkIn(projectId, { name: "e", status: "paused" });
  const all = await tallyFirstTags(database.db, { projectId, now: NOW, limit: 10 });
  expect(all).toEqual([
    { tag: "db", byRank: [1, 0, 0, 0, 0] },
    { tag: "etl", byRank: [0, 1, 0, 0, 0] },
    { tag: "web", byRank: [0, 0, 2, 0, 0] },
    { tag: "", byRank: [0, 0, 0, 0, 1] },
  ]);
  expect(await tallyFirstTags(database.db, { projectId, now: NOW, limit: 1 })).toEqual(all.slice(0, 1));
});

test("the next expected pings are those of checks that are up and idle, the first first", async () => {
  const { id: projectId } = await sampleProject(database.db);
  const at = (minutes: number) => ({ status: "up", downAt: NOW + (minutes + 10) * MINUTE_MS });
  await checkIn(projectId, { name: "second", ...at(30) });
  await checkIn(projectId, { name: "first", ...at(15) });
  await checkIn(projectId, { name: "late already", ...at(-1) });
  await checkIn(projectId, { name: "running", ...at(5), startedAt: NOW - MINUTE_MS });
  await checkIn(projectId, { name: "down", status: "down" });
  const next = (limit: number) => listNextExpected(database.db, { projectId, now: NOW, limit });
  expect(await next(10)).toEqual([
    { name: "first", at: NOW + 15 * MINUTE_MS },
    { name: "second", at: NOW + 30 * MINUTE_MS },
  ]);
  expect(await next(1)).toHaveLength(1);
});
