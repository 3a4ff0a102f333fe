// Policies by the Overdue API: what a check inherits and from where, conditions, and settings that are tried out.
import { describe, expect, test } from "vitest";
import type { CheckPolicy } from "../../src/contract/api/policies.ts";
import { API_PATH } from "../../src/contract/api/route.ts";
import { newCheck, readCheck } from "../management/asking.ts";
import { sampleAccount } from "../support/sample.ts";
import { type Browsing, useDashboard } from "../web/dashboard.ts";
import { askApi, newChannel } from "./asking.ts";

const at = useDashboard({ settings: { OVERDUE_API_RATE_LIMIT: "0" } });

const asKey = (path: string, given: object = {}) => askApi(at, path, { key: at.owner.rw, ...given });
const browse = (path: string, given: Browsing = {}) =>
  at.browse(`${API_PATH}/projects/${at.owner.project.uuid}${path}`, given);
const policyOf = async (check: string) =>
  (await asKey(`/checks/${check}/policy`)).json as unknown as CheckPolicy;
const change = (check: string, body: object, headers: Record<string, string> = {}) =>
  asKey(`/checks/${check}/policy`, { method: "PATCH", body, headers });

describe("the policy of a check", () => {
  test("is the default at first, in words", async () => {
    const { uuid } = await newCheck(at);
    const { own, effective, inherited, sentence, origins } = await policyOf(uuid);
    expect(own).toEqual({ dependsOn: [] });
    expect(effective).toEqual(inherited);
    expect(effective).toMatchObject({ failures: { count: 1, of: 1 }, repeat: null });
    expect(new Set(Object.values(origins))).toEqual(new Set(["default"]));
    expect(sentence).toBe("Notifies on every failure and missed run.");
  });

  test("shows what is inherited, and the channels of matching rules", async () => {
    const { uuid } = await newCheck(at, { tags: "prod db" });
    const assigned = await newChannel(at);
    const routed = await newChannel(at);
    await asKey(`/channels/${assigned.id}`, { method: "PATCH", body: { checks: [uuid] } });
    await asKey(`/channels/${routed.id}`, { method: "PATCH", body: { checks: [] } });
    const project = await browse("/policy", {
      method: "PATCH",
      body: { missed: 2, early: 60, ackLinks: false },
    });
    expect(project.status).toBe(200);
    expect(project.json).toMatchObject({ own: { missed: 2, early: 60 }, ackLinks: false });
    const rules = [{ tag: "prod", policy: { missed: 3, groupBy: ["source"] }, channels: [routed.id] }];
    const set = await browse("/tag-rules", { method: "PUT", body: { rules } });
    expect(set.json).toMatchObject({ rules });
    expect((await browse("/tag-rules")).json).toEqual(set.json);
    await change(uuid, { failures: { count: 3, of: 3 } });
    const policy = await policyOf(uuid);
    expect(policy.own).toEqual({ failures: { count: 3, of: 3 }, dependsOn: [] });
    expect(policy.effective).toMatchObject({ missed: 3, early: 60, groupBy: ["source"] });
    expect(policy.inherited.failures).toEqual({ count: 1, of: 1 });
    expect(policy.origins).toMatchObject({ missed: "tag:prod", early: "project", failures: "default" });
    expect(policy.sentence).toContain("3 failed runs in a row or 3 missed runs in a row");
    expect(policy.channels).toEqual([
      { id: assigned.id, origin: "check" },
      { id: routed.id, origin: "tag:prod" },
    ]);
    await browse("/tag-rules", { method: "PUT", body: { rules: [] } });
    await browse("/policy", { method: "PATCH", body: { missed: null, early: null, ackLinks: true } });
    expect((await policyOf(uuid)).origins.missed).toBe("default");
  });

  test("stays when the Management API changes the check, and is not part of it", async () => {
    const { uuid } = await newCheck(at);
    await change(uuid, { missed: 2 });
    const body = { name: "renamed", tags: "a b", grace: 60 };
    const written = await at.ask(`/api/v3/checks/${uuid}`, { method: "POST", key: at.owner.rw, body });
    expect(written.status).toBe(200);
    expect((await policyOf(uuid)).own).toEqual({ missed: 2, dependsOn: [] });
    expect(await readCheck(at, uuid)).not.toHaveProperty("rules");
  });

  test("is changed under the condition of its ETag", async () => {
    const { uuid } = await newCheck(at);
    const first = await asKey(`/checks/${uuid}/policy`);
    const etag = first.headers.get("etag") ?? "";
    const second = await change(uuid, { missed: 2 }, { "If-Match": etag });
    expect(second.status).toBe(200);
    expect(second.headers.get("etag")).not.toBe(etag);
    expect((await change(uuid, { missed: 3 }, { "If-Match": etag })).status).toBe(412);
    const back = await change(uuid, { missed: null });
    expect(back.headers.get("etag")).toBe(etag);
  });

  test.each([
    [{ failures: { count: 2, of: 1 } }, "failures"],
    [{ repeat: 299 }, "repeat"],
    [{ maxRun: 59 }, "maxRun"],
    [{ startWithin: 7200 }, "startWithin"],
    [{ groupBy: ["host"] }, "groupBy"],
    [{ groupBy: ["source", "source"] }, "groupBy"],
    [{ severity: { failed: "urgent", missed: "low" } }, "failed"],
  ])("refuses %j", async (body, field) => {
    const { uuid } = await newCheck(at);
    expect((await change(uuid, body)).json).toMatchObject({ status: 400, field });
  });
});

test("members and API keys cannot change the policy of a project", async () => {
  const member = await sampleAccount(at.db);
  await at.join(member, "member");
  const given = { method: "PATCH", body: { missed: 2 } };
  expect((await browse("/policy", { ...given, as: member })).status).toBe(403);
  expect((await asKey("/projects/{project}/policy", given)).status).toBe(403);
  expect((await asKey("/projects/{project}/policy")).status).toBe(200);
});

describe("trying out", () => {
  const replay = (check: string, body: object) => asKey(`/checks/${check}/replay`, { method: "POST", body });

  test("a policy needs no schedule, and changes nothing", async () => {
    const { uuid } = await newCheck(at, { grace: 3600 });
    const before = await policyOf(uuid);
    const reply = await replay(uuid, {
      failures: { count: 2, of: 2 },
      missed: 2,
      maxRun: 60,
      startWithin: 60,
    });
    expect(reply.status).toBe(200);
    expect(reply.json).toMatchObject({ runCount: 0, before: [], after: [] });
    expect(await policyOf(uuid)).toEqual(before);
  });

  test("refuses a policy that could not be set", async () => {
    const { uuid } = await newCheck(at, { grace: 3600 });
    expect((await replay(uuid, { startWithin: 7200 })).json).toMatchObject({
      status: 400,
      field: "startWithin",
    });
    expect((await replay(uuid, { startWithin: 7200, graceSeconds: 7200 })).status).toBe(200);
    expect((await replay(uuid, { repeat: 300 })).json).toMatchObject({ status: 400, field: "repeat" });
  });
});
