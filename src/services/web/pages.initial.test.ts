// The first rows as rendered by the server: ordered, escaped, and allowed by the page's policy.
import { describe, expect, test } from "vitest";
import type { Boot } from "../../contract/api/boot.ts";
import type { Overview } from "../../contract/api/overview.ts";
import type { CheckRow, ShownState } from "../../contract/api/check-row.ts";
import { initialRows } from "./pages.ts";

const row = (name: string, state: ShownState, runningSince: number | null = null) =>
  ({ id: `id-${name}`, name, state, runningSince, fuse: null, expected: "daily" }) as CheckRow;

function boot(checks: CheckRow[], more: Partial<Overview> = {}): Boot {
  const counts = { new: 0, up: checks.length, late: 0, down: 0, paused: 0, running: 0 };
  const silent = { downCount: 0, downIds: [], channels: [] };
  const page = {
    kind: "checks",
    checks,
    counts,
    total: checks.length,
    since: null,
    monitoringGap: null,
    silent,
    ...more,
  };
  return { page, site: { base: "/overdue" }, now: 1_000 } as unknown as Boot;
}

const drawn = (checks: CheckRow[], more: Partial<Overview> = {}) =>
  initialRows({ url: "/projects/1/checks/" }, boot(checks, more))?.source ?? "";
const texts = (source: string, pattern: RegExp) => [...source.matchAll(pattern)].map(([, text]) => text);

describe("the initial rows", () => {
  test("show checks that need attention first, then the others by name in natural order", () => {
    const rows = [
      row("late", "late"),
      row("job-10", "up"),
      row("job-9", "up", 5),
      row("off", "paused"),
      row("fresh", "new"),
    ];
    const source = drawn([row("broken", "down"), ...rows]);
    expect(texts(source, /<h2>(.*?)<\/h2>/g)).toEqual(["Needs attention", "Everything else"]);
    expect(texts(source, /row-link[^>]*>(.*?)</g)).toEqual([
      "broken",
      "late",
      "job-9",
      "job-10",
      "fresh",
      "off",
    ]);
    expect(texts(source, /state-word">(.*?)</g)).toEqual(["down", "late", "running", "up", "new", "paused"]);
    expect(source).toContain('href="/overdue/checks/id-broken/details/"');
  });

  test("escape names, and have no style attributes", () => {
    const source = drawn([row("<script>alert(1)</script>", "up")]);
    expect(source).toContain("&lt;script&gt;");
    expect(source).not.toMatch(/<script|style=/);
  });

  test("have no heading if nothing needs attention, and no more rows than a window shows", () => {
    const source = drawn(Array.from({ length: 100 }, (_, n) => row(`job-${n}`, "up")));
    expect(source).not.toContain("<h2>");
    expect(texts(source, /(row-link)/g)).toHaveLength(24);
    expect(source).toContain("All 100 jobs are on time");
  });

  test("are more for users with compact rows", () => {
    const rows = Array.from({ length: 100 }, (_, n) => row(`job-${n}`, "up"));
    const compact = { ...boot(rows), account: { density: "compact" } } as Boot;
    const source = initialRows({ url: "/projects/1/checks/" }, compact)?.source ?? "";
    expect(texts(source, /(row-link)/g)).toHaveLength(32);
  });

  test("reserve space for lines that only the script can render", () => {
    const since = { sinceAt: 1, wentDown: [], recovered: [], createdCount: 2 };
    expect(drawn([row("a", "up")])).not.toContain('class="since"');
    expect(drawn([row("a", "up")], { since })).toContain('class="since"');
    expect(drawn([row("a", "up")], { since: { ...since, createdCount: 0 } })).not.toContain('class="since"');
  });

  test("are absent on other pages, in a chosen view, and in an empty project", () => {
    expect(initialRows({ url: "/" }, { page: null } as Boot)).toBeNull();
    expect(initialRows({ url: "/projects/1/checks/?sort=name" }, boot([row("a", "up")]))).toBeNull();
    expect(initialRows({ url: "/projects/1/checks/" }, boot([]))).toBeNull();
  });
});
