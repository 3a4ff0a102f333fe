// Profiles: `overdue login` and `logout`, and how other commands use what they save.
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { environmentWith } from "../../src/config/config.ts";
import { useCast } from "../management/cast.ts";
import { callOverdue, endOf, type Environment, type Typed } from "./run-overdue.ts";

const cast = useCast({ settings: { OVERDUE_API_RATE_LIMIT: "0" } });
const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

const TYPE_AFTER_MS = 1_000;
let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "overdue-profiles-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const path = () => join(folder, "overdue/profiles.json");
const saved = () => JSON.parse(readFileSync(path(), "utf8")) as Record<string, unknown>;
const overdue = (args: string[], typed: Typed = {}, environment: Environment = {}) =>
  callOverdue(args, { XDG_CONFIG_HOME: folder, ...environment }, typed);

async function login(name: string, key: string, ...args: string[]): Promise<void> {
  const { code, out, err } = await overdue(["login", "--url", cast.site, "--profile", name, ...args], {
    input: `${key}\n`,
  });
  expect([code, err]).toEqual([0, ""]);
  if (key !== "") expect(out).not.toContain(key);
}

describe("overdue login", () => {
  test("asks for the server and the key, checks the key, and saves both for the owner only", async () => {
    const { code, out, err } = await overdue(["login"], { answers: [cast.site, cast.owner.rw] });
    expect([code, out]).toEqual([
      0,
      `Saved profile "default", the default: read-write key of Project of the owner at ${cast.site}.\n`,
    ]);
    expect(err).toBe("Server URL [http://localhost:8000]: \nAPI key (not shown): (hidden)\n");
    expect(saved()).toEqual({
      default: "default",
      profiles: { default: { url: cast.site, key: cast.owner.rw } },
    });
    expect([statSync(path()).mode & 0o777, statSync(join(folder, "overdue")).mode & 0o777]).toEqual([
      0o600, 0o700,
    ]);
    expect((await overdue(["checks", "list"])).code).toBe(0);
  });

  test("saves nothing if the server refuses the key", async () => {
    const { code, err } = await overdue(["login", "--url", cast.site], { input: "x".repeat(32) });
    expect([code, err]).toEqual([1, expect.not.stringContaining("xxx")]);
    expect(existsSync(path())).toBe(false);
    expect((await overdue(["login", "--url", cast.site])).err).toContain("No API key was entered.");
  });

  test("keeps several profiles with a default", async () => {
    await login("one", cast.owner.rw);
    await login("two", cast.stranger.ro);
    const whoami = async (args: string[], environment: Environment = {}) =>
      (JSON.parse((await overdue(["whoami", "--json", ...args], {}, environment)).out) as { profile: string })
        .profile;
    expect(await whoami([])).toBe("one");
    expect(await whoami(["--profile", "two"])).toBe("two");
    expect(await whoami([], { OVERDUE_PROFILE: "two" })).toBe("two");
    expect((await overdue(["login", "--use", "two"])).out).toBe('"two" is the default profile now.\n');
    expect(await whoami([])).toBe("two");
    expect((await overdue(["login", "--list"])).out).toBe(
      `PROFILE  URL\none      ${cast.site}\ntwo      ${cast.site}  default\n`,
    );
    expect((await overdue(["logout"])).out).toContain('Deleted profile "two".');
    expect(saved()).toMatchObject({ default: "one" });
    expect((await overdue(["logout", "--profile", "two"])).err).toContain('No profile "two"');
  });

  test("can refer to a file or a command, which is read each time", async () => {
    const file = join(folder, "key");
    writeFileSync(file, `${cast.owner.rw}\n`);
    await login("file", "", "--key-from", `file:${file}`);
    await login("command", "", "--key-from", `command:cat '${file}'`);
    expect(readFileSync(path(), "utf8")).not.toContain(cast.owner.rw);
    for (const profile of ["file", "command"]) {
      expect((await overdue(["checks", "list", "--profile", profile])).code).toBe(0);
    }
    rmSync(file);
    expect((await overdue(["checks", "list"])).code).toBe(1);
    const { code, err } = await overdue(["checks", "list", "--profile", "command"]);
    expect([code, err]).toEqual([1, expect.stringContaining("ended with exit code 1")]);
  });

  test("refuses a key as an argument", async () => {
    const { code, err } = await overdue(["login", "--key-from", cast.owner.rw]);
    expect([code, err]).toEqual([2, expect.stringContaining("must begin with file: or command:")]);
    expect(err).not.toContain(cast.owner.rw);
  });

  test.skipIf(spawnSync("script", ["--version"]).status !== 0)(
    "does not show the key on a terminal",
    async () => {
      const command = `${process.execPath} ${MAIN} login --url ${cast.site}`;
      const child = spawn("script", ["-qec", command, "/dev/null"], {
        env: environmentWith({ XDG_CONFIG_HOME: folder }),
      });
      // Typed only when the question is there, as people do: before, the terminal would show it.
      let isTyped = false;
      child.stdout.on("data", (text: string) => {
        if (isTyped || !text.includes("API key")) return;
        isTyped = true;
        setTimeout(() => child.stdin.write(`x\u007f${cast.owner.rw}\r`), TYPE_AFTER_MS);
      });
      const { code, out } = await endOf(child);
      expect([code, out]).toEqual([
        0,
        expect.stringMatching(/^API key \(not shown\): \s+Saved profile "default"/),
      ]);
      expect(out).not.toContain(cast.owner.rw);
      expect(saved()).toMatchObject({ profiles: { default: { key: cast.owner.rw } } });
    },
  );
});

async function listening(handler: RequestListener): Promise<[Server, string]> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return [server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`];
}

describe("a key goes only to the address it was saved with", () => {
  test("another URL is refused", async () => {
    await login("one", cast.owner.rw);
    const other = "http://127.0.0.1:1";
    for (const [args, environment] of [
      [["--url", other], {}],
      [[], { OVERDUE_SITE_URL: other }],
    ] as const) {
      const { code, err } = await overdue(["whoami", ...args], {}, environment);
      expect([code, err]).toEqual([2, expect.stringContaining(`is for ${cast.site}`)]);
    }
    expect((await overdue(["whoami", "--profile", "one"], {}, { OVERDUE_SITE_URL: other })).code).toBe(0);
  });

  test("redirects are not followed", async () => {
    const asked: string[] = [];
    const [elsewhere, target] = await listening((request, response) => {
      asked.push(String(request.headers["x-api-key"]));
      response.end("{}");
    });
    const [redirecting, OVERDUE_SITE_URL] = await listening((_, response) => {
      response.writeHead(307, { Location: `${target}/` }).end();
    });
    const { code, err } = await overdue(["whoami"], {}, { OVERDUE_SITE_URL, OVERDUE_API_KEY: cast.owner.rw });
    elsewhere.close();
    redirecting.close();
    expect([code, err, asked]).toEqual([1, expect.stringContaining("responded with status 307"), []]);
  });

  test("OVERDUE_API_KEY comes before profiles", async () => {
    await login("one", cast.owner.rw);
    const environment = {
      OVERDUE_SITE_URL: cast.site,
      OVERDUE_API_KEY: cast.owner.ro,
      OVERDUE_PROFILE: "one",
    };
    expect((await overdue(["whoami"], {}, environment)).out).toContain("read-only");
    const both = await overdue(["whoami", "--profile", "one"], {}, environment);
    expect([both.code, both.err]).toEqual([
      2,
      expect.stringContaining("OVERDUE_API_KEY is set, so --profile"),
    ]);
  });
});

describe("the file of profiles", () => {
  test("is refused if others can read it", async () => {
    await login("one", cast.owner.rw);
    chmodSync(path(), 0o640);
    const { code, err } = await overdue(["whoami"]);
    expect([code, err]).toEqual([2, expect.stringContaining(`chmod 600 ${path()}`)]);
  });

  test.each([
    "",
    "{",
    "[]",
    '{"profiles":1}',
    '{"profiles":{"a":{"url":"x","key":"planted"}}}',
    '{"default":"b","profiles":{}}',
  ])("is refused if it is damaged: %s", async (text) => {
    await login("one", cast.owner.rw);
    writeFileSync(path(), text);
    for (const args of [["whoami"], ["login", "--list"], ["logout"]]) {
      const { code, err } = await overdue(args);
      expect([code, err]).toEqual([2, expect.stringContaining("is damaged. Correct it, or delete it")]);
      expect(err).not.toContain("planted");
    }
  });

  test.each(["", "../x", "a b", "x".repeat(65)])("a name can't be %j", async (name) => {
    const { code, err } = await overdue(["login", "--url", cast.site, "--profile", name], {
      input: cast.owner.rw,
    });
    expect([code, err]).toEqual([2, expect.stringContaining("Invalid profile name")]);
  });

  test("an unknown profile is an error", async () => {
    const { code, err } = await overdue(["whoami", "--profile", "gone"]);
    expect([code, err]).toEqual([2, expect.stringContaining("overdue login --profile gone")]);
  });
});
