// Replicas of what shows checks to people: both Home Assistant integrations, the homepage widget, and the dashboard
// that runs in a browser and so depends on CORS.
import assert from "node:assert/strict";
import type { Client } from "../client.ts";
import { type Json, lastSegment, replica, type Wire } from "./wire.ts";

const AIOHTTP = {
  "User-Agent": "HomeAssistant/2026.1.0 aiohttp/3.11",
  Accept: "*/*",
  "Accept-Encoding": "gzip",
};

/** One beat of the integration: ping its own check, then list all. */
async function beat(wire: Wire, { uuid, key }: { uuid: string; key: string }): Promise<Json[]> {
  (await wire.send("GET", `/ping/${uuid}`)).expect(200);
  return (await wire.send("GET", "/api/v1/checks/", { headers: { "X-Api-Key": key } }))
    .expect(200)
    .list("checks");
}

const HOME_ASSISTANT = replica(
  { name: "Home Assistant", version: "custom-components", note: "" },
  async (scene, open) => {
    const uuid = await scene.newCheck({ name: "Home Assistant" });
    const other = await scene.newCheck({ name: "Garage" });
    const wire = open({ headers: AIOHTTP });
    await scene.signal(`${other}/fail`);
    for (let number = 1; number <= 2; number += 1) {
      const checks = await beat(wire, { uuid, key: scene.project.apiKey });
      const sensors = checks.map((check) => [lastSegment(check["ping_url"]), check["status"] !== "down"]);
      assert.deepEqual(
        new Map(sensors as [string, boolean][]),
        new Map([
          [uuid, true],
          [other, false],
        ]),
      );
      assert.ok(
        checks.every((check) => typeof check["name"] === "string" && typeof check["last_ping"] === "string"),
      );
    }
    const read = await beat(wire, { uuid, key: scene.project.apiKeyReadonly });
    assert.ok(read.every((check) => String(check["unique_key"]).length === 40));
    await scene.effects.expectPings(uuid, "success GET, success GET, success GET");
  },
);

const HOME_ASSISTANT_FORK = replica(
  {
    name: "Home Assistant (fork)",
    version: "Snuffy2",
    dialect: "healthchecks",
    note: "needs uuid in version 1 (service description 9 has none)",
  },
  async (scene, open) => {
    const uuid = await scene.newCheck({ name: "Home Assistant" });
    const other = await scene.newCheck({ name: "Garage" });
    const checks = await beat(open({ headers: AIOHTTP }), { uuid, key: scene.project.apiKey });
    const byUuid = new Map(checks.map((check) => [check["uuid"], check]));
    assert.deepEqual(new Set(byUuid.keys()), new Set([uuid, other]));
    assert.equal(byUuid.get(uuid)?.["status"], "up");
    await scene.effects.expectPings(uuid, "success GET");
  },
);

const HOMEPAGE = replica({ name: "homepage widget", version: "v3 API", note: "" }, async (scene, open) => {
  const up = await scene.newCheck({ name: "Up" });
  const down = await scene.newCheck({ name: "Down" });
  await scene.newCheck({ name: "New" });
  const wire = open({ headers: { "Content-Type": "application/json", "X-Api-Key": scene.project.apiKey } });
  await scene.signal(up, `${down}/fail`);
  const statuses = (await wire.send("GET", "/api/v3/checks/")).expect(200).list("checks");
  assert.deepEqual(new Set(statuses.map((check) => check["status"])), new Set(["down", "new", "up"]));
  assert.equal(statuses.length, 3);
  const one = (await wire.send("GET", `/api/v3/checks/${down}`)).expect(200).json();
  assert.equal(one["status"], "down");
  assert.ok(!Number.isNaN(Date.parse(String(one["last_ping"]))), "a time that a browser understands");
  await scene.effects.expectStatus(up, "up");
  await scene.effects.expectStatus(down, "down");
});

const BROWSER = replica(
  { name: "healthchecks/dashboard", version: "browser", note: "preflight and CORS" },
  async (scene, open) => {
    await scene.newCheck({ name: "Shown", tags: "wall" });
    const browser = {
      Origin: "http://localhost:9000",
      "User-Agent": "Mozilla/5.0",
      Referer: "http://localhost:9000/",
    };
    const wire = open({ headers: browser });
    const asking = {
      "Access-Control-Request-Method": "GET",
      "Access-Control-Request-Headers": "x-api-key",
    };
    const preflight = (await wire.send("OPTIONS", "/api/v3/checks/", { headers: asking })).expect(204);
    assert.equal(preflight.headers["access-control-allow-origin"], "*");
    assert.match(preflight.headers["access-control-allow-headers"] ?? "", /x-api-key/i);
    assert.match(preflight.headers["access-control-allow-methods"] ?? "", /GET/);
    const key = { "X-Api-Key": scene.project.apiKeyReadonly };
    const reply = (await wire.send("GET", "/api/v3/checks/", { headers: key })).expect(200);
    assert.equal(reply.headers["access-control-allow-origin"], "*");
    assert.deepEqual(
      reply
        .list("checks")
        .map(({ name, tags, status, started, last_ping: at }) => [name, tags, status, started, at]),
      [["Shown", "wall", "new", false, null]],
    );
    const refused = (await wire.send("GET", "/api/v3/checks/")).expect(401);
    assert.equal(refused.headers["access-control-allow-origin"], "*", "so that the page can read the reason");
  },
);

export const DASHBOARDS: readonly Client[] = [HOME_ASSISTANT, HOME_ASSISTANT_FORK, HOMEPAGE, BROWSER];
