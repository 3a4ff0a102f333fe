// A replica of the Ansible collection community.healthchecksio: each module begins with a list that has a body, sends
// JSON as a form with more keys than anyone knows, and pings with HEAD.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Scene } from "../client.ts";
import { type Json, lastSegment, replica, type Reply, type Wire } from "./wire.ts";

/** A module: the probe of the token, then what it was called for. */
async function module(wire: Wire, work: (wire: Wire) => Promise<Reply>): Promise<Reply> {
  const probe = await wire.send("GET", "/api/v1/checks", { body: "null" });
  return probe.status === 401 ? probe : work(wire);
}

/** The parameters of the module `checks` with their defaults; null where there is none. */
function params(scene: Scene, given: Json): Json {
  return {
    api_base_url: scene.site,
    api_key: scene.project.apiKey,
    name: "",
    desc: "",
    grace: 3_600,
    manual_resume: false,
    methods: "",
    channels: "",
    unique: [],
    tags: "",
    ...given,
  };
}

export const ANSIBLE = replica(
  { name: "Ansible collection", version: "1.5.1", note: "" },
  async (scene, open) => {
    const { project, effects } = scene;
    const headers = {
      "User-Agent": "ansible-httpget",
      "Accept-Encoding": "identity",
      "Content-Type": "application/x-www-form-urlencoded",
      Connection: "close",
    };
    const wire = open({ headers: { ...headers, "X-Api-Key": project.apiKey } });
    const [channel] = project.channels;
    const simple = params(scene, {
      name: "test simple",
      desc: "my simple test check",
      unique: ["name"],
      tags: "test simple",
      timeout: 60,
      channels: channel?.id,
      // A parameter of the module that the API has never heard of, and that has no value.
      check_mode: null,
    });
    const present = (json: Json) => module(wire, (on) => on.send("POST", "/api/v1/checks/", { json }));
    const made = (await present(simple)).expect(201).json();
    const uuid = lastSegment(made["ping_url"]);
    const again = (await present({ ...simple, desc: "found and updated" })).expect(200).json();
    assert.equal(lastSegment(again["ping_url"]), uuid);
    assert.deepEqual(String(again["channels"]).split(",").toSorted(), [channel?.id]);
    const cron = params(scene, {
      name: "test hourly",
      schedule: "0 * * * *",
      tz: "UTC",
      tags: "test hourly",
    });
    const hourly = lastSegment((await present(cron)).expect(201).json()["ping_url"]);

    const info = (path: string) => module(wire, (on) => on.send("GET", `/api/v1/${path}`, { body: "null" }));
    assert.equal((await info("checks?tag=test&tag=hourly")).expect(200).list("checks").length, 1);
    assert.equal((await info(`checks/${uuid}`)).expect(200).json()["desc"], "found and updated");
    assert.equal((await info("channels")).expect(200).list("channels").length, 2);
    assert.ok("badges" in (await info("badges")).expect(200).json());
    for (const signal of ["", "/start", "/fail"]) {
      (await module(wire, (on) => on.send("HEAD", `/ping/${uuid}${signal}`))).expect(200);
    }
    await effects.expectPings(uuid, "success HEAD, start HEAD, fail HEAD");
    assert.equal((await info(`checks/${uuid}/pings`)).expect(200).list("pings").length, 3);
    (await info(`checks/${uuid}/flips`)).expect(200).json();

    (await module(wire, (on) => on.send("POST", `/api/v1/checks/${uuid}/pause`, { body: "null" }))).expect(
      200,
    );
    await effects.expectStatus(uuid, "paused");
    (await module(wire, (on) => on.send("DELETE", `/api/v1/checks/${hourly}`))).expect(200);
    (await module(wire, (on) => on.send("DELETE", `/api/v1/checks/${randomUUID()}`))).expect(404);
    assert.equal(await effects.find(hourly), null);
    const stranger = open({ headers: { ...headers, "X-Api-Key": "x".repeat(32) } });
    (await module(stranger, (on) => on.send("GET", "/api/v1/badges"))).expect(401);
  },
);
