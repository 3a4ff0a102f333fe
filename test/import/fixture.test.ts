// Imports a fixture of a Healthchecks database and asks this server, in the dialect of Healthchecks, what clients would
// ask that one: checks, pings, bodies, flips, badges, metrics; with the old keys, ping URLs and passwords.
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openDatabaseSource } from "../../src/import/healthchecks-database.ts";
import { isPassword } from "../../src/lib/password-hash.ts";
import type { ImportReport } from "../../src/operations/import.ts";
import { findAccountByEmail } from "../../src/store/accounts.ts";
import { findPassword } from "../../src/store/credentials.ts";
import { readDatabaseClock } from "../../src/store/instance.ts";
import { useCast } from "../management/cast.ts";
import { buildFixture } from "./fixtures/build.ts";
import {
  type Cell,
  FIXTURE_KEYS,
  FIXTURE_PASSWORD,
  FIXTURE_SECRET,
  fixtureContent,
} from "./fixtures/content.ts";
import { importInto } from "./run-import.ts";

const server = useCast({
  dialect: "healthchecks",
  roles: ["ping", "api"],
  settings: { OVERDUE_SECRET_KEY: FIXTURE_SECRET, OVERDUE_SPOOL_FOLDER: "off" },
});
const folder = mkdtempSync(join(tmpdir(), "overdue-import-"));
let content: ReturnType<typeof fixtureContent>;
let report: ImportReport;

const here = () => ({
  db: server.db,
  url: String((server.db.pool.options as { connectionString?: string }).connectionString),
});

beforeAll(async () => {
  const now = (await readDatabaseClock(server.db)) - 60_000;
  content = fixtureContent({ now });
  const file = join(folder, "hc.sqlite");
  await buildFixture(file, { content });
  const source = await openDatabaseSource(file);
  report = await importInto(here(), source, { secretKey: FIXTURE_SECRET, knownKey: FIXTURE_KEYS.readWrite });
  await source.close();
});

afterAll(() => rmSync(folder, { recursive: true }));

type Shown = Record<string, unknown> & { uuid: string; name: string; status: string };

const ask = async (path: string, key: string = FIXTURE_KEYS.readWrite) => server.ask(path, { key });
const rowsOf = (project: number) => content.api_check.filter(({ project_id: id }) => id === project);
const text = (cell: Cell | undefined) =>
  typeof cell === "string" || typeof cell === "number" ? String(cell) : "";
const seconds = (time: Cell) => (time === null ? null : `${text(time).slice(0, 19).replace(" ", "T")}+00:00`);
const sorted = (rows: unknown[][]) => rows.map((row) => JSON.stringify(row)).toSorted();

describe("After the import of a fixture", () => {
  test("everything is reported, and the secret is verified", () => {
    expect(report.refusals).toEqual([]);
    expect(report.secret).toBe("verified");
    expect(report.projects.map(({ counts }) => counts.created)).toEqual([150, 40, 10]);
    expect(report.projects.reduce((sum, { counts }) => sum + counts.pings, 0)).toBe(415);
    expect(report.accounts).toEqual({ created: 4, existing: 0 });
    expect(report.findings.filter(({ level }) => level === "impossible")).toEqual([]);
  });

  test("every field of every check is the same", async () => {
    const channels = new Map(content.api_channel.map(({ id, code }) => [id, code]));
    for (const [project, key] of [
      [1, FIXTURE_KEYS.readWrite],
      [2, FIXTURE_KEYS.plainReadWrite],
    ] as const) {
      const { checks } = (await ask("/api/v3/checks/", key)).json as { checks: Shown[] };
      const byUuid = new Map(checks.map((check) => [check.uuid, check]));
      expect(checks).toHaveLength(rowsOf(project).length);
      for (const row of rowsOf(project)) {
        const assigned = content.api_channel_checks
          .filter(({ check_id: id }) => id === row.id)
          .map(({ channel_id: id }) => text(channels.get(id)))
          .toSorted();
        const check = byUuid.get(text(row.code));
        expect(check, text(row.name)).toMatchObject({
          name: row.name,
          slug: row.slug,
          tags: row.tags,
          desc: row.desc,
          grace: row.grace,
          n_pings: row.n_pings,
          started: row.last_start !== null,
          last_ping: seconds(row.last_ping),
          manual_resume: row.manual_resume,
          methods: row.methods,
          start_kw: row.start_kw,
          success_kw: row.success_kw,
          failure_kw: row.failure_kw,
          filter_subject: row.filter_subject,
          filter_body: row.filter_body,
          badge_url: expect.stringContaining(text(row.badge_key)),
          ping_url: expect.stringContaining(text(row.code)),
          channels: assigned.join(","),
          ...(row.kind === "simple" ? { timeout: row.timeout } : { schedule: row.schedule, tz: row.tz }),
        });
        const status = row.status === "up" ? ["up", "grace"] : [row.status];
        expect(status, text(row.name)).toContain(check?.status);
      }
    }
  });

  test("pings, bodies and flips of a check are the same", async () => {
    const pinged = rowsOf(1).filter(({ last_ping: at }) => at !== null);
    const pings = [...content.api_ping()];
    for (const check of pinged.slice(0, 20)) {
      const { pings: shown } = (await ask(`/api/v3/checks/${text(check.code)}/pings/`)).json as {
        pings: Shown[];
      };
      const own = pings.filter(({ owner_id: id }) => id === check.id).toReversed();
      expect(
        shown.map(({ n, scheme, method, ua, remote_addr }) => [n, scheme, method, ua, remote_addr]),
      ).toEqual(own.map(({ n, scheme, method, ua, remote_addr }) => [n, scheme, method, ua, remote_addr]));
      expect(shown.map(({ type }) => type)).toEqual(own.map(({ kind }) => kind || "success"));
      for (const ping of own.filter(({ body_raw }) => body_raw !== null).slice(0, 1)) {
        const body = await ask(`/api/v3/checks/${text(check.code)}/pings/${text(ping.n)}/body`);
        expect(body.bytes.equals(Buffer.from(ping.body_raw as Uint8Array))).toBe(true);
      }
      const flips = (await ask(`/api/v3/checks/${text(check.code)}/flips/`)).json as
        | { flips?: Shown[] }
        | Shown[];
      const listed = Array.isArray(flips) ? flips : (flips.flips ?? []);
      const kept = content.api_flip.filter(
        ({ owner_id: id, new_status: to }) => id === check.id && to !== "paused",
      );
      expect(listed.map(({ up }) => up)).toEqual(
        kept.toReversed().map(({ new_status: to }) => (to === "up" ? 1 : 0)),
      );
    }
  });

  test("channels have the same ids, names and kinds", async () => {
    const { channels } = (await ask("/api/v3/channels/")).json as { channels: Shown[] };
    const own = content.api_channel.filter(({ project_id: id }) => id === 1);
    expect(sorted(channels.map(({ id, name, kind }) => [id, name, kind]))).toEqual(
      sorted(own.map(({ code, name, kind }) => [code, name, kind])),
    );
  });

  test("keys work, ping URLs work, badges and metrics are there", async () => {
    const [check] = rowsOf(1);
    expect((await ask("/api/v3/checks/", FIXTURE_KEYS.readOnly)).status).toBe(200);
    expect((await ask("/api/v3/checks/", FIXTURE_KEYS.plainReadOnly)).status).toBe(200);
    const project = content.accounts_project[0];
    for (const path of [`/ping/${text(check?.code)}`, `/ping/${text(project?.ping_key)}/job-1`]) {
      expect((await server.ask(path)).status, path).toBe(200);
    }
    const { badges } = (await ask("/api/v3/badges/")).json as { badges: Record<string, { svg: string }> };
    expect(Object.keys(badges).length).toBeGreaterThan(3);
    const { svg = "" } = badges["prod"] ?? {};
    expect(svg).toContain(text(project?.badge_key));
    expect((await server.ask(new URL(svg).pathname)).status).toBe(200);
    expect((await server.ask(`/b/2/${text(check?.badge_key)}.svg`)).status).toBe(200);
    const metrics = await server.ask(`/projects/${text(project?.code)}/metrics/${FIXTURE_KEYS.readOnly}`);
    expect(metrics.status).toBe(200);
    const code = text(check?.code).replaceAll("-", "").slice(0, 16);
    expect(metrics.text).toContain(createHash("sha1").update(code).digest("hex"));
  });

  test("passwords work where their hash fits", async () => {
    const hashOf = async (email: string) => {
      const account = await findAccountByEmail(server.db, email);
      return account === null ? null : findPassword(server.db, account.id);
    };
    expect(await isPassword(FIXTURE_PASSWORD, await hashOf("alice@example.org"))).toBe(true);
    expect(await hashOf("bob.smith@example.org")).toBeNull();
  });

  test("the confirmed address of a channel is confirmed, and nobody was written to", async () => {
    const { rows } = await server.db.pool.query(
      "select verified_address from channels where kind = 'email' order by verified_address nulls last",
    );
    expect(rows.map((row) => row["verified_address"])).toEqual([
      "legacy@example.org",
      "ops@example.org",
      null,
    ]);
    const { rows: letters } = await server.db.pool.query("select 1 from letters");
    expect(letters).toEqual([]);
  });
});
