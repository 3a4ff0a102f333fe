// Checks from a pasted crontab over HTTP: what is found, what is made, and that the lines given back really report.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import type { CrontabChecks, FoundJobs } from "../../src/contract/api/checks.ts";
import type { CheckList } from "../../src/contract/api/overview.ts";
import { useDashboard } from "./dashboard.ts";

const at = useDashboard({ roles: ["web", "api", "ping"] });

const CRONTAB = `# Everything, to the other house.
0 3 * * * sh -c 'exit 0' backup
30 8 * * 1-5 sh -c 'exit 3'
@reboot /srv/agent
0 4 * * * /srv/watch # nightly
0 5 * * * /srv/agent &
0 6 * * * overdue-run -slug nightly -- /srv/report
`;
const chosen = (...lines: number[]) => ({ jobs: lines.map((line) => ({ line })) });

const path = () => `/api/overdue/v1/projects/${at.owner.project.uuid}/crontab`;
const ask = (body: object, end = "") => at.browse(`${path()}${end}`, { method: "POST", body });
const told = async () => {
  const { json } = await at.browse(`/api/overdue/v1/projects/${at.owner.project.uuid}/checks`);
  return (json as CheckList).checks;
};

describe("a crontab", () => {
  test("is read: each job with its sentence and next time, each other line with a reason", async () => {
    const { status, json } = await ask({ text: CRONTAB, tz: "Europe/Riga" });
    const { jobs, reporting, skipped } = json as FoundJobs;
    expect(status).toBe(200);
    expect(jobs.map(({ line, name, tz }) => [line, name, tz])).toEqual([
      [2, "exit", "Europe/Riga"],
      [3, "exit 2", "Europe/Riga"],
      [5, "watch", "Europe/Riga"],
    ]);
    expect(jobs[0]?.sentence).toBe("At 03:00 every day, Europe/Riga time.");
    expect(jobs[0]?.graceSeconds).toBe(3_600);
    expect(jobs[0]?.nextAt).toBeGreaterThan(Date.now() - 60_000);
    expect(skipped).toEqual([
      { line: 4, text: "@reboot /srv/agent", reason: "runs at startup (@reboot), not on a schedule" },
      {
        line: 6,
        text: "0 5 * * * /srv/agent &",
        reason: "runs in the background (&), so its result is unknown",
      },
    ]);
    expect(reporting).toEqual([{ line: 7, name: "report", by: "overdue-run", check: "nightly" }]);
    expect(await told()).toEqual([]);
  });

  test("becomes checks, and its lines report how the jobs end", async () => {
    const { status, json, text } = await ask({ text: CRONTAB, tz: "UTC", ...chosen(2, 3, 5) }, "/checks");
    expect(status, text).toBe(201);
    const { checks, crontab, unchanged, wrapped, error } = json as CrontabChecks;
    expect(checks.map(({ name, expected }) => [name, expected])).toEqual([
      ["exit", "at 03:00 every day, UTC"],
      ["exit 2", "at 08:30, Monday to Friday, UTC"],
      ["watch", "at 04:00 every day, UTC"],
    ]);
    expect(error).toBeNull();
    expect(unchanged.map(({ line }) => line)).toEqual([5]);
    expect(wrapped.unchanged).toEqual([]);
    expect(wrapped.crontab.split("\n")[4]).toMatch(
      /^0 4 \* \* \* \/usr\/local\/bin\/overdue-run -api-url http\S+ -uuid [0-9a-f-]{36} -- \$SHELL -c '\/srv\/watch # nightly'$/,
    );
    const [, , second = "", third = ""] = ["", ...crontab.split("\n")];
    for (const line of [second, third]) {
      await promisify(execFile)("sh", ["-c", line.split(" ").slice(5).join(" ")], { timeout: 60_000 });
    }
    expect((await told()).map(({ name, state }) => [name, state])).toEqual([
      ["exit", "up"],
      ["exit 2", "down"],
      ["watch", "new"],
    ]);
  });

  test("the comment above a job becomes its description", async () => {
    const { json } = await ask({ text: CRONTAB, tz: "UTC", ...chosen(2) }, "/checks");
    const [row] = (json as CrontabChecks).checks;
    const page = await at.browse(`/api/overdue/v1/checks/${row?.id}`);
    expect(page.json).toMatchObject({ settings: { desc: "Everything, to the other house." } });
  });

  test("name, tags and grace period can be chosen", async () => {
    const jobs = [{ line: 2, name: "Backup", tags: "db prod", graceSeconds: 600 }, { line: 3 }];
    const { json } = await ask({ text: CRONTAB, tz: "UTC", jobs }, "/checks");
    const { checks } = json as CrontabChecks;
    expect(checks.map(({ name, tags }) => [name, tags])).toEqual([
      ["Backup", ["db", "prod"]],
      ["exit 2", []],
    ]);
    const page = await at.browse(`/api/overdue/v1/checks/${checks[0]?.id}`);
    expect(page.json).toMatchObject({ settings: { graceSeconds: 600 } });
  });

  test("lines that are no jobs make nothing, and say so", async () => {
    const { status, json } = await ask({ text: CRONTAB, tz: "UTC", ...chosen(1, 4, 6, 7, 99) }, "/checks");
    expect(status).toBe(400);
    expect(json).toMatchObject({ detail: "No jobs found in the crontab.", field: "jobs" });
  });

  test("lines beyond the check limit are reported, with the created checks", async () => {
    const before = (await told()).length;
    await at.db.pool.query("update accounts set check_limit = $1 where id = $2", [
      before + 2,
      at.owner.account.id,
    ]);
    const first = await ask({ text: CRONTAB, tz: "UTC", ...chosen(2, 3, 5) }, "/checks");
    const { checks, error, crontab } = first.json as CrontabChecks;
    expect(checks).toHaveLength(2);
    expect(error).toBe("The project owner has reached the check limit.");
    expect(crontab.split("\n")[4]).toBe("0 4 * * * /srv/watch # nightly");
    const second = await ask({ text: CRONTAB, tz: "UTC", ...chosen(5) }, "/checks");
    expect(second.status).toBe(403);
  });
});
