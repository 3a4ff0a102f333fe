// POST /checks/: makes a check, or updates the one that `unique` means.
import { describe, expect, test } from "vitest";
import { createKeys } from "../../src/operations/api-keys.ts";
import { sampleAccount, sampleProject } from "../support/sample.ts";
import {
  ALL_VERSIONS,
  checksAt,
  fieldsOf,
  KEYS_REFUSED,
  newCheck,
  readCheck,
  refusal,
  refusedKeys,
  type Shown,
  signals,
  statusesOf,
  type Version,
} from "./asking.ts";
import { type Cast, useCast } from "./cast.ts";

const cast = useCast();
const other = useCast({ dialect: "healthchecks" });
const STAGES = { standard: cast, healthchecks: other };
const DIALECTS = ["standard", "healthchecks"] as const;

type How = { version?: Version; key?: string; stage?: Cast };

function create(body: unknown, { version = 3, stage = cast, key = stage.owner.rw }: How = {}) {
  return stage.ask(checksAt(version), { method: "POST", key, body });
}

async function countChecks(stage: Cast = cast): Promise<number> {
  const { rows } = await stage.db.pool.query<{ count: string }>("select count(*) from checks");
  return Number(rows[0]?.count);
}

/** A project of an account with a limit, and its key. */
async function limitedProject(checkLimit: number): Promise<string> {
  const { id: ownerId } = await sampleAccount(cast.db, { checkLimit });
  const project = await sampleProject(cast.db, { ownerId });
  const { keys } = await createKeys(cast.db, {
    projectUuid: project.uuid,
    kinds: ["readWrite"],
    name: "",
    replace: false,
    secretKey: cast.secretKey,
    now: await cast.now(),
  });
  return keys.readWrite ?? "";
}

const EVERYTHING = {
  name: "Nightly",
  slug: "nightly",
  tags: "db  prod",
  desc: "Dumps\nit",
  grace: 120,
  manual_resume: true,
  methods: "POST",
  start_kw: "begin",
  success_kw: "ok",
  failure_kw: "bad",
  filter_subject: true,
  filter_body: true,
};

describe("201", () => {
  test("every parameter is kept, and shown as it was given", async () => {
    const body = { ...EVERYTHING, timeout: 3_600, filter_http_body: true, filter_default_fail: true };
    const { status, json } = await create(body);
    expect(status).toBe(201);
    expect(json).toMatchObject({ ...body, status: "new", n_pings: 0, subject: "ok", subject_fail: "bad" });
    const { subject, subject_fail, ...same } = json as Shown;
    expect([subject, subject_fail]).toEqual(["ok", "bad"]);
    expect(await readCheck(cast, same.uuid)).toEqual(same);
  });

  test.each(DIALECTS)("%s: each version answers with its fields, in their order", async (dialect) => {
    for (const version of ALL_VERSIONS) {
      const { status, json } = await create({}, { version, stage: STAGES[dialect] });
      expect(status).toBe(201);
      const expected = fieldsOf({ dialect, version, key: "rw", on: "change" });
      expect(Object.keys(json as object), String(version)).toEqual(expected);
    }
  });

  test("no body, an empty one, null, and unknown fields create a plain check", async () => {
    for (const body of [undefined, "", "null", "{}", { unknown: null, __proto__: 1 }]) {
      const { status, json } = await create(body);
      expect([status, json]).toMatchObject([201, { name: "", timeout: 86_400, grace: 3_600 }]);
    }
  });

  test("a schedule wins over a period, and may be cron or OnCalendar", async () => {
    const cron = await create({ schedule: "0 4 * * 1-5", tz: "Europe/Riga", timeout: 60 });
    expect(cron.json).toMatchObject({ schedule: "0 4 * * 1-5", tz: "Europe/Riga" });
    expect(cron.json).not.toHaveProperty("timeout");
    expect((await create({ schedule: "*-*-1 12:00" })).json).toMatchObject({ schedule: "*-*-1 12:00" });
  });

  test("the limits themselves are allowed; length is counted in characters", async () => {
    const body = {
      name: "🙂".repeat(100),
      slug: "x".repeat(100),
      tags: "t".repeat(500),
      timeout: 60,
      grace: 31_536_000,
      success_kw: "ß".repeat(200),
    };
    const { status, json } = await create(body);
    expect([status, json]).toMatchObject([201, body]);
    expect((await create({ timeout: 31_536_000.0, grace: 6e1 })).json).toMatchObject({ grace: 60 });
  });

  test("slugs: given in version 3, made from the name in 1 and 2, where version 2 lets a given one win", async () => {
    const body = { name: "Bäckup of A.B" };
    const slug = async (how: How & { slug?: string }) =>
      ((await create({ ...body, ...(how.slug && { slug: how.slug }) }, how)).json as Shown)["slug"];
    expect(await slug({ version: 3 })).toBe("");
    expect(await slug({ version: 3, slug: "own" })).toBe("own");
    expect(await slug({ version: 2 })).toBe("backup-of-ab");
    expect(await slug({ version: 2, slug: "own" })).toBe("own");
    expect(await slug({ version: 1, slug: "own" })).toBe("backup-of-ab");
    expect(await slug({ version: 1, slug: "own", stage: other })).toBe("own");
    expect(await slug({ version: 3, stage: other })).toBe("");
  });

  test("channels: none by default, all by a star, some by UUID or by name", async () => {
    const mail = await cast.channel(cast.owner, { name: "Mail", kind: "email" });
    const hook = await cast.channel(cast.owner, { name: "Hook", kind: "webhook" });
    const both = [mail.uuid, hook.uuid].toSorted().join(",");
    const shown = async (body: object) => ((await create(body)).json as Shown)["channels"];
    expect(await shown({})).toBe("");
    expect(await shown({ channels: "" })).toBe("");
    expect(await shown({ channels: "*" })).toBe(both);
    expect(await shown({ channels: mail.uuid })).toBe(mail.uuid);
    expect(await shown({ channels: `Hook,${mail.uuid},Hook` })).toBe(both);
  });

  test("the key may be in the body, and is neither stored nor shown", async () => {
    const { status, text } = await cast.ask(checksAt(), {
      method: "POST",
      body: { api_key: cast.owner.rw, name: "by body" },
    });
    expect(status).toBe(201);
    expect(text).not.toContain(cast.owner.rw);
  });

  test("unique without a match, or naming a field that is not given, makes a new check", async () => {
    const body = { name: "Twice", unique: ["name", "tags"] };
    expect((await create(body)).status).toBe(201);
    expect((await create(body)).status).toBe(201);
    expect((await create({ name: "Twice", unique: [] })).status).toBe(201);
    expect((await create({ name: "twice", tags: "", unique: ["name", "tags"] })).status).toBe(201);
  });
});

describe("200", () => {
  test.each(["name", "slug", "tags", "timeout", "grace"] as const)(
    "unique by %s means that check",
    async (field) => {
      const values = {
        name: `by ${field}`,
        slug: `by-${field}`,
        tags: `t-${field}`,
        timeout: 4_000,
        grace: 5_000,
      };
      const odd = { timeout: 60 + field.length, grace: 600 + field.length };
      const body = { ...values, ...odd, unique: [field] };
      const first = await create(body);
      const again = await create({ ...body, desc: "changed" });
      expect([first.status, again.status]).toEqual([201, 200]);
      expect(again.json).toMatchObject({ desc: "changed", uuid: (first.json as Shown).uuid });
    },
  );

  test("a pinged check keeps its state, and only the given fields change", async () => {
    const { uuid } = await newCheck(cast, { name: "pinged", desc: "kept" });
    await signals(cast, uuid, [{}, {}]);
    const { status, json } = await create({ name: "pinged", tags: "new", unique: ["name"] });
    expect([status, json]).toMatchObject([
      200,
      { uuid, n_pings: 2, status: "up", tags: "new", desc: "kept" },
    ]);
  });

  test("of several matches the oldest is meant", async () => {
    const { uuid } = await newCheck(cast, { name: "double" });
    await newCheck(cast, { name: "double" });
    const { json } = await create({ name: "double", unique: ["name"] });
    expect(json).toMatchObject({ uuid });
  });

  test("checks of other projects, and deleted ones, are never meant", async () => {
    const { uuid } = await newCheck(cast, { name: "only mine" });
    const body = { name: "only mine", unique: ["name"] };
    expect((await create(body, { key: cast.stranger.rw })).status).toBe(201);
    await cast.db.pool.query("update checks set deleted_at = now() where uuid = $1", [uuid]);
    expect((await create(body)).status).toBe(201);
  });

  test("fifty identical requests at once make one check, in every version", async () => {
    for (const version of ALL_VERSIONS) {
      const body = { name: `Once in ${version}`, tags: "a b", unique: ["name", "tags"] };
      const before = await countChecks();
      const replies = await Promise.all(Array.from({ length: 50 }, () => create(body, { version })));
      const statuses = statusesOf(replies);
      expect(statuses).toEqual([...Array.from({ length: 49 }, () => 200), 201]);
      expect(new Set(replies.map(({ json }) => (json as Shown)["ping_url"])).size).toBe(1);
      expect((await countChecks()) - before).toBe(1);
    }
  });

  test("requests with different criteria at once do not stop each other", async () => {
    const before = await countChecks();
    const body = (n: number) => ({
      name: `Shared ${n % 5}`,
      slug: `shared-${n % 5}`,
      unique: [n % 2 ? "name" : "slug"],
    });
    const replies = await Promise.all(Array.from({ length: 50 }, (_, n) => create(body(n))));
    expect(replies.every(({ status }) => status === 200 || status === 201)).toBe(true);
    const made = (await countChecks()) - before;
    // Nobody promises anything between requests with different criteria, except that each has its check.
    expect(made).toBeGreaterThanOrEqual(5);
    expect(made).toBeLessThanOrEqual(10);
  });
});

describe("400", () => {
  const problem = (text: string) => `400 json validation error: ${text}`;

  test("a body that is no JSON object", async () => {
    const before = await countChecks();
    for (const [body, expected] of [
      ["{", "400 could not parse request body"],
      [" ", "400 could not parse request body"],
      ["\uFEFF{}", "400 could not parse request body"],
      ['{"timeout": NaN}', "400 could not parse request body"],
      ["a=b", "400 could not parse request body"],
      [Buffer.from([0x7b, 0xff, 0x7d]), "400 could not parse request body"],
      ["[".repeat(100_000), "400 could not parse request body"],
      ["[]", problem("value is not an object")],
      ['"x"', problem("value is not an object")],
      ["0", problem("value is not an object")],
      ["false", problem("value is not an object")],
    ] as const) {
      expect(refusal(await create(body))).toBe(expected);
    }
    expect(await countChecks()).toBe(before);
  });

  test.each([
    [{ channels: 1 }, "channels is not a string"],
    [{ desc: null }, "desc is not a string"],
    [{ failure_kw: "x".repeat(201) }, "failure_kw is too long"],
    [{ filter_subject: "yes" }, "filter_subject is not a boolean"],
    [{ filter_body: 1 }, "filter_body is not a boolean"],
    [{ filter_http_body: null }, "filter_http_body is not a boolean"],
    [{ filter_default_fail: 0 }, "filter_default_fail is not a boolean"],
    [{ grace: 59 }, "grace is too small"],
    [{ grace: 31_536_001 }, "grace is too large"],
    [{ grace: "60" }, "grace is not a number"],
    [{ manual_resume: "true" }, "manual_resume is not a boolean"],
    [{ methods: "GET" }, "methods has unexpected value"],
    [{ methods: null }, "methods has unexpected value"],
    [{ name: 7 }, "name is not a string"],
    [{ name: "🙂".repeat(101) }, "name is too long"],
    [{ name: "a\u0000b" }, "name contains a character that cannot be stored"],
    [{ name: "\ud800" }, "name contains a character that cannot be stored"],
    [{ schedule: "" }, "schedule is not a valid cron or OnCalendar expression"],
    [{ schedule: "* * * *" }, "schedule is not a valid cron or OnCalendar expression"],
    [{ schedule: "* ".repeat(51) }, "schedule is too long"],
    [{ slug: "With Space" }, "slug does not match pattern"],
    [{ slug: "a\n" }, "slug does not match pattern"],
    [{ slug: "x".repeat(101) }, "slug is too long"],
    [{ start_kw: [] }, "start_kw is not a string"],
    [{ subject: {} }, "subject is not a string"],
    [{ subject_fail: "x".repeat(201) }, "subject_fail is too long"],
    [{ success_kw: false }, "success_kw is not a string"],
    [{ tags: ["a"] }, "tags is not a string"],
    [{ tags: "t".repeat(501) }, "tags is too long"],
    [{ timeout: 60.5 }, "timeout is not a number"],
    [{ timeout: true }, "timeout is too small"],
    [{ timeout: 1e30 }, "timeout is too large"],
    [{ timeout: -1e30 }, "timeout is too small"],
    [{ tz: "Mars/Olympus" }, "tz is not a valid timezone"],
    [{ tz: "europe/riga" }, "tz is not a valid timezone"],
    [{ unique: "name" }, "unique is not an array"],
    [{ unique: ["desc"] }, "an item in 'unique' has unexpected value"],
    [{ unique: [null] }, "an item in 'unique' has unexpected value"],
  ])("%j: %s", async (body, text) => {
    expect(refusal(await create(body))).toBe(problem(text));
  });

  test("of several problems the first is reported, in the order of the fields and not of the body", async () => {
    const body = {
      unique: 1,
      tz: 1,
      timeout: 1,
      tags: 1,
      name: 1,
      methods: 1,
      grace: 1,
      desc: 1,
      channels: "*",
    };
    const order = ["desc", "grace", "methods", "name", "tags", "timeout", "tz", "unique"];
    for (const [index, field] of order.entries()) {
      const left = Object.fromEntries(
        Object.entries(body).filter(([name]) => !order.slice(0, index).includes(name)),
      );
      expect(refusal(await create(left))).toContain(`: ${field} `);
    }
  });

  test("channels that do not exist, after everything else, and nothing is created", async () => {
    const twin = await cast.channel(cast.stranger, { name: "Twin", kind: "email" });
    await cast.channel(cast.stranger, { name: "Twin", kind: "webhook" });
    const key = cast.stranger.rw;
    const mine = await cast.channel(cast.owner, { name: "Foreign", kind: "email" });
    const before = await countChecks();
    for (const [channels, text] of [
      [",", "empty channel identifier"],
      [`${twin.uuid},`, "empty channel identifier"],
      ["nobody", "invalid channel identifier: nobody"],
      ["Twin", "non-unique channel identifier: Twin"],
      [mine.uuid, `invalid channel identifier: ${mine.uuid}`],
      [`${twin.uuid}, ${twin.uuid}`, `invalid channel identifier:  ${twin.uuid}`],
    ] as const) {
      expect(refusal(await create({ channels }, { key }))).toBe(`400 ${text}`);
    }
    expect(refusal(await create({ channels: "nobody", timeout: 1 }, { key }))).toBe(
      problem("timeout is too small"),
    );
    expect(await countChecks()).toBe(before);
  });

  test("version 1 takes no OnCalendar and no unique slug; in the other dialect it takes both but the first", async () => {
    const calendar = { schedule: "Mon 8:00" };
    const expected = problem("schedule is not a valid cron expression");
    expect(refusal(await create(calendar, { version: 1 }))).toBe(expected);
    expect((await create(calendar, { version: 2 })).status).toBe(201);
    const bySlug = { slug: "x", unique: ["slug"] };
    expect(refusal(await create(bySlug, { version: 1 }))).toBe(
      problem("an item in 'unique' has unexpected value"),
    );
    expect((await create(bySlug, { version: 1, stage: other })).status).toBe(201);
  });

  test("what a version does not know is not judged", async () => {
    const { status } = await create({ start_kw: 1, filter_body: "x", slug: 9 }, { version: 1 });
    expect(status).toBe(201);
    expect((await create({ start_kw: 1 }, { version: 1, stage: other })).status).toBe(400);
  });
});

describe("401", () => {
  test.each(DIALECTS)("%s: without a valid key, before the values are validated", async (dialect) => {
    for (const version of ALL_VERSIONS) {
      const call = { path: checksAt(version), method: "POST", body: { timeout: 1 } };
      expect(await refusedKeys(STAGES[dialect], call)).toEqual(KEYS_REFUSED);
    }
  });

  test("a key in the body that is no text, none, or hidden behind an empty header", async () => {
    for (const api_key of [null, 1, [cast.owner.rw], { key: cast.owner.rw }, "", "short"]) {
      const reply = await cast.ask(checksAt(), { method: "POST", body: { api_key } });
      expect(refusal(reply)).toBe("401 missing api key");
    }
    const hidden = await cast.ask(checksAt(), { method: "POST", key: "", body: { api_key: cast.owner.rw } });
    expect(refusal(hidden)).toBe("401 missing api key");
  });

  test("the other dialect says 401 to a key that may only read", async () => {
    expect(refusal(await create({}, { stage: other, key: other.owner.ro }))).toBe("401 wrong api key");
  });
});

describe("403", () => {
  test("a key that may only read, also one in the body", async () => {
    for (const version of ALL_VERSIONS) {
      expect(refusal(await create({ timeout: 1 }, { version, key: cast.owner.ro }))).toBe(
        "403 wrong api key",
      );
    }
    const reply = await cast.ask(checksAt(), { method: "POST", body: { api_key: cast.owner.ro } });
    expect(refusal(reply)).toBe("403 wrong api key");
  });

  test("an account that has as many checks as it may have, also when many ask at once", async () => {
    const key = await limitedProject(3);
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, n) => create({ name: `n${n}` }, { key })),
    );
    const statuses = statusesOf(replies);
    expect(statuses).toEqual([201, 201, 201, ...Array.from({ length: 7 }, () => 403)]);
    expect(refusal(await create({ channels: "nobody" }, { key }))).toBe("403 check limit reached");
    expect(refusal(await create({ timeout: 1 }, { key }))).toBe(
      "400 json validation error: timeout is too small",
    );
    const made = replies.find(({ status }) => status === 201)?.json;
    const { name } = made as { name: string };
    expect((await create({ name, unique: ["name"] }, { key })).status).toBe(200);
  });
});

test.each(ALL_VERSIONS)("version %i: a description has at most 65,536 characters", async (version) => {
  const longest = "\u{1F600}".repeat(65_536);
  expect((await create({ desc: longest }, { version })).status).toBe(201);
  expect(refusal(await create({ desc: `${longest}x` }, { version }))).toBe(
    "400 json validation error: desc is too long",
  );
  const { uuid } = await newCheck(cast);
  const update = await cast.ask(checksAt(version) + uuid, {
    method: "POST",
    key: cast.owner.rw,
    body: { desc: `${longest}x` },
  });
  expect(refusal(update)).toBe("400 json validation error: desc is too long");
});
