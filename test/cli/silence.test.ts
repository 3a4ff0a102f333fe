// `overdue silence` against a running server: by option, listed and ended, and what is said if something is wrong.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { newCheck } from "../management/asking.ts";
import { useCast } from "../management/cast.ts";
import { freePort } from "../support/ports.ts";
import { callOverdue } from "./run-overdue.ts";

const cast = useCast();
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "overdue-silence-"));
});
afterAll(() => rm(folder, { recursive: true }));

beforeEach(async () => {
  await cast.db.pool.query("delete from silences");
});

const settings = () => ({ OVERDUE_SITE_URL: cast.site, OVERDUE_API_KEY: cast.owner.rw });
const silence = (...args: string[]) => callOverdue(["silence", ...args], settings());

type Shown = Record<string, unknown> & { id: string };

async function created(...args: string[]): Promise<Shown> {
  const { code, out, err } = await silence(...args, "--json");
  expect([code, err]).toEqual([0, ""]);
  return JSON.parse(out) as Shown;
}

const msBetween = (from: unknown, to: unknown) => Date.parse(String(to)) - Date.parse(String(from));

describe("a silence", () => {
  test("for a tag is created, listed, and ended", async () => {
    const { code, out } = await silence("--tag", "db", "--for", "1h30m", "--reason", "DB upgrade");
    expect(code).toBe(0);
    expect(out).toMatch(
      /^Silenced checks with the tag db until \d{4}-\d\d-\d\d \d\d:\d\d UTC\.\nTo end it, run: overdue silence end [0-9a-f-]{36}\n$/,
    );
    const id = out.slice(-37, -1);
    const listed = await silence("list");
    expect(listed.out).toMatch(
      new RegExp(`^${id}  active  checks with the tag db  until .* UTC  DB upgrade\\n$`),
    );
    const { silences } = JSON.parse((await silence("list", "--json")).out) as { silences: Shown[] };
    expect(silences).toMatchObject([{ id, tag: "db", reason: "DB upgrade", state: "active", hold_after: 0 }]);
    expect(msBetween(silences[0]?.["from"], silences[0]?.["until"])).toBe(90 * 60_000);

    expect((await silence("end", id)).out).toBe(`Ended silence ${id}.\n`);
    expect(await silence("list")).toEqual({ code: 0, out: "", err: "No silences.\n" });
    expect((await silence("list", "--ended")).out).toMatch(
      new RegExp(`^${id}  ended  checks with the tag db  until`),
    );
    expect(JSON.parse((await silence("end", id, "--json")).out)).toEqual({ ended: [id] });
  });

  test("for checks ends with their next success", async () => {
    const check = await newCheck(cast, { name: "Nightly backup" });
    const shown = await created("--check", check.uuid.toUpperCase(), "--until-success");
    expect(shown).toMatchObject({
      checks: [{ id: check.uuid, name: "Nightly backup" }],
      until_success: true,
      schedule: null,
    });
    expect((await silence("list")).out).toContain(
      "  active  Nightly backup  until the next success, at most until ",
    );
    const second = await newCheck(cast, {});
    const two = await created("--check", check.uuid, second.uuid, "--for", "90s");
    expect(two["checks"]).toHaveLength(2);
  });

  test("for all checks begins and ends at given times", async () => {
    const day = new Date((await cast.now()) + 2 * 86_400_000).toISOString().slice(0, 10);
    const shown = await created("--all", "--from", `${day}T20:00+01:00`, "--until", `${day} 20:00:30Z`);
    expect(shown).toMatchObject({
      checks: null,
      tag: null,
      state: "upcoming",
      from: `${day}T19:00:00.000Z`,
      until: `${day}T20:00:30.000Z`,
    });
    expect((await silence("list")).out).toContain(
      `  upcoming  all checks  from ${day} 19:00 UTC until ${day} 20:00 UTC\n`,
    );
    const local = await created("--all", "--until", day);
    expect(local["until"]).toBe(new Date(`${day}T00:00`).toISOString());
  });

  test("recurs", async () => {
    const shown = await created(
      "--tag",
      "prod",
      "--schedule",
      "0 22 * * 6",
      "--tz",
      "Europe/Riga",
      "--for",
      "4h",
      "--hold-after",
      "10m",
    );
    expect(shown).toMatchObject({
      until: null,
      schedule: "0 22 * * 6",
      tz: "Europe/Riga",
      duration: 14_400,
      hold_after: 600,
    });
  });
});

describe("mistakes", () => {
  const whole = "--for";
  test.each<[string, string[], string]>([
    ["no scope", [whole, "1h"], "what to silence: --check, --tag, or --all"],
    ["two scopes", ["--all", "--tag", "db", whole, "1h"], "what to silence: --check, --tag, or --all"],
    ["no duration", ["--all", whole, "soon"], "Expected a duration such as 45m"],
    ["an empty duration", ["--all", whole, ""], "Expected a duration"],
    ["no time", ["--all", "--until", "tomorrow"], "Expected a time such as"],
    ["no date", ["--all", "--until", "2026-13-41"], "Expected a time such as"],
    ["no UUID", ["--check", "7"], "Expected a UUID"],
    ["no UUID to end", ["end", "7"], "Expected a UUID"],
    ["a URL that is none", ["list", "--url", "example.org"], "--url must be a URL"],
  ])("in the arguments end with code 2: %s", async (_, args, text) => {
    const { code, out, err } = await silence(...args);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(text);
  });

  test("that the server finds are repeated", async () => {
    expect(await silence("--all")).toMatchObject({
      code: 1,
      out: "",
      err: "overdue: Give an end, a duration, or a schedule.\n",
    });
    const unknown = "00000000-0000-4000-8000-000000000000";
    expect((await silence("end", unknown)).err).toBe("overdue: Silence not found.\n");
  });

  test("of the connection say what to change", async () => {
    const port = await freePort();
    const away = await silence("list", "--url", `http://127.0.0.1:${port}`);
    expect(away.code).toBe(1);
    expect(away.err).toContain(`Cannot connect to http://127.0.0.1:${port}: connect ECONNREFUSED`);
    const elsewhere = await silence("list", "--url", `${cast.site}/elsewhere`);
    expect([elsewhere.code, elsewhere.err]).toEqual([1, expect.stringContaining("Correct the URL.")]);
  });

  test("of the API key say where it is read from", async () => {
    const { OVERDUE_SITE_URL } = settings();
    const none = await callOverdue(["silence", "list"], { OVERDUE_SITE_URL });
    expect([none.code, none.err]).toEqual([
      2,
      expect.stringContaining("No API key. Run `overdue login`, set OVERDUE_API_KEY"),
    ]);
    const OVERDUE_API_KEY = "x".repeat(32);
    const wrong = await callOverdue(["silence", "list"], { OVERDUE_SITE_URL, OVERDUE_API_KEY });
    expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining("set OVERDUE_API_KEY")]);
    expect(wrong.err).not.toContain(OVERDUE_API_KEY);
    const readOnly = { OVERDUE_SITE_URL, OVERDUE_API_KEY: cast.owner.ro };
    expect((await callOverdue(["silence", "list"], readOnly)).code).toBe(0);
    expect((await callOverdue(["silence", "--all", "--for", "1h"], readOnly)).err).toBe(
      "overdue: A read-write API key is required.\n",
    );
  });
});

test("the API key is read from a file", async () => {
  const path = join(folder, "key");
  await writeFile(path, `${cast.owner.rw}\n`);
  const { OVERDUE_SITE_URL } = settings();
  expect((await callOverdue(["silence", "list", "--key-file", path], { OVERDUE_SITE_URL })).code).toBe(0);
  const given = { OVERDUE_SITE_URL, OVERDUE_API_KEY_FILE: path };
  expect((await callOverdue(["silence", "list"], given)).code).toBe(0);
  await writeFile(path, "\n");
  const empty = await callOverdue(["silence", "list", "--key-file", path], { OVERDUE_SITE_URL });
  expect([empty.code, empty.err]).toEqual([2, expect.stringContaining("is empty")]);
});
