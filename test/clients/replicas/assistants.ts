// Replicas of what was written against the reference server and needs its dialect: the MCP server, the Meltano tap,
// the Java library.
import assert from "node:assert/strict";
import { lastSegment, replica } from "./wire.ts";

export const MCP_SERVER = replica(
  {
    name: "MCP server",
    version: "healthchecks-io-mcp",
    dialect: "healthchecks",
    note: "needs the object of flips, and 401 for a read-only key (service description 4.1 and 5: array, 403)",
  },
  async (scene, open) => {
    const { project, effects } = scene;
    const at = { prefix: "/api/v3", headers: { "User-Agent": "node", Accept: "*/*" } };
    const wire = open({ ...at, headers: { ...at.headers, "X-Api-Key": project.apiKey } });
    const reader = open({ ...at, headers: { ...at.headers, "X-Api-Key": project.apiKeyReadonly } });
    // The probe of what a key may do.
    assert.equal((await wire.send("GET", "/channels/")).expect(200).list("channels").length, 2);
    (await reader.send("GET", "/channels/")).expect(401);

    const type = { "Content-Type": "application/json" };
    const fields = { name: "mcp", slug: "mcp", tags: "ai", timeout: 120, grace: 60, unique: ["slug"] };
    const made = (await wire.send("POST", "/checks/", { headers: type, json: fields })).expect(201).json();
    const uuid = String(made["uuid"]);
    (await wire.send("POST", "/checks/", { headers: type, json: fields })).expect(200);
    await scene.signal(uuid, `${uuid}/fail`);

    const [listed] = (await reader.send("GET", "/checks/")).expect(200).list("checks");
    const key = String(listed?.["unique_key"]);
    assert.equal((await wire.send("GET", `/checks/${key}`)).expect(200).json()["uuid"], uuid);
    assert.equal((await reader.send("GET", `/checks/${key}`)).expect(200).json()["status"], "down");
    const flips = (await reader.send("GET", `/checks/${key}/flips/?seconds=3600`)).expect(200).list("flips");
    assert.deepEqual(
      flips.map((flip) => flip["up"]),
      [0, 1],
    );
    assert.equal((await wire.send("GET", `/checks/${uuid}/pings/`)).expect(200).list("pings").length, 2);
    assert.ok("badges" in (await reader.send("GET", "/badges/")).expect(200).json());

    (await wire.send("POST", `/checks/${uuid}`, { headers: type, json: { desc: "told" } })).expect(200);
    assert.equal((await effects.check(uuid)).settings.desc, "told");
    (await wire.send("POST", `/checks/${uuid}/resume`, { body: "" })).expect(409);
    (await wire.send("POST", `/checks/${uuid}/pause`, { body: "" })).expect(200);
    await effects.expectStatus(uuid, "paused");
    (await wire.send("POST", `/checks/${uuid}/resume`, { body: "" })).expect(200);
    await effects.expectStatus(uuid, "new");
    (await wire.send("DELETE", `/checks/${uuid}`)).expect(200).json();
    (await wire.send("GET", `/checks/${uuid}`)).expect(404);
    assert.equal(await effects.find(uuid), null);
  },
);

export const TAP = replica(
  {
    name: "tap-healthchecksio",
    version: "Meltano",
    dialect: "healthchecks",
    note: "needs the object of flips (service description 4.1: array); the read-only key gives unique_key",
  },
  async (scene, open) => {
    const uuid = await scene.newCheck({ name: "tapped", tags: "etl" });
    const headers = { "User-Agent": "tap-healthchecksio/0.1.0", "x-api-key": scene.project.apiKeyReadonly };
    const wire = open({ prefix: "/api", headers });
    await scene.signal(uuid, `${uuid}/fail`, uuid);
    const checks = (await wire.send("GET", "/v3/checks/")).expect(200).list("checks");
    assert.deepEqual(
      checks.map(({ name, status, started, n_pings: count }) => [name, status, started, count]),
      [["tapped", "up", false, 3]],
    );
    const path = `/v3/checks/${String(checks[0]?.["unique_key"])}/flips/`;
    const flips = (await wire.send("GET", path)).expect(200).list("flips");
    assert.deepEqual(
      flips.map((flip) => flip["up"]),
      [1, 0, 1],
    );
    await scene.effects.expectPings(uuid, "success GET, fail GET, success GET");
  },
);

export const JAVA = replica(
  {
    name: "healthchecksio-java",
    version: "v1 API",
    dialect: "healthchecks",
    note: "needs the object of flips (service description 4.1: array)",
  },
  async (scene, open) => {
    const wire = open({
      prefix: "/api/v1",
      headers: { "User-Agent": "okhttp/4.9.1", "X-Api-Key": scene.project.apiKey },
    });
    const json = { name: "java", tags: "jvm", timeout: 120, grace: 60 };
    const headers = { "Content-Type": "application/json; charset=utf-8" };
    const made = (await wire.send("POST", "/checks/", { headers, json })).expect(201).json();
    const uuid = lastSegment(made["ping_url"]);
    await scene.signal(uuid);
    assert.equal((await wire.send("GET", "/checks")).expect(200).list("checks").length, 1);
    assert.equal((await wire.send("GET", "/channels")).expect(200).list("channels").length, 2);
    assert.equal((await wire.send("GET", `/checks/${uuid}/pings`)).expect(200).list("pings").length, 1);
    assert.equal((await wire.send("GET", `/checks/${uuid}/flips`)).expect(200).list("flips").length, 1);
    (await wire.send("POST", `/checks/${uuid}/pause`, { headers, body: "" })).expect(200);
    await scene.effects.expectStatus(uuid, "paused");
    (await wire.send("DELETE", `/checks/${uuid}`)).expect(200);
    assert.deepEqual(await scene.effects.checks(), []);
  },
);
