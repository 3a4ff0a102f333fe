// Projects with more tags than anybody could look at: what is made of them is bounded.
import { beforeAll, expect, test } from "vitest";
import type { BadgeList } from "../../src/contract/api/checks.ts";
import { useDashboard } from "./dashboard.ts";
import { fillProject } from "./ten-thousand.ts";

const CHECKS = 400;
const TAGS_PER_CHECK = 60;
/** As limits.ts has them. */
const LISTED_MAX = 10_000;
const SHOWN_MAX = 1_000;

const at = useDashboard({ roles: ["web", "api"] });

beforeAll(async () => {
  await fillProject(at.db, { projectId: at.owner.project.id, count: CHECKS });
  await at.db.pool.query(
    `update checks c set tags = (select string_agg('t' || c.id || 'x' || n, ' ') from generate_series(1, $2::int) n)
      where c.project_id = $1`,
    [at.owner.project.id, TAGS_PER_CHECK],
  );
}, 120_000);

test("the dashboard has the badges of the first tags, and says that there are more", async () => {
  const { status, json } = await at.browse(`/api/overdue/v1/projects/${at.owner.project.uuid}/badges`);
  const { badges, isTruncated } = json as BadgeList;
  expect(status).toBe(200);
  expect(badges).toHaveLength(SHOWN_MAX + 1);
  expect(isTruncated).toBe(true);
  const tags = badges.slice(1).map(({ tag }) => tag ?? "");
  expect(tags).toEqual(tags.toSorted());
  expect(badges[0]?.tag).toBeNull();
});

test("the API lists the badges of as many tags as its document says", async () => {
  const { status, json } = await at.ask("/api/v3/badges/", { key: at.owner.ro });
  const { badges } = json as { badges: Record<string, unknown> };
  expect([status, Object.keys(badges).length, "*" in badges]).toEqual([200, LISTED_MAX + 1, true]);
});

test("the metrics page has all checks, and as many tags", async () => {
  const { status, text } = await at.ask(`/projects/${at.owner.project.uuid}/metrics/${at.owner.ro}`, {});
  const lines = text.split("\n");
  expect([
    status,
    lines.filter((line) => line.startsWith("hc_tag_up{")).length,
    lines.filter((line) => line.startsWith("hc_check_up{")).length,
  ]).toEqual([200, LISTED_MAX, CHECKS]);
});
