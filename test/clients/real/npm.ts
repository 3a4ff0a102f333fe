// Packages from npm: the client of both APIs, and the one that pings on a timer. The programs that use them are in
// drivers/, so that they run as they would in somebody's project.
import assert from "node:assert/strict";
import { join } from "node:path";
import type { Client, Scene } from "../client.ts";
import { runWell } from "../program.ts";

const DRIVERS = join(import.meta.dirname, "../drivers");

function drive(scene: Scene, { driver, args }: { driver: string; args: readonly string[] }): Promise<string> {
  // The client prefers a key of the environment to the one it is given.
  const environment = { HC_API_KEY: null };
  return runWell(process.execPath, [join(DRIVERS, driver), scene.folder, scene.site, ...args], {
    environment,
  });
}

async function driveIoClient(scene: Scene, version: "1" | "3"): Promise<void> {
  const { project, effects } = scene;
  const [channel] = project.channels;
  assert.ok(channel !== undefined);
  const args = [version, project.apiKey, project.apiKeyReadonly, channel.id];
  const out = await drive(scene, { driver: "drive-healthchecks-io-client.ts", args });
  const made = JSON.parse(out) as { kept: string; deleted: string };
  const { settings } = await effects.check(made.kept);
  assert.deepEqual(
    [settings.name, settings.tags, settings.timeoutSeconds, settings.graceSeconds],
    ["Node renamed", "node nightly", 120, 90],
  );
  assert.deepEqual(await effects.channels(made.kept), [channel.id]);
  const pings = await effects.expectPings(
    made.kept,
    "start GET, success GET, fail GET, success POST, fail POST",
  );
  assert.deepEqual([pings[3]?.body, pings[4]?.body], ["all rows copied", "disk full"]);
  assert.match(pings[0]?.ua ?? "", /^HealthChecks-IO-Client/);
  await effects.expectStatus(made.kept, "paused");
  assert.equal(await effects.find(made.deleted), null, "a deleted check is gone");
}

async function driveTimer(scene: Scene): Promise<void> {
  const uuid = await scene.newCheck();
  await drive(scene, { driver: "drive-healthchecks-timer.ts", args: [uuid] });
  await scene.effects.expectPings(uuid, "success GET, success GET");
  await scene.effects.expectStatus(uuid, "up");
}

const ioClient = {
  version: null,
  kind: "real",
  dialect: "standard",
  installs: "healthchecks-io-client",
} as const;

export const NPM_CLIENTS: readonly Client[] = [
  {
    ...ioClient,
    name: "healthchecks-io-client (v1)",
    note: "",
    drive: (scene) => driveIoClient(scene, "1"),
  },
  {
    ...ioClient,
    name: "healthchecks-io-client (v3)",
    note: "",
    drive: (scene) => driveIoClient(scene, "3"),
  },
  {
    name: "healthchecks.io (npm)",
    version: null,
    kind: "real",
    dialect: "standard",
    installs: "healthchecks.io",
    note: "",
    drive: driveTimer,
  },
];
