// Replicas of what people type: the PowerShell module with everything that version 3 has, and the old hchk, which
// puts its key into the body and says nothing about its type.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Scene } from "../client.ts";
import { type Json, lastSegment, replica, type Wire } from "./wire.ts";

/** The module takes an array as well as an object around it. */
function flipsOf(body: unknown): Json[] {
  return Array.isArray(body) ? (body as Json[]) : ((body as { flips: Json[] }).flips ?? []);
}

type Module = Readonly<Record<"wire" | "reader" | "pinger", Wire>>;

/** Everything around making a check: by slug, with keywords and channels, and changed into a calendar's. */
async function pwshMakes(scene: Scene, { wire }: Module): Promise<string> {
  const { project, effects } = scene;
  const headers = { "Content-Type": "application/json" };
  (await wire.send("GET", "/status/")).expect(200);
  assert.equal((await wire.send("GET", "/channels/")).expect(200).list("channels").length, 2);
  const basics = { name: "Pwsh", slug: "pwsh", tags: "prod www", desc: "made", timeout: 3_600, grace: 60 };
  const keywords = { start_kw: "go", success_kw: "ok", failure_kw: "bad", filter_subject: true };
  const fields = { ...basics, ...keywords, manual_resume: true, channels: "*", unique: ["slug"] };
  const made = (await wire.send("POST", "/checks/", { headers, json: fields })).expect(201).json();
  const uuid = String(made["uuid"]);
  assert.deepEqual(await effects.channels(uuid), project.channels.map(({ id }) => id).toSorted());
  (await wire.send("POST", "/checks/", { headers, json: fields })).expect(200);
  const change = { schedule: "Mon *-*-* 04:00", tz: "Europe/Riga", manual_resume: false, channels: "Pager" };
  const changed = (await wire.send("POST", `/checks/${uuid}`, { headers, json: change })).expect(200).json();
  assert.deepEqual([changed["schedule"], changed["timeout"]], ["Mon *-*-* 04:00", undefined]);
  assert.equal((await wire.send("GET", "/checks/?slug=pwsh")).expect(200).list("checks").length, 1);
  assert.equal((await wire.send("GET", "/checks/?tag=prod&tag=www")).expect(200).list("checks").length, 1);
  return uuid;
}

/** Pings by UUID and by slug, and what is told of them afterwards. */
async function pwshPings(scene: Scene, { wire, pinger }: Module, uuid: string): Promise<void> {
  const { pingKey } = scene.project;
  const rid = randomUUID();
  const headers = { "Content-Type": "text/plain; charset=utf-8" };
  (await pinger.send("GET", `/${uuid}/start?rid=${rid}`)).expect(200);
  const ended = (await pinger.send("POST", `/${uuid}/0?rid=${rid}`, { headers, body: "größer" })).expect(200);
  assert.equal(ended.headers["ping-body-limit"], "10000");
  (await pinger.send("GET", `/${pingKey}/pwsh/fail`)).expect(200);
  (await pinger.send("GET", `/${pingKey}/pwsh-made-me/0?create=1&rid=${rid}`)).expect(201);
  (await pinger.send("GET", `/${randomUUID()}/0`)).expect(404);
  await scene.effects.expectPings(uuid, "start GET, success POST, fail GET");
  const pings = (await wire.send("GET", `/checks/${uuid}/pings/`)).expect(200).list("pings");
  assert.equal(pings.map((ping) => ping["type"]).join(), "fail,success,start");
  assert.equal((await wire.send("GET", `/checks/${uuid}/pings/2/body`)).expect(200).text, "größer");
  const shown = (await wire.send("GET", `/checks/${uuid}/flips/?seconds=600`)).expect(200).text;
  assert.equal(
    flipsOf(JSON.parse(shown))
      .map((flip) => flip["up"])
      .join(),
    "0,1",
  );
}

export const PWSH = replica(
  { name: "healthchecks-pwsh", version: "v3 API", note: "" },
  async (scene, open) => {
    const { project, effects } = scene;
    const identity = { "User-Agent": "HealthchecksPwsh/7.4.6", "Accept-Encoding": "gzip" };
    const wire = open({ prefix: "/api/v3", headers: { ...identity, "X-Api-Key": project.apiKey } });
    const reader = open({ prefix: "/api/v3", headers: { ...identity, "X-Api-Key": project.apiKeyReadonly } });
    const pinger = open({ prefix: "/ping", headers: identity });
    const uuid = await pwshMakes(scene, { wire, reader, pinger });
    await pwshPings(scene, { wire, reader, pinger }, uuid);
    assert.ok("*" in ((await reader.send("GET", "/badges/")).expect(200).json()["badges"] as Json));
    (await reader.send("POST", `/checks/${uuid}/pause`, { body: "" })).expect(401, 403);
    (await wire.send("POST", `/checks/${uuid}/pause`, { body: "" })).expect(200);
    await effects.expectStatus(uuid, "paused");
    (await wire.send("POST", `/checks/${uuid}/resume`, { body: "" })).expect(200);
    await effects.expectStatus(uuid, "new");
    (await wire.send("DELETE", `/checks/${uuid}`)).expect(200);
    const left = (await effects.checks()).map(({ settings }) => settings.name);
    assert.deepEqual(left, ["pwsh-made-me"]);
  },
);

export const HCHK = replica(
  { name: "hchk (PyPI)", version: "0.1.4", note: "its host is fixed, so a replica" },
  async (scene, open) => {
    const { project, effects } = scene;
    const identity = { "User-Agent": "hchk/0.1.4", Accept: "*/*", "Accept-Encoding": "gzip, deflate" };
    const wire = open({ headers: identity });
    const fields = { api_key: project.apiKey, name: "hchk job", tags: "cli", timeout: 3_600, grace: 300 };
    const made = (await wire.send("POST", "/api/v1/checks/", { json: fields })).expect(201).json();
    const uuid = lastSegment(made["ping_url"]);
    (await wire.send("GET", String(made["ping_url"]))).expect(200);
    const { settings } = await effects.check(uuid);
    assert.deepEqual(
      [settings.name, settings.timeoutSeconds, settings.graceSeconds],
      ["hchk job", 3_600, 300],
    );
    await effects.expectPings(uuid, "success GET");
    const bad = { ...fields, api_key: "x".repeat(32) };
    assert.equal(
      (await wire.send("POST", "/api/v1/checks/", { json: bad })).expect(401).json()["error"],
      "wrong api key",
    );
  },
);
