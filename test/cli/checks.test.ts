// `overdue checks`, `runs`, `tail`, and `whoami` against a running server.
import { beforeEach, describe, expect, test } from "vitest";
import { newCheck } from "../management/asking.ts";
import { useCast } from "../management/cast.ts";
import { callOverdue, runOverdue, type Typed } from "./run-overdue.ts";

const cast = useCast({ roles: ["api", "ping"], settings: { OVERDUE_API_RATE_LIMIT: "0" } });

const settings = () => ({ OVERDUE_SITE_URL: cast.site, OVERDUE_API_KEY: cast.owner.rw });
const overdue = (args: readonly string[], typed: Typed = {}) => callOverdue(args, settings(), typed);
const checks = (...args: string[]) => overdue(["checks", ...args]);

async function jsonOf(...args: string[]): Promise<Record<string, unknown>> {
  const { code, out, err } = await overdue([...args, "--json"]);
  expect([code, err]).toEqual([0, ""]);
  return JSON.parse(out) as Record<string, unknown>;
}

beforeEach(async () => {
  await cast.db.pool.query("delete from checks");
});

describe("overdue checks", () => {
  test("creates a check, shows it by slug, name, and UUID, and lists it", async () => {
    const options = ["--schedule", "0 3 * * *", "--tz", "Europe/Riga", "--grace", "30m", "--tags", "db prod"];
    const made = await jsonOf("checks", "create", "--name", "Nightly backup", ...options);
    expect(made).toMatchObject({ name: "Nightly backup", slug: "nightly-backup", state: "new" });
    expect(made["ping_url"]).toBe(`${cast.site}/ping/${String(made["id"])}`);
    for (const wanted of ["nightly-backup", "Nightly backup", String(made["id"]).toUpperCase()]) {
      expect(await jsonOf("checks", "get", wanted)).toMatchObject({
        id: made["id"],
        kind: "cron",
        schedule: "0 3 * * *",
        tz: "Europe/Riga",
        grace_seconds: 1_800,
        tags: ["db", "prod"],
      });
    }
    const { out } = await checks("get", "nightly-backup");
    expect(out).toContain("Status     new\n");
    expect((await checks("list", "--tag", "db")).out).toMatch(
      /^STATUS {2}NAME +SLUG +EXPECTED +LAST PING +UUID\nnew +Nightly backup +nightly-backup +.* never /,
    );
    expect(await checks("list", "--tag", "web")).toEqual({ code: 0, out: "", err: "No checks.\n" });
    expect(await checks("list", "--state", "down")).toMatchObject({ out: "" });
  });

  test("creates a check by interval", async () => {
    const { code, out } = await checks(
      "create",
      "--name",
      "Heartbeat",
      "--period",
      "5m",
      "--channels",
      "none",
    );
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/^Created check Heartbeat \([0-9a-f-]{36}\)\.\nPing URL: http/),
    ]);
    expect(await jsonOf("checks", "get", "heartbeat")).toMatchObject({
      kind: "simple",
      timeout_seconds: 300,
    });
  });

  test("pauses and resumes checks", async () => {
    const { uuid } = await newCheck(cast, { name: "One" });
    await newCheck(cast, { name: "Two" });
    expect((await checks("pause", "One", "Two")).out).toMatch(/^Paused One .*\nPaused Two .*\n$/);
    expect(await jsonOf("checks", "resume", uuid)).toMatchObject({ checks: [{ id: uuid, state: "new" }] });
    expect((await checks("resume", uuid)).code).toBe(1);
  });

  test("deletes after a confirmation, or with --yes", async () => {
    const { uuid } = await newCheck(cast, { name: "One" });
    const refused = await checks("delete", "One");
    expect([refused.code, refused.err]).toEqual([4, expect.stringContaining("with --yes")]);
    const declined = await overdue(["checks", "delete", "One"], { answers: ["n"] });
    expect([declined.code, declined.err]).toEqual([4, expect.stringContaining("Delete One? [y/N]")]);
    expect((await checks("list")).out).toContain(uuid);
    const confirmed = await overdue(["checks", "delete", "One"], { answers: ["y"] });
    expect([confirmed.code, confirmed.out]).toEqual([0, expect.stringContaining(`Deleted One (${uuid}).`)]);
    await newCheck(cast, { name: "Two" });
    const deleted = (await jsonOf("checks", "delete", "Two", "--yes"))["deleted"];
    expect(deleted).toEqual([{ id: expect.any(String), name: "Two", restorable_until: expect.any(String) }]);
  });

  test.each<[string, string[], number, string]>([
    ["no such check", ["get", "gone"], 1, 'No check "gone".'],
    ["two of a name", ["pause", "Twin"], 1, 'There are 2 checks "Twin". Give a UUID: '],
    ["both schedules", ["create", "--name", "x", "--period", "1h", "--schedule", "@daily"], 2, "either"],
    ["no name", ["create"], 2, "--name"],
    ["a bad schedule", ["create", "--name", "x", "--schedule", "* *"], 1, "Invalid schedule"],
  ])("%s is an error", async (_, args, code, text) => {
    for (const slug of ["a", "b"]) await newCheck(cast, { name: "Twin", slug });
    const ended = await checks(...args);
    expect([ended.code, ended.out, ended.err]).toEqual([code, "", expect.stringContaining(text)]);
  });
});

test("overdue runs lists the runs of a check", async () => {
  const { uuid } = await newCheck(cast, { name: "Nightly backup", slug: "nightly-backup" });
  expect(await overdue(["runs", uuid])).toEqual({ code: 0, out: "", err: "No runs.\n" });
  await fetch(`${cast.site}/ping/${uuid}/1`, { method: "POST", body: "disk \u001b[31mfull" });
  await fetch(`${cast.site}/ping/${uuid}`);
  const { runs } = await jsonOf("runs", "nightly-backup");
  expect(runs).toMatchObject([
    { outcome: "success", n: 2, is_late: false },
    { outcome: "fail", exit_status: 1, at: expect.stringMatching(/Z$/) },
  ]);
  const { out } = await overdue(["runs", "nightly-backup", "--limit", "2"]);
  expect(out).toMatch(/^TIME +OUTCOME +DURATION +EXIT +OUTPUT\n\S+Z +success\n\S+Z +fail +1 +disk .*full\n$/);
  expect(out).not.toContain("\u001b");
});

describe("overdue tail", () => {
  test("prints pings as they arrive, those of one check only", async () => {
    const one = await newCheck(cast, { name: "One" });
    const two = await newCheck(cast, { name: "Two" });
    await fetch(`${cast.site}/ping/${one.uuid}`);
    const all = overdue(["tail", "--count", "3", "--json"]);
    const only = overdue(["tail", "Two", "--count", "1"]);
    // Until both are connected.
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    await fetch(`${cast.site}/ping/${one.uuid}/3`, { method: "POST", body: "oh no" });
    await fetch(`${cast.site}/ping/${two.uuid}`);
    const lines = (await all).out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines).toHaveLength(3);
    expect(lines).toContainEqual(
      expect.objectContaining({
        type: "ping",
        kind: "fail",
        exit_status: 3,
        check: { id: one.uuid, name: "One" },
      }),
    );
    expect(lines.filter(({ kind }) => kind === "success").length).toBeLessThanOrEqual(1);
    const { code, out } = await only;
    expect(code).toBe(0);
    expect(out).toMatch(/^\S+Z {2}Two {2}(success|is up)/);
  });

  test("gives up if the server does not accept the key", async () => {
    const { code, err } = await callOverdue(["tail"], { ...settings(), OVERDUE_API_KEY: cast.owner.ro });
    expect([code, err]).toEqual([1, expect.stringContaining("read-write")]);
  });
});

describe("overdue whoami", () => {
  test("shows the key, the project, and the server", async () => {
    expect(await jsonOf("whoami")).toEqual({
      url: cast.site,
      version: expect.any(String),
      profile: null,
      kind: "read-write",
      project: { id: cast.owner.project.uuid, name: "Project of the owner" },
    });
    const { out } = await callOverdue(["whoami"], { ...settings(), OVERDUE_API_KEY: cast.owner.ro });
    expect(out).toContain(`Server   ${cast.site}`);
    expect(out).toContain("API key  read-only\n");
  });

  test("as a process", async () => {
    const { code, out, err } = await runOverdue(["whoami"], settings());
    expect([code, err]).toEqual([0, ""]);
    expect(out).not.toContain(cast.owner.rw);
  });
});
