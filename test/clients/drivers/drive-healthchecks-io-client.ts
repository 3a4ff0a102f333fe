// Calls everything that the npm package healthchecks-io-client can do and fails at the first surprise.
// Arguments: folder of clients, site, API version, read-write key, read-only key, a channel's id.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { join } from "node:path";

type Json = Record<string, unknown>;
type ApiClient = {
  getChecks(tags?: string[]): Promise<{ checks: Json[] }>;
  getCheck(id: string): Promise<Json>;
  createCheck(check: Json): Promise<Json>;
  updateCheck(id: string, check: Json): Promise<Json>;
  pauseCheck(id: string): Promise<Json>;
  deleteCheck(id: string): Promise<Json>;
  listPings(id: string): Promise<{ pings: Json[] }>;
  listFlips(id: string, filter?: Json): Promise<Json[]>;
  getIntegrations(): Promise<{ channels: Json[] }>;
};
type PingClient = Record<"success" | "fail", (text?: string) => Promise<unknown>> & {
  start(): Promise<unknown>;
};
type Package = {
  HealthChecksApiClient: new (options: Json) => ApiClient;
  HealthChecksPingClient: new (options: Json) => PingClient;
};

const [folder = "", site = "", version = "", apiKey = "", readOnlyKey = "", channel = ""] =
  process.argv.slice(2);
// By its path, since it is no package of this project.
const home = join(folder, "npm/healthchecks-io-client/node_modules/healthchecks-io-client");
const { HealthChecksApiClient, HealthChecksPingClient } = createRequire(import.meta.url)(home) as Package;

const aimed = { baseUrl: site, apiVersion: Number(version) };
const client = new HealthChecksApiClient({ ...aimed, apiKey });
const reader = new HealthChecksApiClient({ ...aimed, apiKey: readOnlyKey });

const uuidOf = (check: Json) => String(check["ping_url"]).split("/").at(-1) ?? "";
const refused = (statusCode: number) => (error: unknown) => (error as Json)["statusCode"] === statusCode;

async function manage(): Promise<{ simple: string; cron: string }> {
  const { channels } = await client.getIntegrations();
  assert.deepEqual(
    channels.map(({ name, kind }) => [name, kind]),
    [
      ["Ops", "email"],
      ["Pager", "webhook"],
    ],
  );
  const simple = await client.createCheck({
    name: "Node simple",
    tags: "node nightly",
    desc: "from Node",
    timeout: 120,
    grace: 60,
    channels: channel,
  });
  assert.deepEqual([simple["status"], simple["timeout"], simple["n_pings"]], ["new", 120, 0]);
  assert.equal(simple["slug"], version === "1" ? "node-simple" : "");
  const cron = await client.createCheck({
    name: "Node cron",
    tags: "node",
    schedule: "15 4 * * *",
    tz: "UTC",
  });
  assert.deepEqual([cron["schedule"], cron["tz"], cron["timeout"]], ["15 4 * * *", "UTC", undefined]);
  const upserted = await client.createCheck({ name: "Node simple", grace: 90, unique: ["name"] });
  assert.deepEqual([uuidOf(upserted), upserted["grace"]], [uuidOf(simple), 90]);
  const uuid = uuidOf(simple);
  assert.equal((await client.updateCheck(uuid, { name: "Node renamed" }))["name"], "Node renamed");
  assert.equal((await client.getCheck(uuid))["desc"], "from Node");
  assert.equal((await client.getChecks()).checks.length, 2);
  assert.equal((await client.getChecks(["node", "nightly"])).checks.length, 1);
  await assert.rejects(client.createCheck({ name: "x".repeat(101) }), refused(400));
  await assert.rejects(client.getCheck(randomUUID()), refused(404));
  return { simple: uuid, cron: uuidOf(cron) };
}

async function ping(uuid: string): Promise<void> {
  const pinger = new HealthChecksPingClient({ uuid, baseUrl: `${site}/ping`, returnResponse: true });
  assert.equal(await pinger.start(), "OK");
  assert.equal(await pinger.success(), "OK");
  assert.equal(await pinger.fail(), "OK");
  assert.equal(await pinger.success("all rows copied"), "OK");
  assert.equal(await pinger.fail("disk full"), "OK");
  const lost = new HealthChecksPingClient({ uuid: randomUUID(), baseUrl: `${site}/ping` });
  await assert.rejects(lost.success(), refused(404));
}

async function history(uuid: string): Promise<void> {
  const { pings } = await client.listPings(uuid);
  assert.deepEqual(
    pings.map(({ n, type }) => `${String(n)} ${String(type)}`),
    ["5 fail", "4 success", "3 fail", "2 success", "1 start"],
  );
  const up = (flips: Json[]) => flips.map((flip) => flip["up"]);
  assert.deepEqual(up(await client.listFlips(uuid)), [0, 1, 0, 1]);
  const now = Math.floor(Date.now() / 1_000);
  assert.deepEqual(up(await client.listFlips(uuid, { start: now - 600, end: now + 60 })), [0, 1, 0, 1]);
  assert.deepEqual(await client.listFlips(uuid, { end: now - 600 }), []);
}

async function readOnly(uuid: string): Promise<void> {
  const { checks } = await reader.getChecks();
  assert.ok(checks.every((check) => check["ping_url"] === undefined && check["channels"] === undefined));
  const key = String(checks.find(({ name }) => name === "Node renamed")?.["unique_key"]);
  assert.equal((await reader.getCheck(key))["name"], "Node renamed");
  assert.equal((await reader.listFlips(key, { seconds: 600 })).length, 4);
  await assert.rejects(reader.getIntegrations(), refused(403));
  await assert.rejects(reader.deleteCheck(uuid), refused(403));
  const stranger = new HealthChecksApiClient({ ...aimed, apiKey: "x".repeat(32) });
  await assert.rejects(stranger.getChecks(), refused(401));
}

const { simple, cron } = await manage();
await ping(simple);
await history(simple);
await readOnly(simple);
assert.equal((await client.pauseCheck(simple))["status"], "paused");
assert.equal((await client.deleteCheck(cron))["name"], "Node cron");
console.log(JSON.stringify({ kept: simple, deleted: cron }));
