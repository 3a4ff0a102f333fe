// Programs and a library written in Rust: task-mon, and the healthchecks crate by means of a small program of ours.
import assert from "node:assert/strict";
import { join } from "node:path";
import type { Client, Scene } from "../client.ts";
import { runProgram, runWell } from "../program.ts";

async function driveTaskMon(scene: Scene): Promise<void> {
  const { site, project, effects } = scene;
  const program = join(scene.folder, "cargo/bin/task-mon");
  const uuid = await scene.newCheck();
  const slug = "task-mon-by-slug";
  const bySlug = await scene.newCheck({ name: slug, slug });
  const environment = { HEALTHCHECKS_BASE_URL: `${site}/ping`, HEALTHCHECKS_PING_KEY: project.pingKey };
  const taskMon = (...args: string[]) => runWell(program, args, { environment });
  await taskMon("--uuid", uuid, "--", "echo", "all is well");
  await taskMon("--uuid", uuid, "--time", "--detailed", "--", "sh", "-c", "echo oh no; exit 3");
  await taskMon("--uuid", uuid, "--log", "--", "echo", "just so you know");
  await taskMon("--uuid", uuid, "--ping-only", "--user-agent", "nightly", "--", "echo", "hush");
  await taskMon("--uuid", uuid, "--", "sh", "-c", "kill -9 $$");
  await taskMon("--slug", slug, "--time", "--", "true");
  // It cannot know the check, and says so.
  const refused = await runProgram(program, ["--slug", "nobody", "--", "true"], { environment });
  assert.notEqual(refused.code, 0, "a ping to a slug that nobody has");

  const pings = await effects.expectPings(
    uuid,
    "success POST, start GET, fail POST, log POST, success POST, fail POST",
  );
  assert.deepEqual(
    pings.map(({ exitStatus }) => exitStatus),
    [0, null, 3, null, 0, 137],
  );
  assert.equal(pings[0]?.body, "all is well\n");
  assert.match(pings[2]?.body ?? "", /oh no\n\n\nExit Code: 3\n/);
  assert.equal(pings[4]?.body, null);
  assert.match(pings[4]?.ua ?? "", /^nightly \(task-mon/);
  assert.ok(
    pings[1]?.rid !== null && pings[1]?.rid === pings[2]?.rid,
    "start and end of a run belong together",
  );
  assert.ok(pings[2]?.durationMs !== null, "the run was timed");
  await effects.expectStatus(uuid, "down");
  await effects.expectPings(bySlug, "start GET, success POST");
}

async function driveCrate(scene: Scene): Promise<void> {
  const { site, project, effects } = scene;
  const [channel] = project.channels;
  assert.ok(channel !== undefined);
  const program = join(scene.folder, "crate/target/release/drive-healthchecks-crate");
  const keys = [project.apiKey, project.apiKeyReadonly, channel.id];
  const uuid = (await runWell(program, [site, ...keys])).trim();
  const pings = await effects.expectPings(
    uuid,
    "start GET, success GET, fail GET, success GET, fail POST, fail GET, start GET, success GET",
  );
  assert.equal(pings[4]?.body, "the log of a failure");
  assert.match(pings[0]?.ua ?? "", /^healthcheck/);
  await effects.expectStatus(uuid, "paused");
  assert.deepEqual(
    (await effects.checks()).map(({ settings }) => settings.name),
    ["crate renamed"],
  );
}

export const RUST_CLIENTS: readonly Client[] = [
  {
    name: "healthchecks crate",
    version: null,
    kind: "real",
    dialect: "standard",
    installs: "healthchecks-crate",
    note: "manual_resume left out: it sends a text where the service description wants a boolean",
    drive: driveCrate,
  },
  {
    name: "task-mon",
    version: null,
    kind: "real",
    dialect: "standard",
    installs: "task-mon",
    note: "",
    drive: driveTaskMon,
  },
];
