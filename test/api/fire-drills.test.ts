// Fire drills by the API: started, read and scheduled, by roles and keys.
import { randomUUID } from "node:crypto";
import { beforeEach, expect, test } from "vitest";
import { newCheck } from "../management/asking.ts";
import { useCast } from "../management/cast.ts";
import { askApi } from "./asking.ts";

const cast = useCast();
beforeEach(async () => {
  await cast.db.pool.query("delete from fire_drills");
});

const DRILLS = "/projects/{project}/fire-drills";
const start = (body: object, key = cast.owner.rw) => askApi(cast, DRILLS, { method: "POST", key, body });

test("one drill runs at a time, and can be read", async () => {
  const { uuid: check } = await newCheck(cast, { name: "nightly" });
  const { status, json } = await start({ check });
  expect(status).toBe(201);
  expect(json).toMatchObject({
    check: { id: check, name: "nightly" },
    isSent: false,
    endedAt: null,
    hops: [{ name: "deadline" }],
    recipients: [],
  });
  expect((await start({})).status).toBe(409);
  const { id } = json as { id: string };
  const read = await askApi(cast, `${DRILLS}/${id}`, { key: cast.owner.ro });
  expect(read.json).toMatchObject({ id, check: { id: null, name: "nightly" }, startedBy: null });
  const list = await askApi(cast, DRILLS, { key: cast.owner.ro });
  expect(list.json).toMatchObject({ fireDrills: [{ id, outcome: null }] });
  expect((await askApi(cast, `${DRILLS}/${randomUUID()}`, { key: cast.owner.rw })).status).toBe(404);
});

test("an API key cannot send, and a read-only key starts none", async () => {
  expect((await start({ send: true })).status).toBe(403);
  expect((await start({}, cast.owner.ro)).status).toBe(403);
  expect((await start({ check: randomUUID() })).status).toBe(400);
  expect((await askApi(cast, DRILLS, { key: cast.owner.rw })).json).toEqual({ fireDrills: [] });
});

test("the check of a drill is in no list", async () => {
  const names = async () => {
    const { json } = await cast.ask("/api/v3/checks/", { key: cast.owner.rw });
    return (json as { checks: { name: string }[] }).checks.map(({ name }) => name);
  };
  const before = await names();
  expect((await start({})).status).toBe(201);
  expect(await names()).toEqual(before);
});
