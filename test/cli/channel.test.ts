// Channels by hand, through the real program: added, listed, tested, removed, and their log.
import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { callOverdue, useDurablePostgres } from "./run-overdue.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const postgres = useDurablePostgres();
let environment: Record<string, string> = {};
let project = "";
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "overdue-channel-"));
  environment = { OVERDUE_DATABASE_URL: await postgres.newDatabase() };
  await callOverdue(["migrate"], environment);
  await callOverdue(["admin", "create-account", "--email", "ann@example.org"], environment);
  const made = await callOverdue(["admin", "create-project", "--name", "Backups", "--json"], environment);
  project = (JSON.parse(made.out) as { uuid: string }).uuid;
});

afterAll(() => rm(folder, { recursive: true }));

const channel = (...options: string[]) => callOverdue(["admin", "channel", ...options], environment);
const add = (...options: string[]) => channel("add", "--project", project, ...options);

async function added(...options: string[]): Promise<{ uuid: string; made: Record<string, string> }> {
  const { code, out, err } = await add(...options, "--json");
  expect([code, err]).toEqual([0, ""]);
  return JSON.parse(out) as { uuid: string; made: Record<string, string> };
}

describe("overdue admin channel", () => {
  test("adds by options and by a file, lists without secrets, and removes", async () => {
    const mail = await added(
      "--kind",
      "email",
      "--set",
      "value=ann@example.org",
      "up=false",
      "--name",
      "Ann",
    );
    const file = join(folder, "hook.json");
    writeFileSync(file, JSON.stringify({ url_down: "https://example.org/planted-secret-1" }));
    const hook = await added("--kind", "webhook", "--config", file, "--disabled");
    expect(hook.made["secret"]).toMatch(/^whsec_/);
    const group = await added("--kind", "group", "--set", `members=${mail.uuid},${hook.uuid}`);
    const listed = await channel("list", "--project", project);
    expect(listed.out).toContain(`${mail.uuid}  Email    Ann`);
    expect(listed.out).toContain("disabled: Disabled by its owner");
    expect(listed.out).not.toContain("planted-secret");
    const json = JSON.parse((await channel("list", "--project", project, "--json")).out) as {
      channels: object[];
    };
    expect(json.channels).toHaveLength(3);
    for (const uuid of [group.uuid, hook.uuid]) {
      expect((await channel("remove", uuid)).out).toBe(`Deleted channel ${uuid}.\n`);
    }
  });

  test("a name has a limit", async () => {
    const { code, err } = await add("--kind", "telegram", "--name", "x".repeat(101));
    expect([code, err]).toEqual([2, expect.stringContaining("The name is too long.")]);
  });

  test("shows a secret that was made, once", async () => {
    const { out } = await add("--kind", "telegram");
    expect(out).toMatch(
      /^Created channel [0-9a-f-]{36}\. Notifies for 0 checks\.\n\nsetup_code {2}\w{24}\n\nSave this now\./,
    );
  });

  test("a test without a running notifier fails with a message, and is in the log", async () => {
    const { uuid } = await added("--kind", "ntfy", "--set", "topic=planted-topic", "priority=5");
    const tested = await channel("test", uuid, "--wait", "0");
    expect(tested.code).toBe(1);
    expect(tested.out).toMatch(/ {2}test {2,}pending {2}0 attempts\n$/);
    expect(tested.err).toContain("Check that a process with the role notifier is running.");
    const log = await channel("log", uuid, "--json");
    expect(JSON.parse(log.out)).toMatchObject({
      deliveries: [{ kind: "test", state: "pending", attempts: 0 }],
    });
    expect((await channel("log", uuid)).out).toContain("pending");
  });

  test("a test in safe mode says that nothing is sent, and how to end safe mode", async () => {
    const { uuid } = await added("--kind", "ntfy", "--set", "topic=planted-topic");
    const client = new pg.Client({ connectionString: environment["OVERDUE_DATABASE_URL"] });
    await client.connect();
    try {
      await client.query(
        "insert into database_identity (database_oid, state, state_since_at) values (1, 'safe', now())",
      );
      const { code, err } = await channel("test", uuid, "--wait", "0");
      expect(code).toBe(1);
      expect(err).toContain("safe mode");
      expect(err).toContain("overdue admin restore confirm");
      expect(err).not.toContain("role notifier");
    } finally {
      await client.query("delete from database_identity");
      await client.end();
    }
  });

  test.each([
    [["--kind", "fax"], "Allowed choices are email, webhook"],
    [["--kind", "slack"], "url is required"],
    [["--kind", "slack", "--set", "url"], 'Invalid --set value "url": expected field=value.'],
    [["--kind", "ntfy", "--set", "topic=x", "priority=high"], "priority must be"],
    [["--kind", "email", "--set", "value=x"], "value must be an email address"],
    [["--kind", "slack", "--config", "/nowhere/x.json"], "Cannot read the configuration"],
    [["--kind", "email", "--checks", "x"], "Expected a UUID"],
  ])("refuses %j in words", async (options, words) => {
    const { code, err } = await add(...options);
    expect(code).toBeGreaterThan(0);
    expect(err).toContain(words);
  });

  test("reports missing projects and channels", async () => {
    const nowhere = "00000000-0000-4000-8000-000000000000";
    expect((await channel("remove", nowhere)).err).toContain(`No channel with UUID ${nowhere}.`);
    expect((await channel("list", "--project", nowhere)).err).toContain(`No project with UUID ${nowhere}.`);
  });
});
