// Replicas of programs that send pings and nothing else: runitor, cloudflare-ddns, healthchecksio-cli. They differ in
// what they take for success.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { replica } from "./wire.ts";

const GO = { "User-Agent": "Go-http-client/1.1", "Accept-Encoding": "gzip" };
/** What runitor reports for a job that a signal killed. */
const KILLED_AS = 1;

export const RUNITOR = replica({ name: "runitor", version: "1.4.1", note: "" }, async (scene, open) => {
  const { project, effects } = scene;
  const uuid = await scene.newCheck();
  const wire = open({
    prefix: "/ping",
    headers: {
      ...GO,
      "User-Agent": "runitor/v1.4.1 (+https://bdd.fi/x/runitor)",
      "Content-Type": "text/plain",
    },
  });
  const run = async (handle: string, { code, output }: { code: number; output: string }) => {
    const query = `?rid=${randomUUID()}&create=1`;
    const start = (await wire.send("POST", `/${handle}/start${query}`, { body: "" })).expect(200, 201);
    assert.equal(start.headers["ping-body-limit"], "10000", "how much of the output is worth sending");
    (await wire.send("POST", `/${handle}/${code}${query}`, { body: output })).expect(200, 201);
    return start.status;
  };
  assert.equal(await run(uuid, { code: 0, output: "done\n" }), 200);
  assert.equal(await run(uuid, { code: 7, output: "x".repeat(10_000) }), 200);
  assert.equal(await run(uuid, { code: KILLED_AS, output: "[runitor] killed" }), 200);
  const rid = `?rid=${randomUUID()}&create=1`;
  (await wire.send("POST", `/${uuid}/log${rid}`, { body: "a line" })).expect(200, 201);
  (await wire.send("POST", `/${uuid}/fail${rid}`, { body: "" })).expect(200, 201);
  assert.equal(await run(`${project.pingKey}/runitor-made-me`, { code: 0, output: "" }), 201);
  assert.equal(await run(`${project.pingKey}/runitor-made-me`, { code: 0, output: "" }), 200);
  (await wire.send("POST", `/${randomUUID()}/start${rid}`, { body: "" })).expect(404);

  const pings = await effects.expectPings(
    uuid,
    "start POST, success POST, start POST, fail POST, start POST, fail POST, log POST, fail POST",
  );
  assert.deepEqual(
    pings.map(({ exitStatus }) => exitStatus),
    [null, 0, null, 7, null, 1, null, null],
  );
  assert.ok(pings[0]?.rid !== null && pings[0]?.rid === pings[1]?.rid, "both ends of a run have its id");
  assert.equal(pings[3]?.bodySize, 10_000);
  const made = await effects.named("runitor-made-me");
  await effects.expectPings(made.uuid, "start POST, success POST, start POST, success POST");
});

export const CLOUDFLARE_DDNS = replica(
  { name: "cloudflare-ddns", version: "1.17", note: "takes nothing but 200 and OK" },
  async (scene, open) => {
    const uuid = await scene.newCheck();
    const wire = open({ prefix: `/ping/${uuid}`, headers: GO });
    for (const [path, body] of [
      ["/start", ""],
      ["", "Set A records"],
      ["/fail", "Failed to set"],
      ["/log", "Detected 192.0.2.1"],
      ["/0", "exit"],
    ] as const) {
      const reply = (await wire.send("POST", path, { body })).expect(200);
      assert.equal(reply.text.trim(), "OK");
    }
    const kinds = "start POST, success POST, fail POST, log POST, success POST";
    const pings = await scene.effects.expectPings(uuid, kinds);
    assert.deepEqual(
      pings.map(({ body }) => body),
      [null, "Set A records", "Failed to set", "Detected 192.0.2.1", "exit"],
    );
    await scene.effects.expectStatus(uuid, "up");
  },
);

export const HEALTHCHECKSIO_CLI = replica(
  { name: "healthchecksio-cli", version: "1.3", note: "takes nothing but 200" },
  async (scene, open) => {
    const { project, effects } = scene;
    const slug = "cli-by-slug";
    const uuid = await scene.newCheck();
    const bySlug = await scene.newCheck({ name: slug, slug });
    const rid = randomUUID();
    const wire = open({ prefix: "/ping", headers: GO });
    for (const [path, body] of [
      ["/start", ""],
      ["/log", "half way"],
      ["", "all done"],
      ["/fail", "not at all"],
      ["/5", "exit status 5"],
    ] as const) {
      (await wire.send("POST", `/${uuid}${path}?rid=${rid}`, { body })).expect(200);
    }
    (await wire.send("POST", `/${project.pingKey}/${slug}?rid=${rid}`, { body: "" })).expect(200);
    const kinds = "start POST, log POST, success POST, fail POST, fail POST";
    const pings = await effects.expectPings(uuid, kinds);
    assert.ok(pings.every((ping) => ping.rid === rid));
    assert.equal(pings[4]?.exitStatus, 5);
    await effects.expectPings(bySlug, "success POST");
  },
);
