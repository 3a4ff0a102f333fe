// The command line without a database: help, mistakes, settings.
import { describe, expect, test, vi } from "vitest";
import { callOverdue, endOf, runOverdue, startOverdue } from "./run-overdue.ts";

vi.setConfig({ testTimeout: 120_000 });

describe("help", () => {
  test("--help names every command, with examples and exit codes", async () => {
    const { code, out, err } = await runOverdue(["--help"]);
    expect(code).toBe(0);
    expect(err).toBe("");
    for (const word of ["serve", "migrate", "config", "prune", "admin", "Examples:", "Exit codes:"])
      expect(out).toContain(word);
  });

  test.each([["trial"], ["serve"], ["migrate"], ["config"], ["prune"], ["admin"]])(
    "%s --help has examples",
    async (command) => {
      const { code, out } = await callOverdue([command, "--help"]);
      expect(code).toBe(0);
      expect(out).toContain("Examples:");
    },
  );

  test("--version prints the version of the package", async () => {
    const { code, out } = await runOverdue(["--version"]);
    expect(code).toBe(0);
    expect(out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe("a process loads only what it needs", () => {
  /** Writes the URL of every module that is loaded to standard error. */
  const LOG_LOADS = `import { registerHooks } from "node:module";
    import { writeSync } from "node:fs";
    registerHooks({ load: (url, context, next) => { writeSync(2, "loaded " + url + "\\n"); return next(url, context); } });`;

  /** The own files, and the packages. */
  async function loadedBy(args: readonly string[], environment: Record<string, string> = {}) {
    const hook = `--import=data:text/javascript,${encodeURIComponent(LOG_LOADS)}`;
    const { err } = await runOverdue(args, { ...environment, NODE_OPTIONS: hook });
    const urls = [...err.matchAll(/^loaded file:(\S+)$/gm)].map(([, url = ""]) => url);
    const packageOf = (url: string) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1];
    return {
      files: urls.flatMap((url) => /\/(src\/.*)/.exec(url)?.[1] ?? []),
      packages: new Set(urls.flatMap((url) => packageOf(url) ?? [])),
    };
  }

  test("--version: nothing", async () => {
    expect(await loadedBy(["--version"])).toEqual({ files: ["src/main.ts"], packages: new Set() });
  });

  test.each([
    [["--help"]],
    [["help"]],
    [["help", "admin"]],
    [["checks", "--help"]],
    [["completion", "bash"]],
    [["login", "--list"]],
    [["serve", "--roles", "housekeeping"]],
  ])("%j: no database, no server", async (args) => {
    const { files, packages } = await loadedBy(args);
    expect(files).toContain("src/cli/program.ts");
    expect([...packages]).toEqual(["commander"]);
    expect(files.filter((file) => file.startsWith("src/roles/"))).toEqual(["src/roles/names.ts"]);
  });

  test.each(["ping", "sweeper", "housekeeper"])("the role %s: no other role", async (role) => {
    const { files, packages } = await loadedBy(["serve", "--roles", role], {
      OVERDUE_DATABASE_URL: "postgres://overdue@127.0.0.1:1/overdue",
      OVERDUE_DATABASE_WAIT: "0",
      OVERDUE_ADMIN_LISTEN: "127.0.0.1:0",
    });
    expect(files).toContain("src/roles/roles.ts");
    expect([...packages]).toContain("pg");
    for (const name of ["fastify", "node-pg-migrate", "nodemailer", "smtp-server", "typebox", "undici"])
      expect([...packages]).not.toContain(name);
    expect(files.filter((file) => /^src\/services\/(?!ping\/)/.test(file))).toEqual([]);
  });
});

describe("mistakes end with code 2 and a hint, never with a stack trace", () => {
  test.each([
    ["an unknown command", ["migrat"], "Did you mean migrate?"],
    ["an unknown admin command", ["admin", "acount"], "Did you mean account?"],
    ["an unknown option", ["config", "--jsn"], "Did you mean --json?"],
    ["a missing option", ["admin", "create-account"], "--email"],
    [
      "a limit that is no number",
      ["admin", "set-check-limit", "--account", "a@b", "--limit", "many"],
      "whole number",
    ],
    ["minutes that are no number", ["prune", "--minutes", "soon"], "number of minutes"],
    ["a project that is no UUID", ["admin", "create-keys", "--project", "7"], "Expected a UUID"],
    [
      "a kind of key that there is not",
      ["admin", "create-keys", "--kind", "x"],
      "read-write, read-only, both",
    ],
    ["no database", ["migrate"], "OVERDUE_DATABASE_URL is not set"],
  ])("%s", async (_name, args, hint) => {
    const { code, out, err } = await callOverdue(args);
    expect(err).toContain(hint);
    expect(err).not.toMatch(/^\s+at /m);
    expect(out).toBe("");
    expect(code).toBe(2);
  });
});

test("without arguments, it prints help, and under npx it starts the trial", async () => {
  const { code, out } = await callOverdue([]);
  expect([code, out]).toEqual([0, (await callOverdue(["--help"])).out]);
  // The trial is refused here, which shows that it was called.
  const OVERDUE_DATABASE_URL = "postgres://overdue@127.0.0.1:1/overdue";
  const { err } = await callOverdue([], { npm_command: "exec", OVERDUE_DATABASE_URL });
  expect(err).toContain("the trial is not available");
});

test.each([["admin"], ["admin", "channel"], ["admin", "quarantine"]])(
  "a missing command ends with code 2, also when nothing reads standard error: %s %s",
  async (...args) => {
    expect((await callOverdue(args)).code).toBe(2);
    const child = startOverdue(args);
    child.stderr.destroy();
    expect((await endOf(child)).code).toBe(2);
  },
);

test("an unknown role is refused by the process, with the nearest name", async () => {
  const { code, out, err } = await runOverdue(["serve", "--roles", "housekeeping"]);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain('Unknown role "housekeeping". Did you mean housekeeper?');
});

test("overdue config refuses an unknown role, as overdue serve does", async () => {
  const { code, out, err } = await runOverdue(["config"], { OVERDUE_ROLES: "ping,housekeeping" });
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err).toContain('Unknown role "housekeeping". Did you mean housekeeper?');
});

describe("overdue config", () => {
  test("prints value and source of every setting, secrets masked", async () => {
    const { code, out } = await runOverdue(["config"], {
      OVERDUE_DATABASE_URL: "postgres://overdue:hunter2hunter2@db/overdue",
      OVERDUE_SECRET_KEY: "hunter2".repeat(6),
      SITE_ROOT: "https://overdue.example.org",
    });
    expect(code).toBe(0);
    expect(out).toMatch(/OVERDUE_SITE_URL +https:\/\/overdue\.example\.org +\(alias SITE_ROOT\)/);
    expect(out).toContain("postgres://overdue:********@db/overdue");
    expect(out).not.toContain("hunter2");
  });

  test("--json prints one object", async () => {
    const { out } = await callOverdue(["config", "--json"], { OVERDUE_CHECK_LIMIT: "7" });
    expect(JSON.parse(out)).toMatchObject({
      OVERDUE_CHECK_LIMIT: { value: "7", source: "environment", from: "OVERDUE_CHECK_LIMIT" },
      OVERDUE_API_URL: { value: null, source: "default", from: null },
    });
  });

  test("--example prints the settings even though those in effect are wrong", async () => {
    const { code, out } = await callOverdue(["config", "--example"], { OVERDUE_BANANA: "1" });
    expect(code).toBe(0);
    expect(out).toContain("#OVERDUE_DATABASE_URL=");
  });

  test("reports all problems at once, on standard error, with code 2", async () => {
    const { code, out, err } = await runOverdue(["config"], {
      OVERDUE_SITE_ULR: "https://x",
      OVERDUE_CHECK_LIMIT: "many",
      OVERDUE_SECRET_KEY_FILE: "/no/such/file",
      OVERDUE_DATABASE_URL: "mysql://u:hunter2@h/d",
    });
    expect(code).toBe(2);
    expect(out).toBe("");
    expect(err).toContain("Did you mean OVERDUE_SITE_URL?");
    expect(err).toContain(
      'OVERDUE_CHECK_LIMIT must be a whole number from 0 to 1000000000 (checks), not "many".',
    );
    expect(err).toContain("OVERDUE_SECRET_KEY_FILE is set to /no/such/file");
    expect(err).toContain("OVERDUE_DATABASE_URL must look like");
    expect(err).not.toContain("hunter2");
  });
});
