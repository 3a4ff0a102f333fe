// Python packages: healthchecks_io against version 1 and version 3, and the decorator. The programs that use them
// are in drivers/; they judge the answers, and here the effects are judged.
import assert from "node:assert/strict";
import { join } from "node:path";
import type { Client, Scene } from "../client.ts";
import { runWell } from "../program.ts";

const DRIVERS = join(import.meta.dirname, "../drivers");

function python(scene: Scene, environmentName: string): string {
  return join(scene.folder, "python", environmentName, "bin/python");
}

async function driveHealthchecksIo(scene: Scene, version: "1" | "3"): Promise<void> {
  const { site, project, effects } = scene;
  const [channel] = project.channels;
  assert.ok(channel !== undefined);
  const keys = [project.apiKey, project.apiKeyReadonly, project.pingKey, channel.id];
  const driver = join(DRIVERS, "drive-healthchecks-io.py");
  const out = await runWell(python(scene, "healthchecks_io"), [driver, site, version, ...keys]);
  const made = JSON.parse(out) as { kept: string; deleted: string[] };
  const { settings } = await effects.check(made.kept);
  assert.deepEqual(
    [settings.name, settings.desc, settings.methods, settings.graceSeconds],
    ["Py renamed", "changed", "POST", 90],
  );
  await effects.expectStatus(made.kept, "paused");
  const kinds = "start, success, fail, success, fail, start, success, start, fail";
  const pings = await effects.expectPings(made.kept, kinds.replaceAll(/\w+/g, "$& POST"));
  assert.deepEqual(
    pings.slice(1, 7).map(({ body }) => body),
    ["a text that is no JSON", "it broke", null, null, null, "a line of the log"],
  );
  assert.match(pings[8]?.body ?? "", /^a job that failed\n/);
  assert.equal(pings[4]?.exitStatus, 3);
  for (const uuid of made.deleted) assert.equal(await effects.find(uuid), null, "a deleted check is gone");
}

async function driveDecorator(scene: Scene): Promise<void> {
  const { site, effects } = scene;
  const uuid = await scene.newCheck();
  const other = await scene.newCheck();
  const driver = join(DRIVERS, "drive-healthchecks-decorator.py");
  await runWell(python(scene, "healthchecks-decorator"), [driver, `${site}/ping/${uuid}`], {
    environment: { HEALTHCHECK_URL: `${site}/ping/${other}`, HEALTHCHECK_SEND_START: "true" },
  });
  // The environment asks for a start wherever the decorator's arguments do not say otherwise.
  const ended = ["success GET", "success GET", "success POST", "success GET", "fail GET"];
  const pings = await effects.expectPings(uuid, ended.map((end) => `start GET, ${end}`).join(", "));
  assert.equal(pings[5]?.body, "rows=42&text=a+b");
  await effects.expectStatus(uuid, "down");
  await effects.expectPings(other, "start GET, success GET");
}

const healthchecksIo = {
  name: "healthchecks_io",
  version: null,
  kind: "real",
  installs: "healthchecks_io",
} as const;

export const PYTHON_CLIENTS: readonly Client[] = [
  {
    ...healthchecksIo,
    name: "healthchecks_io (v1)",
    dialect: "standard",
    note: "needs the array of flips",
    drive: (scene) => driveHealthchecksIo(scene, "1"),
  },
  {
    ...healthchecksIo,
    name: "healthchecks_io (v3)",
    dialect: "standard",
    note: "needs the array of flips",
    drive: (scene) => driveHealthchecksIo(scene, "3"),
  },
  {
    name: "healthchecks-decorator",
    version: null,
    kind: "real",
    dialect: "standard",
    installs: "healthchecks-decorator",
    note: "",
    drive: driveDecorator,
  },
];
