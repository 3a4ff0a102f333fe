// A real Prometheus scrapes the metrics of a project, by key in the path and by bearer token, and is then asked what
// it has understood. promtool judges the page itself.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { uniqueKey } from "../../../src/core/identity.ts";
import { sha1Hex } from "../../../src/lib/secrets.ts";
import { freePort } from "../../support/ports.ts";
import type { Client, Scene } from "../client.ts";
import { type Ended, runProgram, whileRunning } from "../program.ts";

/** The first scrape may be spread over its interval and the ones before it over a slow start. */
const SCRAPE_MS_MAX = 60_000;
const POLL_MS = 500;
/** How promtool ends when it understands a page and has something to say about it. */
const PROMTOOL_LINT = 3;

type Sample = { metric: Record<string, string>; value: [number, string] };

function configuration(scene: Scene): string {
  const { project, site } = scene;
  const target = new URL(site).host;
  return `global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
  - job_name: by-path
    metrics_path: /projects/${project.uuid}/metrics/${project.apiKeyReadonly}
    static_configs: [{targets: ["${target}"]}]
  - job_name: by-token
    metrics_path: /projects/${project.uuid}/metrics/
    authorization: {credentials: ${project.apiKeyReadonly}}
    static_configs: [{targets: ["${target}"]}]
`;
}

async function query(api: string, expression: string): Promise<Sample[]> {
  const response = await fetch(`${api}/api/v1/query?query=${encodeURIComponent(expression)}`);
  const answer = (await response.json()) as { status: string; data: { result: Sample[] } };
  assert.equal(answer.status, "success");
  return answer.data.result;
}

/** Waits until both jobs have delivered all there is. */
async function untilScraped(api: string, said: () => string): Promise<void> {
  const giveUpAt = performance.now() + SCRAPE_MS_MAX;
  for (;;) {
    const samples = await query(api, "hc_checks_total").catch(() => []);
    if (samples.length === 2) return;
    if (performance.now() > giveUpAt) {
      const targets = await fetch(`${api}/api/v1/targets`).then((response) => response.text(), String);
      throw new Error(`nothing was scraped: ${targets.slice(0, 1_500)}\n${said().slice(-500)}`);
    }
    await sleep(POLL_MS);
  }
}

/** Two names of gauges are the reference's, and not what promtool would call them: that is all it may say. */
function complaintsOf({ code, out, err }: Ended): string[] {
  const lines = `${out}\n${err}`.split("\n").filter((line) => line !== "");
  const others = lines.filter(
    (line) => !/^hc_checks_(down_)?total non-counter metrics should not/.test(line),
  );
  return code === 0 || code === PROMTOOL_LINT ? others : [`exit code ${code}`, ...others];
}

async function drivePrometheus(scene: Scene): Promise<void> {
  const { origin, project } = scene;
  const up = await scene.newCheck({ name: 'Up "quoted"', tags: "prod db" });
  const down = await scene.newCheck({ name: "Down", tags: "prod" });
  await scene.signal(up, `${up}/start`, `${down}/fail`);
  const page = await fetch(`${origin}/projects/${project.uuid}/metrics/${project.apiKeyReadonly}`);
  const judged = await runProgram("promtool", ["check", "metrics"], { input: await page.text() });
  assert.deepEqual(complaintsOf(judged), [], "what promtool has to say");

  const port = await freePort();
  const config = join(scene.scratch, "prometheus.yml");
  writeFileSync(config, configuration(scene));
  const args = [
    `--config.file=${config}`,
    `--storage.tsdb.path=${join(scene.scratch, "tsdb")}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  await whileRunning({ program: "prometheus", args }, async (said) => {
    const api = `http://127.0.0.1:${port}`;
    await untilScraped(api, said);
    const values = async (expression: string) =>
      (await query(api, expression)).map(({ metric, value }): [string, string] => [
        metric["unique_key"] ?? metric["tag"] ?? "",
        value[1],
      ]);
    for (const job of ["by-path", "by-token"]) {
      const of = (metric: string, labels = "") => values(`${metric}{job="${job}"${labels}}`);
      assert.deepEqual(await of("hc_check_up", ',name="Up \\"quoted\\"",tags="prod db"'), [
        [uniqueKey(up, sha1Hex), "1"],
      ]);
      assert.deepEqual(await of("hc_check_up", ',name="Down"'), [[uniqueKey(down, sha1Hex), "0"]]);
      assert.deepEqual((await of("hc_check_started", ',tags="prod db"'))[0]?.[1], "1");
      assert.deepEqual(
        new Map(await of("hc_tag_up")),
        new Map([
          ["db", "1"],
          ["prod", "0"],
        ]),
      );
      assert.equal((await of("hc_checks_total"))[0]?.[1], "2");
      assert.equal((await of("hc_checks_down_total"))[0]?.[1], "1");
    }
  });
}

export const PROMETHEUS: Client = {
  name: "Prometheus",
  version: null,
  kind: "real",
  dialect: "standard",
  installs: "prometheus",
  note: "by key in the path and by bearer token; asked for what it understood",
  drive: drivePrometheus,
};
