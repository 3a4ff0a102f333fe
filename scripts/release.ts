// `npm run release`: checks that a version can be released and makes its files: the package, the bill of materials, the
// chart, the release notes and the checksums. It publishes nothing; .github/workflows/release.yml does that.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "./build.ts";
import { isInstalled } from "./helm.ts";
import { pack } from "./pack.ts";

const ROOT = join(import.meta.dirname, "..");
const FOLDER = join(ROOT, "test-results/release");
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

const HELP = `Checks a version and makes the files of its release in test-results/release/. Publishes nothing.

Usage: npm run release -- [--tag vX.Y.Z] [--dry-run] [--json]

  --tag       the tag of the release; must be v and the version in package.json
  --dry-run   accept a version that is still "Unreleased" in CHANGELOG.md, and leave out the chart if helm is missing
  --json      end with one line of JSON
  --help      show this text
`;

/** The files whose versions must agree. */
export type Sources = { manifest: string; lock: string; chart: string; changelog: string };

export type Plan = { version: string; notes: string; problems: string[]; warnings: string[] };

/** What would be released, and what prevents it. */
export function planRelease(
  { manifest, lock, chart, changelog }: Sources,
  { tag, isDryRun }: { tag: string | null; isDryRun: boolean },
): Plan {
  const { version } = JSON.parse(manifest) as { version: string };
  const { version: locked } = JSON.parse(lock) as { version: string };
  const inChart = (name: string) => new RegExp(`^${name}: "?([^"\\n]+)"?$`, "m").exec(chart)?.[1] ?? "none";
  const problems: string[] = [];
  const warnings: string[] = [];
  const expectVersion = (where: string, found: string) => {
    if (found !== version)
      problems.push(`${where} is ${found}, but the version in package.json is ${version}`);
  };
  if (tag !== null) expectVersion("The tag", tag.replace(/^v(?=\d)/, ""));
  expectVersion("The version in package-lock.json", locked);
  expectVersion("The version of the chart", inChart("version"));
  expectVersion("The appVersion of the chart", inChart("appVersion"));
  const notes = changelogSection(changelog, version);
  const unreleased = changelogSection(changelog, "Unreleased");
  const missing = `CHANGELOG.md has no section "## ${version}". Rename "## Unreleased".`;
  if (notes === null) (isDryRun && unreleased !== null ? warnings : problems).push(missing);
  return { version, notes: notes ?? unreleased ?? "", problems, warnings };
}

/** The text below a heading such as `## 1.2.3 (2026-11-17)` or `## [1.2.3]`, up to the next one; null: there is none. */
export function changelogSection(changelog: string, name: string): string | null {
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((one) => {
    const title = (one.split("\n", 1)[0] ?? "").replace(/^\[([^\]]+)\]/, "$1");
    return title === name || title.startsWith(`${name} `);
  });
  if (section === undefined) return null;
  const text = section.slice(section.indexOf("\n")).trim();
  return text === "" ? null : `${text}\n`;
}

function run(program: string, args: readonly string[]): string {
  return execFileSync(program, args, { cwd: ROOT, encoding: "utf8", maxBuffer: OUTPUT_BYTES_MAX });
}

/** Makes the files; returns their paths in the order in which they were made. */
async function makeFiles({ version, notes }: Plan, say: (text: string) => void): Promise<string[]> {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  say("building the package");
  await build();
  const paths = [await pack({ into: FOLDER })];
  say("listing its packages");
  const sbom = join(FOLDER, `overdue-${version}.cdx.json`);
  const listing = ["--sbom-format", "cyclonedx", "--sbom-type", "application"];
  writeFileSync(sbom, run("npm", ["sbom", "--package-lock-only", "--omit", "dev", ...listing]));
  paths.push(sbom);
  if (isInstalled("helm")) {
    say("packaging the chart");
    const made = join(FOLDER, "chart");
    run("helm", ["package", "deploy/helm/overdue", "--destination", made]);
    // The package and the chart would otherwise have the same name.
    const chart = join(FOLDER, `overdue-chart-${version}.tgz`);
    renameSync(join(made, `overdue-${version}.tgz`), chart);
    rmSync(made, { recursive: true });
    paths.push(chart);
  }
  const notesPath = join(FOLDER, "release-notes.md");
  writeFileSync(notesPath, notes);
  const sums = paths.map((path) => `${sha256(path)}  ${basename(path)}`);
  const sumsPath = join(FOLDER, "SHA256SUMS");
  writeFileSync(sumsPath, `${sums.join("\n")}\n`);
  return [...paths, notesPath, sumsPath];
}

function sha256(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      tag: { type: "string" },
      "dry-run": { type: "boolean" },
      json: { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) return void process.stdout.write(HELP);
  const isDryRun = values["dry-run"] === true;
  const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
  const sources = {
    manifest: read("package.json"),
    lock: read("package-lock.json"),
    chart: read("deploy/helm/overdue/Chart.yaml"),
    changelog: read("CHANGELOG.md"),
  };
  const plan = planRelease(sources, { tag: values.tag ?? null, isDryRun });
  if (!isInstalled("helm")) {
    (isDryRun ? plan.warnings : plan.problems).push("helm is not installed, so there is no chart");
  }
  for (const warning of plan.warnings) process.stdout.write(`warning: ${warning}\n`);
  for (const problem of plan.problems) process.stdout.write(`FAILED ${problem}\n`);
  const isGood = plan.problems.length === 0;
  const files = isGood ? await makeFiles(plan, (text) => process.stdout.write(`${text} …\n`)) : [];
  for (const path of files) process.stdout.write(`${basename(path)}  ${readFileSync(path).length} bytes\n`);
  const counts = {
    version: plan.version,
    files: files.length,
    problems: plan.problems.length,
    warnings: plan.warnings.length,
  };
  if (values.json === true) process.stdout.write(`${JSON.stringify(counts)}\n`);
  process.exitCode = isGood ? 0 : 1;
}

if (import.meta.main) await main();
