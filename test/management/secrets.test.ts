// What nobody may read: keys and secrets in the log at its most talkative, details of our faults in answers, and
// how far a wrong key was right in the time that an answer takes.
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { createLog } from "../../src/lib/log.ts";
import { checksAt, newCheck, signals } from "./asking.ts";
import { type Cast, UNKNOWN_KEY, useCast } from "./cast.ts";

/** Everything that the server has logged. Nothing is masked on the way, unlike in the real program. */
const lines: string[] = [];
const cast = useCast({
  roles: ["ping", "api"],
  log: createLog({ level: "trace", destination: { write: (line) => void lines.push(line) } }),
});

/** Several hundred requests of all kinds: good, bad, with keys everywhere that people put them. */
async function askEverything(stage: Cast): Promise<void> {
  const { owner, stranger, site } = stage;
  const ask: Cast["ask"] = (path, given) => stage.ask(path, given);
  const { uuid } = await newCheck(stage, { name: "logged" });
  await signals(stage, uuid, [{ body: "x" }]);
  const port = new URL(site).port;
  const bodies = [
    undefined,
    "{",
    `{"api_key": "${owner.rw}"`,
    { api_key: owner.rw },
    { api_key: stranger.rw, timeout: 1 },
  ];
  for (const key of [owner.rw, owner.ro, stranger.rw, stranger.ro, UNKNOWN_KEY, owner.rw.slice(1)]) {
    for (const path of [
      "",
      uuid,
      `${uuid}/pause`,
      `${uuid}/resume`,
      `${uuid}/pings/`,
      `${uuid}/flips/?start=${key}`,
      `?tag=${key}`,
      key,
      `${uuid}/${key}`,
    ]) {
      for (const method of ["GET", "POST", "PUT", "HEAD", "OPTIONS"]) {
        await ask(checksAt() + path, { method, key });
      }
    }
    for (const body of bodies) await ask(checksAt(), { method: "POST", body });
    for (const path of [
      `/checks/metrics/${key}`,
      `/projects/${owner.project.uuid}/metrics/${key}`,
      `/ping/${key}/x`,
    ]) {
      await ask(path, {
        headers: { Authorization: `Bearer ${key}`, Referer: `http://127.0.0.1:${port}/${key}` },
      });
    }
    await ask(`/ping/${owner.pingKey}/unknown-slug`, { key });
  }
}

describe("the log", () => {
  beforeAll(async () => {
    await askEverything(cast);
    const query = vi.spyOn(cast.serverDb, "query");
    query.mockRejectedValue(new Error("a fault of ours"));
    for (const key of [cast.owner.rw, cast.owner.ro]) {
      await cast.ask(checksAt(), { key });
      await cast.ask(`/checks/metrics/${key}`);
    }
    query.mockRestore();
  });

  test("has every request, but no key, not even a part of one", () => {
    const text = lines.join("");
    expect(lines.filter((line) => line.includes('"msg":"api"')).length).toBeGreaterThan(250);
    expect(text).toContain("a fault of ours");
    for (const { rw, ro } of [cast.owner, cast.stranger]) {
      for (const key of [rw, ro]) {
        // The first twelve characters are shown to people on purpose, elsewhere; here nothing is.
        expect(text.includes(key.slice(4, 14)), "a key").toBe(false);
      }
    }
    expect(text.includes(cast.secretKey), "the secret").toBe(false);
    expect(text.includes(UNKNOWN_KEY), "a wrong key").toBe(false);
    expect(text.includes(cast.owner.pingKey), "a ping key").toBe(false);
  });

  test("has one object per line, whatever characters names contain", async () => {
    const before = lines.length;
    await cast.ask(checksAt(), {
      key: cast.owner.rw,
      headers: { "User-Agent": 'x"} {"level":"fatal","msg":"forged' },
    });
    for (const line of lines.slice(before)) {
      expect(line.trimEnd().split("\n")).toHaveLength(1);
      expect((JSON.parse(line) as { level: string }).level).not.toBe("fatal");
    }
  });
});

describe("a fault of ours", () => {
  test("is reported without details, on every kind of route", async () => {
    const { uuid, badge_url } = await newCheck(cast);
    const query = vi.spyOn(cast.serverDb, "query");
    query.mockRejectedValue(
      Object.assign(new Error("column secret_stuff does not exist"), { code: "42703", severity: "ERROR" }),
    );
    try {
      for (const path of [
        checksAt(),
        checksAt() + uuid,
        `${checksAt()}${uuid}/pings/`,
        "/api/v1/channels/",
        "/api/v2/badges/",
        new URL(String(badge_url)).pathname,
        `/checks/metrics/${cast.owner.ro}`,
      ]) {
        const reply = await cast.ask(path, { key: cast.owner.rw });
        expect([path, reply.status, reply.json]).toEqual([path, 500, { error: "internal server error" }]);
        expect(JSON.stringify([...reply.headers])).not.toContain("secret_stuff");
        expect(reply.headers.get("x-powered-by")).toBeNull();
        expect(reply.headers.get("server")).toBeNull();
      }
    } finally {
      query.mockRestore();
    }
  });

  test("in the middle of a change neither", async () => {
    await cast.db.pool.query("alter table check_states rename to secret_stuff");
    try {
      const reply = await cast.ask(checksAt(), { method: "POST", key: cast.owner.rw });
      expect([reply.status, reply.text]).toEqual([500, '{"error":"internal server error"}']);
    } finally {
      await cast.db.pool.query("alter table secret_stuff rename to check_states");
    }
  });
});

describe("secrets that are compared", () => {
  test("a key never reaches the database: only a digest of it that needs the instance's secret", async () => {
    // Keys that no test has put into a ping URL: those are looked up as ping keys, also a while after the request.
    const { rw, ro } = cast.mate;
    const query = vi.spyOn(cast.serverDb, "query");
    await cast.ask(checksAt(), { key: rw });
    await cast.ask(`/checks/metrics/${ro}`);
    const sent = JSON.stringify(query.mock.calls.map(([, values]) => values));
    query.mockRestore();
    expect(sent).toContain("Buffer");
    expect(sent).not.toContain(rw.slice(4));
    expect(sent).not.toContain(ro.slice(4));
    const { rows } = await cast.db.pool.query("select * from api_keys");
    expect(JSON.stringify(rows)).not.toContain(rw.slice(12));
  });

  test("are compared in constant time wherever our own code compares them", () => {
    const places = {
      "src/services/api/auth.ts": "digest",
      "src/services/management/badges.ts": "signature",
    };
    for (const [path, what] of Object.entries(places)) {
      const source = readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
      expect(source, path).toContain("timingSafeEqual(");
      expect(source, path).not.toMatch(new RegExp(`${what}\\s*[!=]==`));
    }
  });
});
