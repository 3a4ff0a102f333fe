// `npm run image`: builds the container images twice, compares their digests, and tests them as the strictest operator
// would run them. Needs podman and some minutes, so it is not part of the check.
import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs, promisify } from "node:util";
import { environmentWith } from "../src/config/config.ts";
import { openBrowser } from "../test/accounts/browser.ts";
import { freePort } from "../test/support/ports.ts";
import { embeddedPostgres } from "../test/support/postgres-binaries.ts";
import { startPostgres } from "../test/support/postgres.ts";

const run = promisify(execFile);

const ROOT = join(import.meta.dirname, "..");
const FOLDER = join(ROOT, "test-results/image");
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };

const USER = "10001";
const MEGABYTE = 1_000_000;
const COMMAND_MS_MAX = 20 * 60_000;
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
const START_MS_MAX = 120_000;
const HEALTHY_MS_MAX = 60_000;
const STOP_SECONDS_MAX = 30;
/** After the start, before memory and processor time are measured, and for how long. */
const SETTLE_MS = 20_000;
const IDLE_MS = 30_000;
const POLL_MS = 100;
/** The unit of processor time in /proc. */
const TICKS_PER_SECOND = 100;

type Target = "slim" | "trial";
const TARGETS: readonly Target[] = ["slim", "trial"];
const IMAGE: Readonly<Record<Target, string>> = {
  slim: `overdue:${version}`,
  trial: `overdue:${version}-trial`,
};

/** Stand-ins for machines that cannot download images, made with debootstrap. */
const LOCAL = { base: "overdue-local-base", node: "overdue-local-node", postgres: "postgres:18" };

const SETTINGS = `[containers]
default_ulimits = ["nofile=20000:20000", "nproc=20000:20000"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
compat_api_enforce_docker_hub = false
`;

const HELP = `Builds the container images twice, compares their digests, and tests them.

Usage: npm run image [-- --local-base] [--only build,smoke,compose,systemd] [--json]

  --local-base   build on images made here with debootstrap, for machines that cannot download any
  --only         run only these steps; compose is run only if it is named
  --json         end with one line of JSON
  --help         show this text

Needs podman and runc, as root; with --local-base also debootstrap, and for the step compose podman-compose.
`;

type Figures = Record<string, number | boolean | string>;
const figures: Figures = {};

function note(key: string, value: number | boolean | string): void {
  figures[key] = typeof value === "number" ? Math.round(value * 1_000) / 1_000 : value;
  say(`${key}: ${figures[key]}`);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

const environment = () => environmentWith({ CONTAINERS_CONF: join(FOLDER, "containers.conf") });

type Calling = { settings?: Readonly<Record<string, string>> };

async function call(program: string, args: readonly string[], { settings = {} }: Calling = {}) {
  const { stdout } = await run(program, args, {
    cwd: ROOT,
    env: { ...environment(), ...settings },
    timeout: COMMAND_MS_MAX,
    maxBuffer: OUTPUT_BYTES_MAX,
  });
  return stdout.trim();
}

const podman = (...args: string[]) => call("podman", args);

/** The programs that are not installed. */
function missingPrograms(programs: readonly string[]): string[] {
  const folders = (environment()["PATH"] ?? "").split(delimiter);
  return programs.filter((name) => !folders.some((folder) => existsSync(join(folder, name))));
}

async function hasImage(name: string): Promise<boolean> {
  return podman("image", "exists", name).then(
    () => true,
    () => false,
  );
}

// The stand-ins. Debian's own slim image leaves out the same files.

const NOT_IN_SLIM = [
  "usr/share/doc",
  "usr/share/man",
  "usr/share/info",
  "usr/share/locale",
  "var/lib/apt/lists",
];

async function makeLocalImages(): Promise<void> {
  if (!(await hasImage(LOCAL.base))) {
    say("Creating a base image with debootstrap …");
    const tree = join(FOLDER, "debian");
    await call("debootstrap", ["--variant=minbase", "bookworm", tree]);
    for (const folder of NOT_IN_SLIM) {
      for (const entry of readdirSync(join(tree, folder))) {
        rmSync(join(tree, folder, entry), { recursive: true });
      }
    }
    rmSync(join(tree, "var/cache/apt"), { recursive: true, force: true });
    await call("sh", [
      "-c",
      'tar --numeric-owner -C "$1" -c . | podman import - "$2"',
      "sh",
      tree,
      LOCAL.base,
    ]);
    rmSync(tree, { recursive: true });
  }
  if (await hasImage(LOCAL.node)) return;
  say("Creating an image with Node and npm …");
  const context = join(FOLDER, "node");
  rmSync(context, { recursive: true, force: true });
  mkdirSync(context, { recursive: true });
  cpSync(process.execPath, join(context, "node"));
  const npm = await call("sh", ["-c", 'readlink -f "$(command -v npm)"']);
  cpSync(join(npm, "../.."), join(context, "npm"), { recursive: true });
  // The certificates that this machine trusts, if npm needs others than Node's.
  const certificates = environment()["NODE_EXTRA_CA_CERTS"];
  if (certificates !== undefined)
    cpSync(certificates, join(context, "certificates.pem"), { dereference: true });
  else writeFileSync(join(context, "certificates.pem"), "");
  const file = `FROM ${LOCAL.base}
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends binutils >/dev/null
COPY node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
COPY certificates.pem /etc/certificates.pem
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
ENV NODE_EXTRA_CA_CERTS=/etc/certificates.pem npm_config_cafile=${certificates === undefined ? "" : "/etc/certificates.pem"}
`;
  writeFileSync(join(context, "Containerfile"), file);
  await podman("build", "--isolation=chroot", "--network=host", "--tag", LOCAL.node, context);
  rmSync(context, { recursive: true });
}

// The build.

type Built = { digest: string; bytes: number };
type Format = "docker" | "oci";

async function build(
  target: Target,
  { isLocal, format }: { isLocal: boolean; format: Format },
): Promise<Built> {
  const startedAt = performance.now();
  const bases = isLocal ? [`BASE_IMAGE=${LOCAL.base}`, `NODE_IMAGE=${LOCAL.node}`] : [];
  const tag = format === "docker" ? IMAGE[target] : `${IMAGE[target]}-oci`;
  await podman(
    "build",
    "--file=deploy/Containerfile",
    `--format=${format}`,
    "--isolation=chroot",
    "--network=host",
    // Images of single steps have random IDs, which the history would contain.
    "--layers=false",
    "--timestamp=0",
    `--target=${target}`,
    `--tag=${tag}`,
    ...bases.map((base) => `--build-arg=${base}`),
    ".",
  );
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  say(`Built ${tag} in ${seconds} s.`);
  const [digest = "", bytes = "0"] = (
    await podman("image", "inspect", "--format={{.Digest}} {{.Size}}", tag)
  ).split(" ");
  return { digest, bytes: Number(bytes) };
}

/**
 * Compares two builds in the OCI format, then builds the image that is run: only the Docker format has the health
 * check, and Podman writes the random ID of a container into it.
 */
async function buildAll(isLocal: boolean): Promise<void> {
  let isEqual = true;
  for (const target of TARGETS) {
    const first = await build(target, { isLocal, format: "oci" });
    const second = await build(target, { isLocal, format: "oci" });
    isEqual &&= first.digest === second.digest;
    note(`image.${target}_digest`, second.digest);
    const { bytes } = await build(target, { isLocal, format: "docker" });
    note(`image.${target}_mb`, bytes / MEGABYTE);
  }
  note("image.digest_equal", isEqual);
  if (isEqual) return;
  process.stderr.write("Two builds have different digests.\n");
  process.exitCode = 1;
}

// The smoke test.

type Running = { name: string; site: string; startedAt: number };

/** The trial without any setting; the other on the network of this machine, where its database is. */
async function start(target: Target, databaseUrl: string | null): Promise<Running> {
  const name = `overdue-smoke-${target}-${process.pid}`;
  const [port, adminPort] = [await freePort(), await freePort()];
  const site = `http://localhost:${port}`;
  const settings = {
    OVERDUE_LISTEN: `127.0.0.1:${port}`,
    OVERDUE_ADMIN_LISTEN: `127.0.0.1:${adminPort}`,
    OVERDUE_SITE_URL: site,
    OVERDUE_DATABASE_URL: databaseUrl ?? "",
  };
  const place =
    databaseUrl === null
      ? [`--publish=127.0.0.1:${port}:8000`]
      : ["--network=host", ...Object.entries(settings).map(([key, value]) => `--env=${key}=${value}`)];
  const startedAt = performance.now();
  await podman(
    "run",
    "--detach",
    `--name=${name}`,
    "--read-only",
    "--read-only-tmpfs=false",
    "--cap-drop=all",
    "--security-opt=no-new-privileges",
    `--user=${USER}`,
    ...place,
    IMAGE[target],
  );
  return { name, site, startedAt };
}

async function until<T>(what: string, limitMs: number, look: () => Promise<T | null>): Promise<T> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (performance.now() > deadline) throw new Error(`${what}: not within ${limitMs / 1_000} s.`);
    await sleep(POLL_MS);
  }
}

/** The setup link in a text, if it is there. */
function linkIn(text: string): string | null {
  return /https?:\/\/[^\s"]+\/accounts\/setup\/[\w-]+\//.exec(text)?.[0] ?? null;
}

/** Creates the admin account and a check through the link, sends a ping, and waits until it is recorded. */
async function firstPing(link: string, site: string): Promise<void> {
  const browser = openBrowser(() => site, { origin: new URL(link).origin });
  const { pathname } = new URL(link);
  demand("the page of the setup link", (await browser.ask(pathname)).status, 200);
  const form = { email: "sam@example.org", name: "Sam", password: "correct horse battery" };
  demand("the new account", (await browser.post(pathname, form)).status, 303);
  const account = (await browser.ask("/web/account")).json as { projects: { id: string }[] };
  const project = account.projects[0]?.id ?? "";
  const created = await browser.send("POST", `/api/overdue/v1/projects/${project}/checks`, {
    name: "Backup",
  });
  demand("the new check", created.status, 201);
  const { id } = created.json as { id: string };
  demand("the ping", (await fetch(`${site}/ping/${id}`)).status, 200);
  await until("The ping is recorded", START_MS_MAX, async () => {
    const { text } = await browser.ask(`/api/overdue/v1/checks/${id}`);
    return /"lastPingAt":\d/.test(text) ? true : null;
  });
}

function demand(what: string, found: unknown, expected: unknown): void {
  if (found !== expected) throw new Error(`${what}: expected ${String(expected)}, got ${String(found)}.`);
}

/** The processes of a container, and their memory and processor time so far. */
async function usageOf(name: string): Promise<{ megabytes: number; seconds: number }> {
  const pids = (await podman("top", name, "hpid")).split("\n").slice(1);
  let [megabytes, seconds] = [0, 0];
  for (const pid of pids.map((text) => text.trim())) {
    // Shared pages count once: their proportional part in each process.
    const pss = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? "0";
    megabytes += Number(pss) / 1_000;
    const times = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /, "")
      .split(" ")
      .slice(11, 13);
    seconds += times.reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_SECOND;
  }
  return { megabytes, seconds };
}

async function smoke(target: Target, databaseUrl: string | null): Promise<void> {
  const running = await start(target, databaseUrl);
  const { name } = running;
  try {
    const link = await until("The setup link", START_MS_MAX, async () => {
      const { stdout, stderr } = await run("podman", ["logs", name], { env: environment() });
      return linkIn(stdout + stderr);
    });
    const since = () => (performance.now() - running.startedAt) / 1_000;
    note(`image.${target}_link_s`, since());
    await firstPing(link, running.site);
    note(target === "trial" ? "image.first_ping_s" : `image.${target}_first_ping_s`, since());
    const isHealthy = await until("The health check", HEALTHY_MS_MAX, () =>
      podman("healthcheck", "run", name).then(
        () => true,
        () => null,
      ),
    );
    note(`image.${target}_healthy`, isHealthy);
    demand("a write to the root file system", await writeRefused(name), true);
    await sleep(SETTLE_MS);
    const before = await usageOf(name);
    await sleep(IDLE_MS);
    const after = await usageOf(name);
    note(target === "slim" ? "image.idle_mb" : `image.${target}_idle_mb`, after.megabytes);
    const percent = ((after.seconds - before.seconds) / (IDLE_MS / 1_000)) * 100;
    note(target === "slim" ? "image.idle_cpu_percent" : `image.${target}_idle_cpu_percent`, percent);
    const stoppedAt = performance.now();
    await podman("stop", `--time=${STOP_SECONDS_MAX}`, name);
    note(`image.${target}_stop_s`, (performance.now() - stoppedAt) / 1_000);
    demand("the exit code after SIGTERM", await podman("inspect", "--format={{.State.ExitCode}}", name), "0");
  } catch (error) {
    const { stdout, stderr } = await run("podman", ["logs", "--tail=50", name], { env: environment() });
    throw new Error(`${target}: ${String(error)}\n${stdout}${stderr}`, { cause: error });
  } finally {
    await podman("rm", "--force", "--volumes", name);
  }
}

async function writeRefused(name: string): Promise<boolean> {
  return podman("exec", name, "sh", "-c", "echo x > /opt/overdue/x").then(
    () => false,
    () => true,
  );
}

async function smokeAll(): Promise<void> {
  await smoke("trial", null);
  const server = await startPostgres({ binaries: embeddedPostgres(), database: "overdue" });
  try {
    await smoke("slim", server.url("overdue"));
  } finally {
    await server.stop();
  }
}

// Compose, with a stand-in for the image of PostgreSQL that keeps to the same contract.

const POSTGRES_START = `#!/bin/bash
set -eu
PGDATA=/var/lib/postgresql/18/docker
run() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
if [ ! -s $PGDATA/PG_VERSION ]; then
  mkdir -p $PGDATA && chown -R postgres:postgres /var/lib/postgresql
  install -o postgres -m 600 "$POSTGRES_PASSWORD_FILE" /tmp/password
  run /opt/postgres/bin/initdb -D $PGDATA -U "$POSTGRES_USER" -E UTF8 --locale=C --auth-local=trust \\
    --auth-host=scram-sha-256 --pwfile=/tmp/password
  echo "create database $POSTGRES_USER" | run /opt/postgres/bin/postgres --single -D $PGDATA postgres
  echo "host all all all scram-sha-256" >> $PGDATA/pg_hba.conf
fi
exec setpriv --reuid=postgres --regid=postgres --clear-groups /opt/postgres/bin/postgres -D $PGDATA -c listen_addresses='*' \\
  -c unix_socket_directories=/tmp
`;

const POSTGRES_FILE = `FROM ${LOCAL.base}
RUN useradd --system --no-create-home postgres
COPY native /opt/postgres
COPY --chmod=755 start pg_isready /usr/local/bin/
VOLUME /var/lib/postgresql
STOPSIGNAL SIGINT
ENTRYPOINT ["start"]
`;

async function makeLocalPostgres(): Promise<void> {
  if (await hasImage(LOCAL.postgres)) return;
  say("Creating a stand-in for the image of PostgreSQL …");
  const context = join(FOLDER, "postgres");
  mkdirSync(context, { recursive: true });
  await call("cp", ["-a", embeddedPostgres().directory, join(context, "native")]);
  writeFileSync(join(context, "start"), POSTGRES_START);
  writeFileSync(join(context, "pg_isready"), "#!/bin/bash\nexec 3<>/dev/tcp/127.0.0.1/5432\n");
  writeFileSync(join(context, "Containerfile"), POSTGRES_FILE);
  await podman("build", "--isolation=chroot", "--tag", LOCAL.postgres, context);
  rmSync(context, { recursive: true });
}

/** From `up` to the first ping on the images of this machine, then once more with new containers. */
async function composeUp(): Promise<void> {
  await makeLocalPostgres();
  const port = await freePort();
  const site = `http://localhost:${port}`;
  const settings = { OVERDUE_SITE_URL: site, PUBLISH: `127.0.0.1:${port}` };
  const compose = (...args: string[]) =>
    call("podman-compose", ["--file=deploy/compose.yaml", "--project-name=overdue-smoke", ...args], {
      settings,
    });
  const logs = async () => {
    const { stdout, stderr } = await run("podman", ["logs", "overdue-smoke_overdue_1"], {
      env: environment(),
    });
    return stdout + stderr;
  };
  try {
    const startedAt = performance.now();
    await compose("up", "--detach", "--no-build");
    const link = await until("The setup link", START_MS_MAX, async () => linkIn(await logs()));
    note("compose.link_s", (performance.now() - startedAt) / 1_000);
    await firstPing(link, site);
    note("compose.first_ping_s", (performance.now() - startedAt) / 1_000);
    // The password and the data survive new containers.
    await compose("down");
    await compose("up", "--detach", "--no-build");
    await until("The start with existing data", START_MS_MAX, async () =>
      (await logs()).includes('"ready"') ? true : null,
    );
    demand("a setup link on existing data", linkIn(await logs()), null);
    note("compose.restarted", true);
  } finally {
    await compose("down", "--volumes");
  }
}

// The unit of systemd.

async function judgeUnit(): Promise<void> {
  const unit = "deploy/systemd/overdue.service";
  const text = await call("systemd-analyze", ["security", "--offline=yes", "--no-pager", unit]);
  note("systemd.exposure", Number(/exposure level for \S+: ([\d.]+)/.exec(text)?.[1]));
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      "local-base": { type: "boolean", default: false },
      only: { type: "string", default: "build,smoke,systemd" },
      json: { type: "boolean", default: false },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) return void process.stdout.write(HELP);
  const isLocal = values["local-base"];
  const steps = values.only.split(",");
  const missing = missingPrograms([
    "podman",
    "runc",
    ...(isLocal ? ["debootstrap"] : []),
    ...(steps.includes("compose") ? ["podman-compose"] : []),
    ...(steps.includes("systemd") ? ["systemd-analyze"] : []),
  ]);
  if (missing.length > 0) {
    process.stderr.write(`Not installed: ${missing.join(", ")}. Install them first.\n`);
    process.exitCode = 2;
    return;
  }
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, "containers.conf"), SETTINGS);
  if (isLocal) await makeLocalImages();
  if (steps.includes("build")) await buildAll(isLocal);
  if (steps.includes("smoke")) await smokeAll();
  if (steps.includes("compose")) await composeUp();
  if (steps.includes("systemd")) await judgeUnit();
  if (values.json) say(JSON.stringify(figures));
}

await main();
