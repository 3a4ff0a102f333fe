// The settings and their loader: sources, aliases, secrets from files, errors, and what is shown.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { createLog } from "../lib/log.ts";
import { MASK } from "../lib/setting-value.ts";
import {
  ConfigError,
  type Environment,
  environmentIn,
  environmentWith,
  knownSecrets,
  loadConfig,
  type SettingName,
} from "./config.ts";
import { effectiveAsJson, renderEffective, renderEnvExample } from "./render.ts";
import { type Setting, SETTINGS } from "./settings.ts";

const ALL: readonly [string, Setting<unknown, unknown>][] = Object.entries(SETTINGS);
const folder = mkdtempSync(join(tmpdir(), "overdue-config-"));
afterAll(() => rmSync(folder, { recursive: true }));

function fileWith(text: string): string {
  const path = join(folder, `secret-${Math.random()}`);
  writeFileSync(path, text);
  return path;
}

function problemsOf(environment: Environment): readonly string[] {
  try {
    loadConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

function sourceOf(key: string, environment: Environment) {
  return loadConfig(environment).effective.find((one) => one.key === key)?.source;
}

const SECRET = "0123456789abcdef0123456789abcdef";

const SOURCES = join(import.meta.dirname, "..");

describe("the table", () => {
  test.each(ALL)("%s accepts its own example, unless that would reveal a secret", (name, given) => {
    expect(given.kind.parse(given.example)).toHaveProperty(name === "secretKey" ? "problem" : "value");
  });

  test.each(ALL.filter(([, { fallback }]) => fallback !== null))(
    "%s accepts its own default",
    (_n, given) => {
      expect(given.kind.parse(given.kind.print(given.fallback))).toEqual({ value: given.fallback });
    },
  );

  test("no key or alias belongs to two settings", () => {
    const names = ALL.flatMap(([, { key, aliases, composedOf }]) => [
      key,
      ...(aliases ?? []),
      ...(composedOf?.names ?? []),
    ]);
    expect(new Set(names).size).toBe(names.length);
  });

  test("every setting is read by some part of the program", () => {
    const sources = readdirSync(SOURCES, { recursive: true, encoding: "utf8" })
      .filter(
        (path) =>
          path.endsWith(".ts") &&
          !path.endsWith(".test.ts") &&
          !/^config\/(config|settings|render)/.test(path),
      )
      .map((path) => readFileSync(join(SOURCES, path), "utf8"));
    expect(sources.length).toBeGreaterThan(5);
    for (const [name, { key }] of ALL) {
      // Commands that run jobs load no settings, and read the variable themselves.
      const read = sources.some(
        (text) => new RegExp(`\\bconfig\\.${name}\\b`).test(text) || text.includes(`environment["${key}"]`),
      );
      expect({ key, read }).toEqual({ key, read: true });
    }
  });
});

describe("the object store", () => {
  const names = {
    S3_BUCKET: "bodies",
    S3_ENDPOINT: "s3.example.org:9000",
    S3_ACCESS_KEY: "name",
    S3_SECRET_KEY: "secret",
    S3_TIMEOUT: "7",
    S3_REGION: "here",
  };

  test("is absent by default", () => {
    expect(loadConfig({}).config).toMatchObject({ s3Bucket: null, s3Endpoint: null });
  });

  test("is configured by the reference server's names, with TLS unless they disable it", () => {
    expect(loadConfig(names).config).toMatchObject({
      s3Bucket: "bodies",
      s3Endpoint: "https://s3.example.org:9000",
      s3AccessKey: "name",
      s3SecretKey: "secret",
      s3TimeoutSeconds: 7,
      s3Region: "here",
    });
    const { s3Endpoint } = loadConfig({ ...names, S3_SECURE: "False" }).config;
    expect(s3Endpoint).toBe("http://s3.example.org:9000");
    const whole = loadConfig({ ...names, S3_ENDPOINT: "http://127.0.0.1:7070" }).config;
    expect(whole.s3Endpoint).toBe("http://127.0.0.1:7070");
    expect(problemsOf({ ...names, S3_SECURE: "perhaps" })).toEqual([
      "OVERDUE_S3_ENDPOINT is derived from S3_*: S3_SECURE must be true or false.",
    ]);
  });

  test("is complete or absent: a bucket alone is rejected", () => {
    expect(problemsOf({ OVERDUE_S3_BUCKET: "bodies" })).toEqual([
      "OVERDUE_S3_BUCKET is set, but OVERDUE_S3_ENDPOINT is not. Set both, or neither.",
      "OVERDUE_S3_BUCKET is set, but OVERDUE_S3_ACCESS_KEY is not. Set both, or neither.",
      "OVERDUE_S3_BUCKET is set, but OVERDUE_S3_SECRET_KEY is not. Set both, or neither.",
    ]);
    expect(problemsOf({ ...names, S3_BUCKET: "" })).toEqual([]);
  });

  test("shows everything but its secret", () => {
    const shown = renderEffective(loadConfig(names).effective);
    expect(shown).toMatch(/OVERDUE_S3_ACCESS_KEY +name /);
    expect(shown).toMatch(/OVERDUE_S3_SECRET_KEY +\*{8} /);
  });
});

describe("values", () => {
  test("an empty environment gives the defaults", () => {
    const { config, effective } = loadConfig({});
    expect(config.adminListen).toEqual({ host: "127.0.0.1", port: 9464 });
    expect(config.trustedProxies).toEqual(["127.0.0.0/8", "::1/128"]);
    expect(config.checkLimit).toBeNull();
    expect(config.migrateOnStart).toBe(true);
    expect(new Set(effective.map(({ source }) => source.kind))).toEqual(new Set(["default"]));
  });

  test("a variable takes precedence over the default, spaces around it do not matter", () => {
    expect(loadConfig({ OVERDUE_CHECK_LIMIT: " 500 " }).config.checkLimit).toBe(500);
    expect(sourceOf("OVERDUE_CHECK_LIMIT", { OVERDUE_CHECK_LIMIT: "500" })).toEqual({
      kind: "environment",
      from: "OVERDUE_CHECK_LIMIT",
    });
  });

  test("an empty variable counts as not set", () => {
    expect(loadConfig({ OVERDUE_CHECK_LIMIT: "", OVERDUE_SITE_URL: "  " }).config.siteUrl).toBe(
      "http://localhost:8000",
    );
  });

  test("a list is split at commas", () => {
    expect(loadConfig({ OVERDUE_ROLES: "ping,api" }).config.roles).toEqual(["ping", "api"]);
  });
});

describe("the reference server's names", () => {
  test("the former name of the admin channel still works", () => {
    const [former, current] = [
      "6f1c9a52-8d0b-4f3e-9a57-2c4d6e8f0a1b",
      "0b6f7f4e-3c1d-4a8e-9f52-7d1e2c3b4a59",
    ];
    const environment = { OVERDUE_OPERATOR_CHANNEL: former };
    expect(loadConfig(environment).config.adminChannel).toBe(former);
    expect(sourceOf("OVERDUE_ADMIN_CHANNEL", environment)).toEqual({
      kind: "alias",
      from: "OVERDUE_OPERATOR_CHANNEL",
    });
    expect(loadConfig({ ...environment, OVERDUE_ADMIN_CHANNEL: current }).config.adminChannel).toBe(current);
  });

  test("are accepted as aliases, our own name takes precedence", () => {
    expect(loadConfig({ SITE_ROOT: "https://a.example.org/hc" }).config.siteUrl).toBe(
      "https://a.example.org/hc",
    );
    expect(loadConfig({ PING_ENDPOINT: "https://p.example.org/" }).config.pingUrl).toBe(
      "https://p.example.org",
    );
    expect(loadConfig({ PING_BODY_LIMIT: "5000" }).config.pingBodyLimitBytes).toBe(5000);
    expect(loadConfig({ SECRET_KEY: SECRET }).config.secretKey).toBe(SECRET);
    const both = { SITE_ROOT: "https://a.example.org", OVERDUE_SITE_URL: "https://b.example.org" };
    expect(loadConfig(both).config.siteUrl).toBe("https://b.example.org");
    expect(sourceOf("OVERDUE_SITE_URL", { SITE_ROOT: "https://a.example.org" })).toEqual({
      kind: "alias",
      from: "SITE_ROOT",
    });
  });

  test("DB_* are combined into a database URL, with everything escaped", () => {
    const { config } = loadConfig({
      DB: "postgres",
      DB_HOST: "db",
      DB_PORT: "5433",
      DB_NAME: "over due",
      DB_USER: "me@home",
      DB_PASSWORD: "p/w:?",
      DB_SSLMODE: "require",
    });
    expect(config.databaseUrl).toBe("postgres://me%40home:p%2Fw%3A%3F@db:5433/over%20due?sslmode=require");
  });

  test("DB_PASSWORD can come from a file", () => {
    const environment = { DB_HOST: "db", DB_NAME: "overdue", DB_PASSWORD_FILE: fileWith("geheim\n") };
    expect(loadConfig(environment).config.databaseUrl).toBe("postgres://postgres:geheim@db:5432/overdue");
    expect(sourceOf("OVERDUE_DATABASE_URL", environment)?.from).toBe("DB_HOST, DB_NAME, DB_PASSWORD_FILE");
  });

  test("DB_* without a name, or with an unknown SSL mode, are rejected", () => {
    expect(problemsOf({ DB_HOST: "db" })).toEqual([expect.stringContaining("DB_NAME is not set")]);
    expect(problemsOf({ DB_NAME: "d", DB_SSLMODE: "no-verify" })).toEqual([
      expect.stringContaining("DB_SSLMODE must be"),
    ]);
  });

  test("PGSSLMODE and PGSSLROOTCERT supply what the database URL does not contain", () => {
    const from = (OVERDUE_DATABASE_URL: string) =>
      loadConfig({ OVERDUE_DATABASE_URL, PGSSLMODE: "verify-ca", PGSSLROOTCERT: "/etc/ca.crt" }).config
        .databaseUrl;
    expect(from("postgres://u@h/d")).toBe("postgres://u@h/d?sslmode=verify-ca&sslrootcert=%2Fetc%2Fca.crt");
    expect(from("postgres://u@h/d?sslmode=require")).toBe(
      "postgres://u@h/d?sslmode=require&sslrootcert=%2Fetc%2Fca.crt",
    );
  });

  test("are named in an error, together with ours", () => {
    expect(problemsOf({ SITE_ROOT: "localhost" })).toEqual([
      expect.stringMatching(/^SITE_ROOT \(used for OVERDUE_SITE_URL\) must be .*, not "localhost"\.$/),
    ]);
  });

  test("of other settings are ignored", () => {
    expect(problemsOf({ REGISTRATION_OPEN: "False", EMAIL_HOST: "mail" })).toEqual([]);
  });
});

describe("secrets from files", () => {
  test("a file takes precedence over the plain variable, and its last line ending is removed", () => {
    const environment = {
      OVERDUE_SECRET_KEY: SECRET,
      OVERDUE_SECRET_KEY_FILE: fileWith(`${SECRET}-of-file\n`),
    };
    expect(loadConfig(environment).config.secretKey).toBe(`${SECRET}-of-file`);
    expect(sourceOf("OVERDUE_SECRET_KEY", environment)).toEqual({
      kind: "file",
      from: "OVERDUE_SECRET_KEY_FILE",
    });
  });

  test("a wrong path is an error, even if the plain variable is set", () => {
    expect(problemsOf({ OVERDUE_SECRET_KEY: SECRET, OVERDUE_SECRET_KEY_FILE: "/no/such/file" })).toEqual([
      expect.stringMatching(
        /OVERDUE_SECRET_KEY_FILE is set to \/no\/such\/file, which cannot be read \(ENOENT\)/,
      ),
    ]);
  });

  test("a folder, an empty file and a huge one are rejected", () => {
    const wrong = [folder, fileWith(" \n"), fileWith("x".repeat(65 * 1024))];
    for (const path of wrong) expect(problemsOf({ OVERDUE_SECRET_KEY_FILE: path })).toHaveLength(1);
  });

  test("only secrets can come from a file", () => {
    expect(problemsOf({ OVERDUE_LOG_LEVEL_FILE: "/x" })).toEqual([
      expect.stringContaining("only secrets can be read from a file. Set OVERDUE_LOG_LEVEL instead."),
    ]);
  });
});

describe("errors", () => {
  test("an unknown name with our prefix is rejected, with the nearest one", () => {
    expect(problemsOf({ OVERDUE_SITE_ULR: "x" })).toEqual([
      expect.stringMatching(/^Unknown setting OVERDUE_SITE_ULR\. Did you mean OVERDUE_SITE_URL\?/),
    ]);
    expect(problemsOf({ overdue_site_url: "x" })[0]).toContain("Did you mean OVERDUE_SITE_URL?");
    expect(problemsOf({ OVERDUE_SECRET_KEY_FIL: "x" })[0]).toContain("Did you mean OVERDUE_SECRET_KEY_FILE?");
  });

  test("credentials of API clients are not settings, and no mistakes", () => {
    expect(problemsOf({ OVERDUE_TOKEN: "x", OVERDUE_API_KEY_READ: "x" })).toEqual([]);
  });

  test("all problems are reported at once", () => {
    const problems = problemsOf({
      OVERDUE_CHECK_LIMIT: "many",
      OVERDUE_LOG_LEVEL: "loud",
      OVERDUE_BANANA: "1",
      OVERDUE_MIGRATE_ON_START: "maybe",
    });
    expect(problems).toHaveLength(4);
  });

  test("an invalid secret is not repeated", () => {
    const environment = { OVERDUE_SECRET_KEY: "hunter2", OVERDUE_DATABASE_URL: "mysql://u:hunter2@h/d" };
    expect(problemsOf(environment)).toHaveLength(2);
    expect(problemsOf(environment).join()).not.toContain("hunter2");
  });
});

test.each([
  ["OVERDUE_SMTP_PORT", "many", 'must be a port number from 1 to 65535, not "many".'],
  ["OVERDUE_OIDC_ISSUER", "id", 'must be a URL that starts with http:// or https://, not "id".'],
])("%s=%s is rejected in plain words", (key, text, problem) => {
  expect(problemsOf({ [key]: text })).toEqual([`${key} ${problem}`]);
});

test.each([
  "http://me:hunter2@h/?x",
  "me:hunter2@h",
  "http://me:hunter2@hunter2@h/",
  "http://hunter2@h/",
  `http://me:hunter2${"-hunter2".repeat(20)}@h/`,
])("an error does not repeat the login in %s", (text) => {
  for (const key of ["OVERDUE_SITE_URL", "OVERDUE_S3_ENDPOINT", "OVERDUE_SMTP_HOST"]) {
    const problems = problemsOf({ [key]: text });
    expect(problems).toHaveLength(1);
    expect(problems[0]).not.toContain("hunter2");
    expect(problems[0]).toContain(`${MASK}@h`);
  }
});

describe("output", () => {
  const environment = {
    OVERDUE_DATABASE_URL: "postgres://overdue:hunter2@db:5432/overdue",
    OVERDUE_SECRET_KEY: SECRET,
    SITE_ROOT: "https://a.example.org",
  };
  const { effective } = loadConfig(environment);

  test("the lines name value and source, secrets masked", () => {
    const text = renderEffective(effective);
    expect(text).toMatch(/^OVERDUE_SITE_URL +https:\/\/a\.example\.org +\(alias SITE_ROOT\)$/m);
    expect(text).toMatch(/^OVERDUE_CHECK_LIMIT +unlimited +\(default\)$/m);
    expect(text).toContain(`postgres://overdue:${MASK}@db:5432/overdue`);
    expect(text.split("\n")).toHaveLength(ALL.length + 1);
    expect(text).not.toMatch(/hunter2|0123456789/);
  });

  test("the JSON output is the same, with null for settings that are not set", () => {
    const json = effectiveAsJson(effective);
    expect(json["OVERDUE_CHECK_LIMIT"]).toEqual({ value: null, source: "default", from: null });
    expect(json["OVERDUE_SECRET_KEY"]).toEqual({
      value: MASK,
      source: "environment",
      from: "OVERDUE_SECRET_KEY",
    });
    expect(JSON.stringify(json)).not.toMatch(/hunter2|0123456789/);
  });

  test(".env.example names every setting and can be loaded with its comments removed", () => {
    const text = renderEnvExample();
    for (const [, { key }] of ALL) expect(text).toContain(`\n#${key}=`);
    const uncommented = Object.fromEntries(
      [...text.matchAll(/^#(OVERDUE_\w+)=(.*)$/gm)].map(([, key, value]) => [key, value]),
    );
    expect(Object.keys(uncommented)).toHaveLength(ALL.length);
    expect(problemsOf({ ...uncommented, OVERDUE_SECRET_KEY: SECRET })).toEqual([]);
  });

  test(".env.example in the repository is up to date", () => {
    const committed = readFileSync(join(SOURCES, "..", ".env.example"), "utf8");
    expect(committed).toBe(renderEnvExample());
  });
});

describe("the file .env of a folder", () => {
  afterEach(() => void vi.unstubAllEnvs());

  function folderWith(text: string): string {
    const made = mkdtempSync(join(folder, "started-in-"));
    writeFileSync(join(made, ".env"), text);
    return made;
  }

  test("its lines are settings, as printed by the setup page, and the environment takes precedence", () => {
    vi.stubEnv("OVERDUE_SITE_NAME", "of the environment");
    vi.stubEnv("OVERDUE_SMTP_HOST", " ");
    const read = environmentIn(
      folderWith(
        "# OVERDUE_LISTEN=0.0.0.0:1\nOVERDUE_SITE_NAME=of the file\nOVERDUE_SMTP_HOST=smtp.example.com\n" +
          'OVERDUE_MAIL_FROM=Overdue <overdue@example.com>\nOVERDUE_SMTP_USER=me\nOVERDUE_SMTP_PASSWORD="a#b"\n',
      ),
    );
    const { config } = loadConfig(read);
    expect(config).toMatchObject({
      siteName: "of the environment",
      smtpHost: "smtp.example.com",
      mailFrom: "Overdue <overdue@example.com>",
      smtpPassword: "a#b",
    });
    expect(config.listen.port).toBe(8_000);
  });

  test("lines of other programs are ignored, and misspelled ones of ours are rejected", () => {
    const read = environmentIn(folderWith("DB_HOST=elsewhere\nOVERDUE_SITE_NAMES=x\n"));
    expect(read["DB_HOST"]).toBeUndefined();
    expect(problemsOf(read)).toEqual([expect.stringContaining("Unknown setting OVERDUE_SITE_NAMES")]);
  });

  test("a folder without one, or with a folder of that name, adds no settings", () => {
    const made = mkdtempSync(join(folder, "started-in-"));
    expect(environmentIn(made)).toEqual(environmentWith({}));
    mkdirSync(join(made, ".env"));
    expect(environmentIn(made)).toEqual(environmentWith({}));
  });
});

describe("secrets in logs", () => {
  const values: Partial<Record<SettingName, string>> = {
    databaseUrl: "postgres://overdue:hunter2%40hunter2@db/overdue",
    outgoingProxy: "http://overdue:hunter2%40hunter2@proxy.example.org:3128",
    heartbeatUrl: "https://ping.example.org/hunter2-hunter2",
    logTopic: "kafka://overdue:hunter2%40hunter2@kafka-1:9092/overdue",
  };
  const secret = Object.entries(SETTINGS).filter(([, given]) => given.secret);
  const others = {
    OVERDUE_OIDC_ISSUER: "https://id.example.org",
    OVERDUE_OIDC_CLIENT_ID: "overdue",
    OVERDUE_SMTP_USER: "overdue",
    OVERDUE_SMTP_PASSWORD: "password-of-overdue",
  };

  test.each(secret)("%s is removed, with its name and without", (name, { key }) => {
    const value = values[name as SettingName] ?? "hunter2-hunter2-hunter2-hunter2-hunter2";
    const { config } = loadConfig({ ...others, [key]: value });
    const lines: string[] = [];
    const log = createLog({
      level: "info",
      ...knownSecrets(config),
      destination: { write: (line) => lines.push(line) },
    });
    log.info(`refused: ${value} and ${decodeURIComponent(value)}`);
    log.info({ config }, "settings");
    log.info({ err: new Error(`at ${new URL(value, "http://a/").pathname}`) }, "failed");
    expect(lines).toHaveLength(3);
    expect(lines.join()).not.toMatch(/hunter2.?hunter2/);
  });
});

test.each([
  ["OVERDUE_SMTP_PASSWORD", "OVERDUE_SMTP_USER"],
  ["OVERDUE_OIDC_CLIENT_ID", "OVERDUE_OIDC_ISSUER"],
  ["OVERDUE_OIDC_CLIENT_SECRET", "OVERDUE_OIDC_ISSUER"],
])("%s without %s is rejected", (key, missing) => {
  expect(problemsOf({ [key]: "something" })).toEqual([
    `${key} is set, but ${missing} is not. Set both, or neither.`,
  ]);
});

test.each([
  ["OVERDUE_SMTP_HOST", "smtp.example.org:587"],
  ["OVERDUE_SMTP_HOST", "https://smtp.example.org"],
  ["OVERDUE_SMTP_HOST", "smtp.example.org\nsmtp2.example.org"],
  ["OVERDUE_PING_MAIL_DOMAIN", ","],
  ["OVERDUE_PING_MAIL_DOMAIN", '"ping"'],
  ["OVERDUE_SITE_NAME", "Cron\nwatch"],
  ["OVERDUE_SITE_NAME", "x".repeat(101)],
  ["OVERDUE_OIDC_NAME", "Example\r\nID"],
  ["OVERDUE_OIDC_NAME", "x".repeat(101)],
  ["OVERDUE_TELEGRAM_TOKEN", "123456789:token\nof-the-bot"],
  ["OVERDUE_TELEGRAM_TOKEN", `1:${"x".repeat(300)}`],
  ["OVERDUE_NTFY_SH_TOKEN", "tk_secret\nof-ntfy"],
])("%s cannot be %j", (key, text) => {
  expect(problemsOf({ [key]: text })).toEqual([expect.stringMatching(`^${key} must `)]);
});

test.each(["localhost", "mail", "mail_relay", "127.0.0.1", "::1", "smtp.example.org.", "mail.exämple.org"])(
  "the mail server can be %s",
  (text) => {
    expect(loadConfig({ OVERDUE_SMTP_HOST: text }).config.smtpHost).toBe(text);
  },
);

test.each(["false", "none", "spool", "./spool"])("the spool folder cannot be %s", (text) => {
  expect(() => loadConfig({ OVERDUE_SPOOL_FOLDER: text })).toThrow(
    `OVERDUE_SPOOL_FOLDER must be an absolute path such as /var/lib/overdue, or off, not "${text}"`,
  );
});

test.each([
  ["OVERDUE_PING_RETENTION_DAYS", "0", "1 to 3650"],
  ["OVERDUE_FLIP_RETENTION_DAYS", "92", "93 to 3650"],
  ["OVERDUE_EVENT_RETENTION_DAYS", "3651", "93 to 3650"],
  ["OVERDUE_DELIVERY_RETENTION_DAYS", "29", "30 to 3650"],
  ["OVERDUE_AUDIT_RETENTION_DAYS", "a year", "30 to 3650"],
])("%s cannot be %j", (key, text, range) => {
  expect(problemsOf({ [key]: text })).toEqual([
    `${key} must be a whole number from ${range} (days), not ${JSON.stringify(text)}.`,
  ]);
});

test("deliveries cannot be kept for longer than the flips that they refer to", () => {
  expect(problemsOf({ OVERDUE_DELIVERY_RETENTION_DAYS: "94" })).toEqual([
    "OVERDUE_DELIVERY_RETENTION_DAYS is 94, but OVERDUE_FLIP_RETENTION_DAYS is 93, and a notification refers to a status change. Lower the first, or raise the second.",
  ]);
  const both = { OVERDUE_DELIVERY_RETENTION_DAYS: "94", OVERDUE_FLIP_RETENTION_DAYS: "94" };
  expect(problemsOf(both)).toEqual([]);
});
