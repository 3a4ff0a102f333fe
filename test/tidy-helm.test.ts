// The Helm chart: it renders valid manifests, refuses wrong values, and the plain manifests are up to date.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isInstalled, judgeChart } from "../scripts/helm.ts";

const ROOT = join(import.meta.dirname, "..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

test.skipIf(!isInstalled("helm"))("the chart passes all checks of npm run helm", () => {
  expect(judgeChart({ write: false }).problems).toEqual([]);
});

test("the chart has the version of the package", () => {
  const { version } = JSON.parse(read("package.json")) as { version: string };
  const chart = read("deploy/helm/overdue/Chart.yaml");
  expect(chart).toContain(`\nversion: ${version}\n`);
  expect(chart).toContain(`\nappVersion: "${version}"\n`);
});

test("no pod of the plain manifests keeps acknowledged pings on a volume that is deleted with it", () => {
  for (const path of ["deploy/kubernetes/all-in-one.yaml", "deploy/kubernetes/split.yaml"]) {
    const receivers = read(path)
      .split(/^---$/m)
      .filter((one) => one.includes("OVERDUE_SPOOL_FOLDER"));
    expect(receivers).toHaveLength(1);
    expect(receivers[0]).toMatch(/^kind: StatefulSet$[^]*^ {2}volumeClaimTemplates:$/m);
    expect(read(path)).not.toContain("emptyDir");
  }
});
