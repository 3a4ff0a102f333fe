// borgmatic makes real backups into a real borg repository, one that succeeds and one that fails, and tells the
// server about both with its logs.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Client, Scene } from "../client.ts";
import { runProgram, runWell } from "../program.ts";

type Backup = { name: string; source: string; pingUrl: string; more?: string };

function configure(scene: Scene, { name, source, pingUrl, more = "" }: Backup): string {
  const path = join(scene.scratch, `${name}.yaml`);
  writeFileSync(
    path,
    `source_directories: [${source}]
source_directories_must_exist: true
repositories: [{path: ${join(scene.scratch, "repository")}, label: local}]
healthchecks:
    ping_url: ${pingUrl}
    send_logs: true
${more}`,
  );
  return path;
}

async function driveBorgmatic(scene: Scene): Promise<void> {
  const { site, project, effects } = scene;
  const uuid = await scene.newCheck();
  const source = join(scene.scratch, "source");
  mkdirSync(source);
  writeFileSync(join(source, "letter.txt"), "Dear archive,\n");
  const program = join(scene.folder, "python/borgmatic/bin/borgmatic");
  const options = { environment: { HOME: scene.scratch, BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK: "yes" } };
  const pingUrl = `${site}/ping/${uuid}`;
  const good = configure(scene, { name: "good", source, pingUrl });
  const bad = configure(scene, { name: "bad", source: join(scene.scratch, "nowhere"), pingUrl });
  const slugUrl = `${site}/ping/${project.pingKey}/borgmatic-made-me`;
  const bySlug = configure(scene, {
    name: "slug",
    source,
    pingUrl: slugUrl,
    more: "    create_slug: true\n",
  });

  await runWell(program, ["-c", good, "repo-create", "--encryption", "none"], options);
  await runWell(program, ["-c", good, "--verbosity", "1", "create", "--stats"], options);
  const failed = await runProgram(program, ["-c", bad, "create"], options);
  assert.notEqual(failed.code, 0, "a backup of what is not there");
  await runWell(program, ["-c", bySlug, "create"], options);

  const pings = await effects.expectPings(
    uuid,
    "start POST, log POST, success POST, start POST, log POST, fail POST",
  );
  assert.match(
    pings[2]?.body ?? "",
    /Archive fingerprint/,
    "the statistics of borg in the log of the backup",
  );
  assert.match(pings[5]?.body ?? "", /nowhere/, "the reason in the log of the failure");
  assert.equal(pings[0]?.ua, "borgmatic");
  await effects.expectStatus(uuid, "down");
  const made = await effects.named("borgmatic-made-me");
  await effects.expectPings(made.uuid, "start POST, log POST, success POST");
  await effects.expectStatus(made.uuid, "up");
}

export const BORGMATIC: Client = {
  name: "borgmatic",
  version: null,
  kind: "real",
  dialect: "standard",
  installs: "borgmatic",
  note: "real backups with borg",
  drive: driveBorgmatic,
};
