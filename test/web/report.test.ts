// The report of a project, its export, and the preview of the report email.
import { beforeAll, describe, expect, test } from "vitest";
import type { Report, ReportPreview } from "../../src/contract/api/report.ts";
import { API_PATH } from "../../src/contract/api/route.ts";
import { sampleCheck } from "../support/sample.ts";
import { useDashboard } from "./dashboard.ts";

const at = useDashboard({ roles: ["web", "api"] });

const path = () => `${API_PATH}/projects/${at.owner.project.uuid}/report`;
const report = async (query = "") => (await at.browse(path() + query)).json as Report;

beforeAll(async () => {
  const projectId = at.owner.project.id;
  const noisy = await sampleCheck(at.db, { projectId, name: "=HYPERLINK(1)" });
  const slower = await sampleCheck(at.db, { projectId, name: "Nightly backup" });
  const steady = await sampleCheck(at.db, { projectId, name: "Steady" });
  await at.db.pool.query(
    `insert into alerts (check_id, cause, opened_at, opened_flip_id, closed_at, close_cause, planned_at, plan_at)
      select $1, 'missed', t, 1, t + interval '4 minutes', 'recovered', t, to_timestamp(0)
      from (select now() - n * interval '10 days' - interval '1 hour' as t from generate_series(1, 6) n) as times`,
    [noisy.id],
  );
  await at.db.pool.query(
    `insert into check_days
      select c.id, (now() at time zone 'utc')::date - n, 1, 0, 1,
        case when c.id = $1 then 60000 + (28 - n) * 2000 else 60000 + n % 3 * 500 end, 0
      from checks c, generate_series(1, 28) n where c.id = any ($2::bigint[])`,
    [slower.id, [slower.id, steady.id]],
  );
});

describe("the report", () => {
  test("lists the noisy and the slowing checks, with the numbers used", async () => {
    const { noise, slower } = await report();
    expect(noise).toMatchObject({ alertCount: 2, noiseCount: 2, isComplete: true, minutesMax: 30 });
    expect(noise.checks).toMatchObject([
      { name: "=HYPERLINK(1)", alertCount: 2, noiseCount: 2, medianRecoveryMs: 240_000 },
    ]);
    expect(slower).toMatchObject({
      comparedCount: 2,
      daysMin: 14,
      riseMin: 0.2,
      zMin: 2.58,
      isComplete: true,
    });
    expect(slower.checks).toMatchObject([
      { name: "Nightly backup", dayCount: 28, startMs: 60_000, endMs: 114_000, slowerShare: 1 },
    ]);
    expect(slower.checks[0]?.rise).toBeCloseTo(0.9, 6);
    expect(slower.checks[0]?.days).toHaveLength(28);
  });

  test("covers the chosen period", async () => {
    const { from, to, noise } = await report("?days=90");
    expect(to - from).toBe(90 * 86_400_000);
    expect(noise.alertCount).toBe(6);
    expect((await at.browse(`${path()}?days=7`)).status).toBe(400);
  });

  test("of a project without history is empty", async () => {
    const theirs = `${API_PATH}/projects/${at.stranger.project.uuid}/report`;
    const { json } = await at.browse(theirs, { as: at.stranger.account });
    expect(json).toMatchObject({
      noise: { alertCount: 0, checks: [], unlistedCount: 0 },
      slower: { comparedCount: 0, checks: [], unlistedCount: 0 },
    });
  });

  test("is exported as CSV that a spreadsheet does not execute", async () => {
    const { status, text, headers } = await at.browse(`${path()}.csv`);
    expect([status, headers.get("content-type")]).toEqual([200, "text/csv; charset=utf-8"]);
    expect(headers.get("content-disposition")).toBe('attachment; filename="report.csv"');
    const [head, ...lines] = text.trimEnd().split("\r\n");
    expect(head?.split(",")).toHaveLength(11);
    expect(lines).toEqual([
      `"noisy","'=HYPERLINK(1)",2,2,240,"","","","","",""`,
      expect.stringMatching(/^"slower","Nightly backup","","","",28,60,114,90,100,[\d.]+$/),
    ]);
  });
});

describe("the preview of the report email", () => {
  const preview = (length: string) => at.browse(`${API_PATH}/account/report-preview?length=${length}`);

  test.each(["daily", "weekly", "monthly"])("is the %s email as it would be sent now", async (length) => {
    const { status, json } = await preview(length);
    const { subject, text } = json as ReportPreview;
    expect(status).toBe(200);
    expect(subject.toLowerCase()).toBe(`${length} report`);
    expect(text).toContain("Nightly backup");
    expect(text).toContain(at.owner.account.email);
  });

  test("sends nothing, and contains no link that changes something", async () => {
    const { json } = await preview("weekly");
    expect((json as ReportPreview).text).not.toMatch(/unsubscribe\/\S/);
    const { rows } = await at.db.pool.query("select from letters where kind = 'report'");
    expect(rows).toEqual([]);
  });

  test("is shown as a page without scripts", async () => {
    const { status, text, headers } = await at.browse("/accounts/report-preview/weekly/");
    expect(status).toBe(200);
    expect(text).toContain("Nightly backup");
    expect(headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'unsafe-inline';/);
    expect((await at.browse("/accounts/report-preview/yearly/")).status).toBe(404);
    expect((await at.browse("/accounts/report-preview/weekly/", { as: null })).text).not.toContain("Nightly");
  });

  test("of an unknown length is refused", async () => {
    expect((await preview("yearly")).status).toBe(400);
  });
});
