// Reads a project by the management API: of a fake that serves the fixtures, and of our own server.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import type { SourceCheck, SourceFlip, SourcePing } from "../../src/core/import-source.ts";
import {
  IMPORT_BODY_BYTES_MAX,
  IMPORT_FAILURES_MAX,
  IMPORT_RATE_LIMITED_MAX,
  IMPORT_REQUESTS_MAX,
} from "../../src/core/limits.ts";
import { type ApiSourceOptions, openApiSource } from "../../src/import/healthchecks-api.ts";
import { openDatabaseSource } from "../../src/import/healthchecks-database.ts";
import { useCast } from "../management/cast.ts";
import { buildFixture } from "./fixtures/build.ts";
import { fixtureContent } from "./fixtures/content.ts";
import { FAKE_KEY, type FakeApi, type FakeApiOptions, startFakeApi } from "./fixtures/fake-api.ts";
import { collect, readAll } from "./read-all.ts";

const folder = mkdtempSync(join(tmpdir(), "overdue-import-api-"));
const fakes: FakeApi[] = [];

afterEach(async () => {
  for (const fake of fakes.splice(0)) await fake.stop();
});

afterAll(() => rmSync(folder, { recursive: true }));

const small = () => fixtureContent({ checkCount: 4, pingsPerCheck: 5 });

async function fakeOf(options: Partial<FakeApiOptions> = {}): Promise<FakeApi> {
  const fake = await startFakeApi({ content: small(), ...options });
  fakes.push(fake);
  return fake;
}

/** Waits that were asked for, instead of waiting. */
function noting(): { waits: number[]; sleep: (ms: number) => Promise<void> } {
  const waits: number[] = [];
  return { waits, sleep: async (ms) => void waits.push(ms) };
}

function open(url: string, options: Partial<ApiSourceOptions> = {}) {
  return openApiSource(url, { apiKey: FAKE_KEY, allowPrivate: true, ...options });
}

const wholeSeconds = (at: number | null) => (at === null ? null : Math.floor(at / 1_000) * 1_000);

/** What the API shows of a check in the database. */
function shownCheck(check: SourceCheck): SourceCheck {
  const { lastDurationS } = check;
  return {
    ...check,
    createdAt: null,
    alertAfterAt: null,
    lastPingAt: wholeSeconds(check.lastPingAt),
    lastDurationS: lastDurationS === null ? null : Math.trunc(lastDurationS),
  };
}

function shownFlip({ at, to }: SourceFlip): SourceFlip {
  return { at: wholeSeconds(at) ?? 0, from: "", to: to === "up" ? "up" : "down", reason: "" };
}

const shownPing = (ping: SourcePing): SourcePing => ({ ...ping, exitStatus: null });

describe("The API of Healthchecks", () => {
  test.each(["array", "object"] as const)(
    "shows the same as its database, with flips as %s",
    async (flips) => {
      const content = fixtureContent();
      const path = join(folder, `${flips}.sqlite`);
      await buildFixture(path, { content });
      const stored = await readAll(await openDatabaseSource(path));
      const fake = await fakeOf({ content, flips });
      const read = await readAll(await open(fake.url));

      const expected = [...stored.checks.values()]
        .filter(({ project }) => project === "1")
        .map(({ check, pings, flips: all }) => ({
          project: "api",
          check: shownCheck(check),
          pings: pings.map(shownPing),
          flips: all.map(shownFlip),
        }));
      expect(expected).toHaveLength(150);
      expect([...read.checks.values()]).toEqual(expected);
      const [project] = stored.projects;
      expect(read.projects).toEqual([
        {
          ...project,
          ref: "api",
          uuid: null,
          name: new URL(fake.url).host,
          pingKey: null,
          keys: { readWrite: { text: FAKE_KEY }, readOnly: null },
          ownerEmail: null,
          members: [],
          channels: project?.channels.map((channel) => ({
            ...channel,
            value: null,
            isEmailVerified: false,
            isDisabled: false,
            createdAt: null,
          })),
        },
      ]);
      expect(read.accounts).toEqual([]);
      expect(read.limitations).toHaveLength(5);
      expect(fake.requests.every(({ key }) => key === FAKE_KEY)).toBe(true);
    },
  );

  test.each([
    [["v1", "v2"], "v2"],
    [["v1"], "v1"],
  ])("is used in the newest version of %o", async (versions, used) => {
    const fake = await fakeOf({ versions });
    const { checks } = await readAll(await open(fake.url));
    expect(checks.size).toBe(3);
    expect(new Set(fake.requests.slice(-5).map(({ path }) => path.split("/")[2]))).toEqual(new Set([used]));
  });

  test.each(["/", "/api", "/api/v3", "/api/v1/"])("is found by a URL that ends with %s", async (end) => {
    const fake = await fakeOf();
    const source = await open(fake.url + end);
    expect(source.name).toBe(`Healthchecks, API at ${fake.url}`);
    await source.close();
  });

  test("shows UUIDs in URLs, and other fields, in an old version", async () => {
    const fake = await fakeOf({
      check: ({
        uuid: _uuid,
        slug: _slug,
        success_kw: _success,
        failure_kw: _failure,
        filter_subject: _filter,
        ...rest
      }) => rest,
    });
    const { checks, limitations } = await readAll(await open(fake.url));
    const [first] = checks.values();
    expect(first?.check).toMatchObject({
      uuid: small().api_check[0]?.code,
      slug: "",
      subject: { success: "DONE, FINISHED", fail: "ERROR" },
      filters: { subject: true },
    });
    expect(limitations).toContain("The API does not return slug. The import uses the default.");
  });

  test("shows calculated statuses, which are stored differently", async () => {
    const statuses = ["grace", "started", "down"];
    const fake = await fakeOf({ check: (json) => ({ ...json, status: statuses.shift() }) });
    const { checks } = await readAll(await open(fake.url));
    expect([...checks.values()].map(({ check }) => check.status)).toEqual(["up", "up", "down"]);
  });

  test("is asked for no bodies if these are not wanted", async () => {
    const fake = await fakeOf();
    const { checks, limitations } = await readAll(await open(fake.url, { withBodies: false }));
    expect([...checks.values()].flatMap(({ pings }) => pings).every(({ body }) => body === null)).toBe(true);
    expect(limitations).toContain("The bodies of pings are left out, as requested.");
    expect(fake.requests.some(({ path }) => path.endsWith("/body"))).toBe(false);
  });

  test("is asked for the pings after a number", async () => {
    const fake = await fakeOf();
    const source = await open(fake.url);
    const [project] = await source.projects();
    if (project === undefined) throw new Error("no project");
    const [, check] = await collect(source.checks(project));
    if (check === undefined) throw new Error("no check");
    const pings = await collect(source.pings(check, 103));
    expect(pings.map(({ number }) => number)).toEqual([104, 105]);
    await source.close();
  });
});

describe("A key", () => {
  test("that is read-only is refused", async () => {
    const fake = await fakeOf({ isReadOnly: true });
    await expect(open(fake.url)).rejects.toThrow(
      "HEALTHCHECKS_API_KEY is a read-only key, which does not show the UUIDs",
    );
  });

  test("that is read-only is refused although there are no checks", async () => {
    const content = { ...small(), api_check: [] };
    const fake = await fakeOf({ isReadOnly: true, content });
    await expect(open(fake.url)).rejects.toThrow("is a read-only key");
  });

  test("that is unknown is refused, and not repeated in the message", async () => {
    const fake = await fakeOf();
    const error: unknown = await open(fake.url, { apiKey: "hcw_unknown" }).catch((thrown: unknown) => thrown);
    expect(String(error)).toContain(`${fake.url} rejected the API key. Set HEALTHCHECKS_API_KEY`);
    expect(String(error)).not.toContain("hcw_unknown");
  });

  test.each(["", "two\nlines", "ключ"])("that no header can contain is refused: %j", async (apiKey) => {
    await expect(open("http://127.0.0.1:1", { apiKey })).rejects.toThrow("The API key is empty or damaged.");
  });
});

describe("A server that limits the rate of requests", () => {
  test("is asked again after the time that it names, within limits", async () => {
    const headers: (Record<string, string> | undefined)[] = [
      { "retry-after": "7" },
      { "retry-after": "9999" },
      {},
      { "retry-after": "0" },
    ];
    const fake = await fakeOf({
      instead: (path) => {
        const next = path.endsWith("/checks/") ? headers.shift() : undefined;
        return next === undefined ? null : { status: 429, headers: next };
      },
    });
    const { waits, sleep } = noting();
    const { checks } = await readAll(await open(fake.url, { sleep }));
    expect(checks.size).toBe(3);
    expect(waits).toEqual([7_000, 60_000, 60_000, 1_000]);
  });

  test("is given up after a limited number of attempts", async () => {
    const fake = await fakeOf({ instead: () => ({ status: 429 }) });
    await expect(open(fake.url, noting())).rejects.toThrow("limits the rate of requests");
    expect(fake.requests).toHaveLength(IMPORT_RATE_LIMITED_MAX);
  });

  test("gets a limited number of requests at the same time", async () => {
    const fake = await fakeOf({ content: fixtureContent({ checkCount: 4, pingsPerCheck: 60 }) });
    await readAll(await open(fake.url));
    expect(fake.concurrentMax()).toBeGreaterThan(1);
    expect(fake.concurrentMax()).toBeLessThanOrEqual(IMPORT_REQUESTS_MAX);
  });
});

describe("A server that fails", () => {
  test("is asked again", async () => {
    const fake = await fakeOf({ instead: (_path, count) => (count % 2 === 1 ? { status: 502 } : null) });
    const { waits, sleep } = noting();
    const { checks } = await readAll(await open(fake.url, { sleep }));
    expect(checks.size).toBe(3);
    expect(waits[0]).toBe(1_000);
  });

  test("is given up after a limited number of attempts", async () => {
    const fake = await fakeOf({ instead: () => ({ status: 500 }) });
    const { waits, sleep } = noting();
    await expect(open(fake.url, { sleep })).rejects.toThrow("responded with HTTP 500. Try again later.");
    expect(fake.requests).toHaveLength(IMPORT_FAILURES_MAX);
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000]);
  });

  test("loses the bodies that it does not return", async () => {
    const huge = Buffer.alloc(IMPORT_BODY_BYTES_MAX + 1);
    const fake = await fakeOf({
      instead: (path) => {
        if (path.endsWith("/2/body")) return { status: 503 };
        if (path.endsWith("/3/body")) return { status: 200, body: huge };
        return path.endsWith("/5/body") ? { status: 404 } : null;
      },
    });
    const { checks, limitations } = await readAll(await open(fake.url, noting()));
    const [first] = checks.values();
    expect(first?.pings.map(({ body }) => body)).toEqual([null, null, null, null, null]);
    expect(first?.pings[2]?.missingBodyBytes).toBe(huge.length);
    const uuid = first?.check.uuid ?? "";
    expect(limitations.slice(5).toSorted()).toEqual([
      `Check ${uuid}, ping 2: the body cannot be read (HTTP 503) and is left out.`,
      `Check ${uuid}, ping 3: the body has more than ${IMPORT_BODY_BYTES_MAX} bytes and is left out.`,
    ]);
  });

  test("is not asked again if it cannot be reached at a private address", async () => {
    const { waits, sleep } = noting();
    await expect(open("http://127.0.0.1:12345", { allowPrivate: false, sleep })).rejects.toThrow(
      "Connections to private IP addresses are not allowed.",
    );
    expect(waits).toEqual([]);
  });

  test("is named in the message if nothing listens there", async () => {
    await expect(open("http://127.0.0.1:1024", noting())).rejects.toThrow(
      "Cannot read http://127.0.0.1:1024: Connection failed.",
    );
  });
});

describe("A server of something else", () => {
  test.each([
    [{ status: 404 }, "has no Healthchecks API. Check the URL."],
    [{ status: 200, body: "<html>" }, "responded with something else than JSON. Check the URL."],
    [{ status: 200, body: "{}" }, "The API returned something else than a list of checks."],
  ])("is recognized by %o", async (answer, expected) => {
    const fake = await fakeOf({ instead: () => answer });
    await expect(open(fake.url)).rejects.toThrow(expected);
  });

  test.each([
    "ftp://hc.example.org",
    "hc.example.org",
    "https://a:b@hc.example.org",
    "https://hc.example.org/?x=1",
  ])("cannot have the URL %s", async (url) => {
    await expect(open(url)).rejects.toThrow("The URL of the API must");
  });
});

describe("Damaged values", () => {
  test("are reported, and replaced or left out", async () => {
    const changes = [
      { last_ping: "2026-02-30T10:00:00+00:00", grace: "long" },
      { desc: "\uD800", timeout: 1.5 },
      { name: 7n.toString(), tags: ["a"], n_pings: null, channels: "x,y" },
    ];
    const fake = await fakeOf({
      check: (json) => ({ ...json, ...changes.shift() }),
      instead: (path) => {
        if (path.endsWith("/flips/")) return { status: 200, body: '[{"timestamp":"soon","up":1},3]' };
        return path.endsWith("/pings/")
          ? { status: 200, body: '{"pings":[{"n":1},{"n":2,"date":"2026-11-16T12:00:00Z"}]}' }
          : null;
      },
    });
    const { checks, limitations } = await readAll(await open(fake.url));
    const [uuid = "", second = "", third = ""] = checks.keys();
    expect(limitations.slice(5)).toEqual([
      `Check ${uuid}: grace is not a whole number.`,
      `Check ${uuid}: last_ping is not a valid date and time.`,
      `Check ${uuid}: a ping without a number or a valid date and time is left out.`,
      `Check ${uuid}: a run is in progress, but its start is not in the log.`,
      `Check ${second}: desc contains half of a character.`,
      `Check ${second}: timeout is not a whole number.`,
      `Check ${third}: tags is not text.`,
      `Check ${uuid}: the time of a flip is not a valid date and time. It is left out.`,
      `Check ${second}: a ping without a number or a valid date and time is left out.`,
      `Check ${second}: the time of a flip is not a valid date and time. It is left out.`,
      `Check ${third}: a ping without a number or a valid date and time is left out.`,
      `Check ${third}: the time of a flip is not a valid date and time. It is left out.`,
    ]);
    expect(checks.get(uuid)?.check).toMatchObject({ graceS: 3_600, lastPingAt: null });
    expect(checks.get(third)?.pings.map(({ number }) => number)).toEqual([2]);
  });
});

describe("Our own server in the dialect of Healthchecks", () => {
  const cast = useCast({ dialect: "healthchecks", roles: ["ping", "api"] });
  const post = (path: string, body: unknown) => cast.ask(path, { method: "POST", key: cast.owner.rw, body });

  test("can be read", async () => {
    const channel = await cast.channel(cast.owner, { name: "Ops", kind: "webhook" });
    const simple = await post("/api/v3/checks/", {
      name: "Nightly",
      slug: "nightly",
      timeout: 3_600,
      tags: "prod db",
    });
    const cron = await post("/api/v3/checks/", {
      name: "Cron",
      schedule: "Mon..Fri 02:30",
      tz: "Europe/Riga",
      channels: channel.uuid,
      success_kw: "OK",
      filter_subject: true,
      methods: "POST",
    });
    const { uuid } = simple.json as { uuid: string };
    const { uuid: other } = cron.json as { uuid: string };
    const rid = "0b3e6f4c-5a0e-4c5f-9d4e-5f6a7b8c9d0e";
    await cast.ask(`/ping/${uuid}/3`, { method: "POST", body: Buffer.from([0, 255, 1]) });
    await cast.ask(`/ping/${uuid}`, { method: "POST", body: "größer" });
    await cast.ask(`/ping/${uuid}/start?rid=${rid}`, { method: "POST" });

    const source = await openApiSource(cast.site, { apiKey: cast.owner.rw, allowPrivate: true });
    const { projects, checks, limitations } = await readAll(source);
    expect(limitations).toHaveLength(5);
    expect(projects[0]).toMatchObject({
      checkCount: 2,
      badgeKey: cast.owner.project.badgeKey,
      channels: [{ uuid: channel.uuid, kind: "webhook", name: "Ops", value: null }],
    });
    const read = checks.get(uuid);
    expect(read?.check).toMatchObject({
      name: "Nightly",
      kind: "simple",
      timeoutS: 3_600,
      tags: "prod db",
      status: "up",
      pingCount: 3,
      lastStartRid: rid,
      lastStartAt: read?.pings[2]?.at,
    });
    expect(read?.check.badgeKey).toMatch(/^[0-9a-f-]{36}$/);
    expect(read?.pings.map(({ number, kind }) => [number, kind])).toEqual([
      [1, "fail"],
      [2, "success"],
      [3, "start"],
    ]);
    expect(read?.pings[0]?.body).toEqual(new Uint8Array([0, 255, 1]));
    expect(new TextDecoder().decode(read?.pings[1]?.body ?? undefined)).toBe("größer");
    expect(read?.flips.map(({ to }) => to)).toEqual(["down", "up"]);
    expect(checks.get(other)?.check).toMatchObject({
      kind: "oncalendar",
      schedule: "Mon..Fri 02:30",
      tz: "Europe/Riga",
      channelUuids: [channel.uuid],
      subject: { start: "", success: "OK", fail: "" },
      filters: { subject: true },
      methods: "POST",
      status: "new",
    });
  });

  test("refuses a read-only key as Healthchecks does", async () => {
    const opened = openApiSource(cast.site, { apiKey: cast.owner.ro, allowPrivate: true });
    await expect(opened).rejects.toThrow("HEALTHCHECKS_API_KEY is a read-only key");
  });
});
