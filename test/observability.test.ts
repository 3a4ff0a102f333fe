// The observability pack: what the dashboard and the alert rules query is exported by a running server, and the rules
// fire when they should.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadConfig } from "../src/config/config.ts";
import { createLog } from "../src/lib/log.ts";
import { createMetrics } from "../src/lib/metrics.ts";
import { ROLE_NAMES } from "../src/roles/names.ts";
import { run } from "../src/roles/roles.ts";
import { openDatabase } from "../src/store/db.ts";
import { useDatabase } from "./support/database.ts";
import { sampleCheck, sampleProject } from "./support/sample.ts";

const PACK = join(import.meta.dirname, "../deploy/observability");
const PROMTOOL = "/usr/bin/promtool";
/** What Prometheus adds to the name of a histogram. */
const SERIES_OF_HISTOGRAM = /_(bucket|count|sum)$/;

const database = useDatabase();

const read = (name: string) => readFileSync(join(PACK, name), "utf8");

/** Names of metrics in PromQL. */
function namesIn(text: string): string[] {
  const found = text.match(/\b(?:overdue|process|nodejs)_[a-z0-9_]+\b(?=[{[)\s])/g) ?? [];
  return [...new Set(found)].toSorted();
}

function queriesOf(dashboard: string): string {
  const { panels } = JSON.parse(dashboard) as { panels: { targets?: { expr: string }[] }[] };
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)).join("\n");
}

/** The metrics page of a process with all roles after a ping, a 404, and requests to both APIs. */
async function metricsPage(): Promise<{ page: string; uuid: string }> {
  const databaseOptions = {
    url: database.url,
    applicationName: "overdue-test",
    onError: () => {},
    requireDurable: false,
  };
  const { config } = loadConfig({
    OVERDUE_ADMIN_LISTEN: "127.0.0.1:0",
    OVERDUE_LISTEN: "127.0.0.1:0",
    OVERDUE_HEARTBEAT_URL: "http://127.0.0.1:9/",
    OVERDUE_SPOOL_FOLDER: "off",
  });
  const resources = {
    config,
    database: openDatabase(databaseOptions),
    databaseOptions,
    log: createLog({ level: "fatal" }),
    metrics: createMetrics({ version: "0" }),
  };
  const { uuid } = await sampleCheck(database.db, { projectId: (await sampleProject(database.db)).id });
  const running = await run(ROLE_NAMES, resources, { signal: new AbortController().signal });
  const site = `http://127.0.0.1:${running.addresses.ping?.port}`;
  try {
    for (const path of [
      `/ping/${uuid}`,
      "/ping/00000000-0000-4000-8000-000000000000",
      "/api/v3/checks/",
      "/api/overdue/v1/projects",
    ]) {
      await (await fetch(site + path)).arrayBuffer();
    }
    const answer = await fetch(`http://127.0.0.1:${running.adminAddress?.port}/metrics`);
    return { page: await answer.text(), uuid };
  } finally {
    await running.stop();
  }
}

/** Exported by recorders only. */
const WITH_A_LOG = ["overdue_recorder_lag_seconds"];

describe("a running server", () => {
  test("exports every metric that the dashboard and the alert rules query", async () => {
    const { page } = await metricsPage();
    const exported = new Set([...page.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name));
    const isExported = (name: string) =>
      exported.has(name) || exported.has(name.replace(SERIES_OF_HISTOGRAM, ""));
    for (const text of [queriesOf(read("grafana-dashboard.json")), read("alerts.yaml")]) {
      const names = namesIn(text);
      expect(names.length).toBeGreaterThan(5);
      expect(names.filter((name) => !isExported(name) && !WITH_A_LOG.includes(name))).toEqual([]);
    }
  });

  test("measures responses and pools with a bounded number of labels", async () => {
    const { page, uuid } = await metricsPage();
    expect(page).toContain('overdue_ping_answer_seconds_count{status="2xx"} 1');
    expect(page).toContain('overdue_ping_answer_seconds_count{status="4xx"} 1');
    expect(page).toContain('overdue_api_answer_seconds_count{api="management",route="read",status="4xx"} 1');
    expect(page).toContain('overdue_api_answer_seconds_count{api="overdue",route="read",status="4xx"} 1');
    for (const pool of ["shared", "sweeper", "intake", "intake-lookups"]) {
      expect(page).toMatch(new RegExp(`^overdue_database_connections_max\\{pool="${pool}"\\} [1-9]`, "m"));
    }
    expect(page).not.toContain(uuid);
  });
});

describe("the alert rules", () => {
  test("each has a severity, a summary and a runbook", () => {
    const rules = read("alerts.yaml").split("- alert: ").slice(1);
    expect(rules.length).toBeGreaterThanOrEqual(8);
    for (const rule of rules) {
      for (const part of ["severity: ", "summary: ", "description: ", "runbook: "])
        expect(rule).toContain(part);
    }
  });

  test.skipIf(!existsSync(PROMTOOL))("fire on their problem and stay silent without it", () => {
    const said = execFileSync(
      PROMTOOL,
      ["test", "rules", join(import.meta.dirname, "observability-alerts.yaml")],
      {
        encoding: "utf8",
      },
    );
    expect(said).toContain("SUCCESS");
  });
});
