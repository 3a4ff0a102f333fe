// Badges as anyone gets them: by signed addresses, in three forms, with two or three states.
import { beforeAll, describe, expect, test } from "vitest";
import { badgeSignature, encodeTagSegment } from "../../src/core/badge.ts";
import { MINUTE_MS } from "../../src/core/instant.ts";
import { createLog } from "../../src/lib/log.ts";
import { hmacSha1, sha1 } from "../../src/lib/secrets.ts";
import { type BadgeHandler, badgeHandler } from "../../src/services/management/badges.ts";
import { markCheckDeleted } from "../../src/store/checks.ts";
import type { Db } from "../../src/store/db.ts";
import type { Project } from "../../src/store/projects.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { sampleIntake } from "../support/checks-under-change.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleCheck, sampleProject } from "../support/sample.ts";
import { servePlainly, stopServingAtEnd } from "./plain-server.ts";

const database = useDatabase();
stopServingAtEnd();

const SECRET = "the instance's secret, of the tests";
const UNKNOWN_UUID = "00000000-0000-4000-8000-000000000000";
const LATE_AT = MONDAY_NOON + 65 * MINUTE_MS;

let site: string;
let handler: BadgeHandler;
let now = MONDAY_NOON;
let queryCount = 0;

beforeAll(async () => {
  const counting: Db = {
    query: (statement, values) => {
      queryCount += 1;
      return database.db.query(statement, values);
    },
  };
  handler = badgeHandler({
    database: counting,
    siteUrl: new URL("https://overdue.example.org/site"),
    siteName: "Our jobs",
    secrets: { current: SECRET, previous: null },
    now: () => now,
    log: createLog({ level: "fatal" }),
  });
  site = await servePlainly(handler);
});

function signature({ badgeKey }: Project, tag: string): string {
  return badgeSignature({ badgeKey, tag, secret: SECRET }, { sha1, hmacSha1 });
}

/** The address of a tag's badge, without its format. */
function tagAddress(project: Project, tag: string, suffix = ""): string {
  return `/badge/${project.badgeKey}/${signature(project, tag)}${suffix}/${encodeTagSegment(tag)}`;
}

async function get(path: string, method = "GET") {
  const response = await fetch(site + path, { method });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

async function json(path: string): Promise<unknown> {
  const { status, text } = await get(path);
  expect(status).toBe(200);
  return JSON.parse(text);
}

/** A project with one check up (hourly), one down and one new; the first two carry the tag db. */
async function stagedProject() {
  const project = await sampleProject(database.db);
  const hourly = { timeoutSeconds: 3_600, graceSeconds: 600 };
  const make = (tags: string, name = "") =>
    sampleCheck(database.db, { projectId: project.id, tags, name, ...hourly });
  const up = await make("db late", "Hourly job");
  const down = await make("db sad");
  await make("fresh");
  const record = await sampleIntake(database.db);
  await record([{ uuid: up.uuid }, { uuid: down.uuid, action: "fail" }]);
  return { project, up, down };
}

describe("answers 200", () => {
  test("with the numbers of a tag, of all checks and of one check", async () => {
    const { project, up, down } = await stagedProject();
    now = MONDAY_NOON + MINUTE_MS;
    expect(await json(`${tagAddress(project, "late")}.json`)).toEqual({
      status: "up",
      total: 1,
      grace: 0,
      down: 0,
    });
    expect(await json(`${tagAddress(project, "db")}.json`)).toEqual({
      status: "down",
      total: 2,
      grace: 0,
      down: 1,
    });
    expect(await json(`/badge/${project.badgeKey}/${signature(project, "*")}.json`)).toEqual({
      status: "down",
      total: 3,
      grace: 0,
      down: 1,
    });
    expect(await json(`/b/2/${up.badgeUuid}.json`)).toEqual({ status: "up", total: 1, grace: 0, down: 0 });
    expect(await json(`/b/3/${down.badgeUuid}.json`)).toEqual({
      status: "down",
      total: 1,
      grace: 0,
      down: 1,
    });
  });

  test("with late where there are three states, and up where there are two", async () => {
    const { project, up } = await stagedProject();
    now = LATE_AT;
    const late = { total: 1, grace: 1, down: 0 };
    expect(await json(`${tagAddress(project, "late")}.json`)).toEqual({ status: "late", ...late });
    expect(await json(`${tagAddress(project, "late", "-2")}.json`)).toEqual({ status: "up", ...late });
    expect(await json(`/b/3/${up.badgeUuid}.json`)).toEqual({ status: "late", ...late });
    expect(await json(`/b/2/${up.badgeUuid}.json`)).toEqual({ status: "up", ...late });
    expect(await json(`/badge/${project.badgeKey}/${signature(project, "*")}.json`)).toEqual({
      status: "down",
      total: 3,
      grace: 1,
      down: 1,
    });
  });

  test("in the form that shields reads", async () => {
    const { project, up, down } = await stagedProject();
    now = LATE_AT;
    const shields = (path: string) => json(`${path}.shields`);
    expect(await shields(tagAddress(project, "late"))).toEqual({
      schemaVersion: 1,
      label: "late",
      message: "late",
      color: "important",
    });
    expect(await shields(tagAddress(project, "late", "-2"))).toMatchObject({ color: "success" });
    expect(await shields(`/badge/${project.badgeKey}/${signature(project, "*")}-2`)).toMatchObject({
      label: "Our jobs",
      color: "critical",
    });
    expect(await shields(`/b/2/${up.badgeUuid}`)).toMatchObject({ label: "Hourly job" });
    expect(await shields(`/b/2/${down.badgeUuid}`)).toMatchObject({ label: "check" });
  });

  test("with a picture", async () => {
    const { project } = await stagedProject();
    now = LATE_AT;
    const { status, headers, text } = await get(`${tagAddress(project, "late")}.svg`);
    expect([status, headers.get("content-type")]).toEqual([200, "image/svg+xml"]);
    expect(text).toMatch(/^<svg .*aria-label="late: late".*fill="#fe7d37"/s);
  });

  test("for a signed tag that no check carries", async () => {
    const { project } = await stagedProject();
    const nothing = { status: "up", total: 0, grace: 0, down: 0 };
    expect(await json(`${tagAddress(project, "nobody")}.json`)).toEqual(nothing);
  });

  test.each(["a/b", "db@dc1", "ā", "a.b", "50%", "%41", "<&>", "👍"])(
    "for the tag %s, encoded twice or once",
    async (tag) => {
      const project = await sampleProject(database.db);
      await sampleCheck(database.db, { projectId: project.id, tags: `x ${tag} y` });
      const twice = tagAddress(project, tag);
      const once = `/badge/${project.badgeKey}/${signature(project, tag)}/${encodeURIComponent(tag)}`;
      for (const path of [twice, once]) {
        expect(await json(`${path}.json`)).toMatchObject({ total: 1 });
        expect(await json(`${path}.shields`)).toMatchObject({ label: tag });
      }
    },
  );

  test("whether or not a proxy removes the path of the site", async () => {
    const { up } = await stagedProject();
    const here = await get(`/b/2/${up.badgeUuid}.json?cacheBust=1`);
    const below = await get(`/site/b/2/${up.badgeUuid}.json`);
    expect([here.status, below.status]).toEqual([200, 200]);
  });

  test("to any page, and with caching disabled", async () => {
    const { up } = await stagedProject();
    const { headers } = await get(`/b/2/${up.badgeUuid}.svg`);
    expect(Object.fromEntries(headers)).toMatchObject({
      "access-control-allow-origin": "*",
      "cache-control": "max-age=0, no-cache, no-store, must-revalidate, private",
      "x-content-type-options": "nosniff",
    });
    expect(Date.parse(headers.get("expires") ?? "")).toBeLessThanOrEqual(Date.now());
  });

  test("to HEAD as to GET, without a body", async () => {
    const { up } = await stagedProject();
    const asked = await get(`/b/2/${up.badgeUuid}.json`);
    const { status, headers, text } = await get(`/b/2/${up.badgeUuid}.json`, "HEAD");
    expect([status, text]).toEqual([200, ""]);
    expect(headers.get("content-length")).toBe(String(asked.text.length));
  });

  test("with two statements at most", async () => {
    const { project } = await stagedProject();
    now = MONDAY_NOON + MINUTE_MS;
    queryCount = 0;
    await get(`${tagAddress(project, "db")}.svg`);
    expect(queryCount).toBe(1);
    now = LATE_AT;
    await get(`${tagAddress(project, "db")}.svg`);
    expect(queryCount).toBe(3);
  });
});

test("204 to a preflight", async () => {
  const { status, headers, text } = await get(`/b/2/${UNKNOWN_UUID}.json`, "OPTIONS");
  expect([status, text]).toEqual([204, ""]);
  expect(Object.fromEntries(headers)).toMatchObject({
    "access-control-allow-origin": "*",
    "access-control-allow-headers": "X-Api-Key",
    "access-control-allow-methods": "GET, OPTIONS",
    "access-control-max-age": "600",
  });
});

describe("answers 404", () => {
  test("to a signature of something else, without asking the database", async () => {
    const { project } = await stagedProject();
    const { badgeKey } = project;
    const [all, db] = [signature(project, "*"), signature(project, "db")];
    const other = signature(await sampleProject(database.db), "db");
    const wrong = `${db.slice(0, 7)}${db.endsWith("A") ? "B" : "A"}`;
    queryCount = 0;
    for (const path of [
      `/badge/${badgeKey}/AAAAAAAA/db.json`,
      `/badge/${badgeKey}/${other}/db.json`,
      `/badge/${badgeKey}/${all}/db.json`,
      `/badge/${badgeKey}/${db}.json`,
      `/badge/${badgeKey}/${db}/sad.json`,
      `/badge/nosuchkey/${db}/db.json`,
      `/badge/${badgeKey}/${db.slice(0, 7)}/db.json`,
      `/badge/${badgeKey}/${wrong}/db.json`,
      `/badge/${badgeKey}/${wrong}${db.at(-1)}/db.json`,
    ]) {
      const { status, text } = await get(path);
      expect([path, status, text]).toEqual([path, 404, '{"error":"not found"}']);
    }
    expect(queryCount).toBe(0);
  });

  test("to a project that is gone, however well it is signed", async () => {
    const gone = { badgeKey: "gone" } as Project;
    expect((await get(`${tagAddress(gone, "db")}.json`)).status).toBe(404);
  });

  test("to a check that does not exist, is deleted, or is named by its own UUID", async () => {
    const { up, down } = await stagedProject();
    await inTransaction(database.db, (tx) => markCheckDeleted(tx, { checkId: down.id, at: MONDAY_NOON }));
    for (const uuid of [UNKNOWN_UUID, up.uuid, down.badgeUuid]) {
      expect((await get(`/b/2/${uuid}.svg`)).status).toBe(404);
    }
  });

  test("to any method where nothing can be", async () => {
    for (const method of ["GET", "HEAD", "OPTIONS", "POST"]) {
      expect((await get("/b/2/x.svg", method)).status).toBe(404);
    }
  });
});

test.each(["POST", "PUT", "PATCH", "DELETE"])("405 to %s", async (method) => {
  const { up } = await stagedProject();
  const { status, headers, text } = await get(`/b/2/${up.badgeUuid}.json`, method);
  expect([status, text]).toEqual([405, '{"error":"method not allowed"}']);
  expect(headers.get("allow")).toBe("GET, HEAD, OPTIONS");
});

function failingDatabase(error: Error): Db {
  return {
    query: async () => {
      throw error;
    },
  };
}

describe("when the database fails", () => {
  const failing = (error: Error) =>
    servePlainly(
      badgeHandler({
        database: failingDatabase(error),
        siteUrl: new URL("https://overdue.example.org"),
        siteName: "",
        secrets: { current: SECRET, previous: null },
        now: () => now,
        log: createLog({ level: "fatal" }),
      }),
    );

  test("because it is down, that is 503, with Retry-After", async () => {
    const away = await failing(Object.assign(new Error("away"), { code: "ECONNREFUSED" }));
    const response = await fetch(`${away}/b/2/${UNKNOWN_UUID}.svg`);
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
  });

  test("because a statement takes too long, that is 503 as well", async () => {
    const slow = await failing(Object.assign(new Error("too slow"), { code: "57014", severity: "ERROR" }));
    const response = await fetch(`${slow}/b/2/${UNKNOWN_UUID}.svg`);
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
  });

  test("otherwise it is 500, and says nothing about it", async () => {
    const broken = await failing(new Error("a secret"));
    const response = await fetch(`${broken}/b/2/${UNKNOWN_UUID}.svg`);
    expect([response.status, await response.text()]).toEqual([500, '{"error":"internal server error"}']);
  });
});

test("answers are counted by their status", async () => {
  const { up } = await stagedProject();
  const before = handler.answerCounts();
  await get(`/b/2/${up.badgeUuid}.json`);
  await get("/b/2/x.json");
  const after = handler.answerCounts();
  const more = (status: string) => (after[status] ?? 0) - (before[status] ?? 0);
  expect([more("200"), more("404"), more("405")]).toEqual([1, 1, 0]);
});
