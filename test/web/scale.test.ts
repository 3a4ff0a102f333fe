// What the first page of ten thousand checks costs: bytes, statements, and that none of them is asked for each check.
import pg from "pg";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { build } from "../../scripts/build.ts";
import { drawnAt } from "../../src/contract/api/check-row.ts";
import type { CheckList, Overview } from "../../src/contract/api/overview.ts";
import type { EventsPage } from "../../src/contract/api/history.ts";
import { useDashboard } from "./dashboard.ts";
import { fillProject } from "./ten-thousand.ts";

const CHECKS = 10_000;
const QUERIES_MAX = 20;
/** Not far above what it takes, so that twice as much is noticed. */
const PAGE_BYTES_MAX = 80_000;
const NOT_BUILT = 503;

const at = useDashboard({ roles: ["web", "api"] });

/** What the loops of the process ask by themselves, whoever looks. */
const BY_ITSELF = /^(intakes|blind_intervals|sight|instance|keys|loop)/;

/** The names of the statements that a piece of work sends to the database. */
async function statementsOf(work: () => Promise<unknown>): Promise<string[]> {
  const spy = vi.spyOn(pg.Client.prototype, "query");
  try {
    await work();
    const asked = spy.mock.calls as unknown as [string | { name?: string; text?: string }][];
    const names = asked.map(([what]) => (typeof what === "string" ? what : (what.name ?? what.text ?? "")));
    return names.filter((name) => !BY_ITSELF.test(name) && !name.includes("set_config"));
  } finally {
    spy.mockRestore();
  }
}

beforeAll(async () => {
  await fillProject(at.db, { projectId: at.owner.project.id, count: CHECKS });
  // Without the built files there is no page whose bytes could be counted.
  if ((await at.browse(checksPath())).status === NOT_BUILT) await build(["web"]);
}, 120_000);

const checksPath = () => `/projects/${at.owner.project.uuid}/checks/`;
const overview = () => at.browse(`/api/overdue/v1/projects/${at.owner.project.uuid}/overview`);

describe("ten thousand checks", () => {
  test("the first page takes few statements and few bytes", async () => {
    // Whoever comes back after a while is told most, so this is the dearest visit.
    await overview();
    let page = { status: 0, text: "" };
    let names: string[] = [];
    // Loops of the same process send statements meanwhile, so the visit with the fewest counts.
    for (let visit = 0; visit < 3 && (visit === 0 || names.length > QUERIES_MAX); visit += 1) {
      await at.db.pool.query("update members set seen_at = now() - interval '3 hours'");
      names = await statementsOf(async () => {
        page = await at.browse(checksPath());
      });
      expect(page.status).toBe(200);
    }
    expect(names).toContain("check_rows.list_urgent");
    expect(names.length).toBeLessThanOrEqual(QUERIES_MAX);
    expect(Buffer.byteLength(page.text)).toBeLessThan(PAGE_BYTES_MAX);
  });

  test("the people in the log of a check are named by one statement, however many they are", async () => {
    const { rows } = await at.db.pool.query<{ id: number; uuid: string }>(
      "select id, uuid from checks limit 1",
    );
    await at.db.pool.query(
      `with people as (
          insert into accounts (uuid, email, name, is_operator, created_at)
          select gen_random_uuid(), 'person' || i || '@example.org', '', false, now() from generate_series(1, 20) i
          returning id
        )
        insert into events (check_id, at, kind, account_id, detail)
        select $1, now(), 'paused', id, '{}' from people`,
      [rows[0]?.id],
    );
    const by = new Set<unknown>();
    const names = await statementsOf(async () => {
      const { json } = await at.browse(`/api/overdue/v1/checks/${rows[0]?.uuid}/events?types=event`);
      for (const event of (json as EventsPage).events) by.add(event.type === "event" && event.by);
    });
    expect(by.size).toBe(20);
    expect(names.filter((name) => name.startsWith("accounts."))).toEqual(["accounts.find_emails"]);
  });

  test("counts, order and details are there, and right", async () => {
    const boot = (await overview()).json as Overview;
    expect(boot.total).toBe(CHECKS);
    expect(boot.checks).toHaveLength(100);
    expect(boot.checks.every(({ state }) => state === "down")).toBe(true);
    expect(boot.counts.down).toBe(100);
    expect(boot.counts.late).toBeGreaterThan(0);
    const sum = Object.values(boot.counts).reduce((before, count) => before + count, 0);
    expect(sum).toBe(CHECKS);
    expect(boot.tags).toHaveLength(44);
    expect(boot.details[0]?.recentRuns).toHaveLength(30);
  });

  test("runs in progress are judged by one statement, in however many projects they are", async () => {
    for (const name of ["one", "two", "three"]) {
      const { json } = await at.browse("/api/overdue/v1/projects", { method: "POST", body: { name } });
      const { rows } = await at.db.pool.query<{ id: number }>("select id from projects where uuid = $1", [
        (json as { id: string }).id,
      ]);
      await fillProject(at.db, { projectId: rows[0]?.id ?? 0, count: 200 });
    }
    const names = await statementsOf(() => at.browse("/api/overdue/v1/projects"));
    expect(names.filter((name) => name === "check_statuses.find_watched")).toHaveLength(1);
  });

  /** All rows, counted by how they are drawn, and the statements that they took. */
  async function countRows() {
    const counts: Record<string, number> = {};
    let after = "";
    let pages = 0;
    const names = await statementsOf(async () => {
      for (let next: string | null = ""; next !== null; pages++) {
        const { json } = await at.browse(
          `/api/overdue/v1/projects/${at.owner.project.uuid}/checks?limit=1000${after}`,
        );
        const page = json as CheckList;
        for (const row of page.checks) {
          // Not what the row has become since, but as the server told it.
          const drawn = drawnAt(row, 0);
          counts[drawn] = (counts[drawn] ?? 0) + 1;
        }
        next = page.next;
        after = `&cursor=${next}`;
      }
    });
    return { counts, pages, names };
  }

  test("all rows come in ten pages, one statement each, and the counts agree with them", async () => {
    const countsNow = async () => ((await overview()).json as Overview).counts;
    let before = await countsNow();
    let read = await countRows();
    // Checks that became late meanwhile, as they do at full minutes, are up in the one and late in the other.
    for (let after = await countsNow(); after.late !== before.late; after = await countsNow()) {
      before = after;
      read = await countRows();
    }
    const { counts, pages, names } = read;
    expect(pages).toBeLessThanOrEqual(11);
    expect(names.filter((name) => name.startsWith("check_rows."))).toHaveLength(pages);
    for (const state of ["down", "up", "late", "new", "paused", "running"] as const) {
      expect(counts[state] ?? 0, state).toBe(before[state]);
    }
  });
});
