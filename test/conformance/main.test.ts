// The command itself, started as people start it: what it refuses, and that what it serves is there until it is
// interrupted and gone afterwards.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { afterAll, describe, expect, test } from "vitest";

const MAIN = join(import.meta.dirname, "main.ts");
const START_MS_MAX = 240_000;

type Command = ChildProcessByStdio<null, Readable, Readable>;

const folder = mkdtempSync(join(tmpdir(), "overdue-conformance-"));
afterAll(() => rmSync(folder, { recursive: true }));

function start(...args: string[]): Command {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.setEncoding("utf8");
  child.stderr.setEncoding("utf8");
  return child;
}

async function ended(child: Command): Promise<{ code: number | null; out: string; err: string }> {
  const said = { out: "", err: "" };
  child.stdout.on("data", (text: string) => {
    said.out += text;
  });
  child.stderr.on("data", (text: string) => {
    said.err += text;
  });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...said };
}

describe("The conformance command", () => {
  test.each([
    [["--only", "nothing"], "There is no such case."],
    [["--case", "No case is called this"], "There is no such case."],
    [["--dialect", "klingon"], "The dialects are standard and healthchecks."],
    [["--surprise"], "--surprise"],
  ])("refuses %j", async (args, complaint) => {
    const { code, err } = await ended(start(...args));
    expect(code).toBe(2);
    expect(err).toContain(complaint);
  });

  test("explains itself", async () => {
    const { code, out } = await ended(start("--help"));
    expect(code).toBe(0);
    expect(out).toContain("--serve FILE");
  });

  test.each(["SIGINT", "SIGTERM"] as const)(
    "serves until %s, and leaves nothing behind",
    async (signal) => {
      const file = join(folder, `${signal}.json`);
      const child = start("--serve", file, "--only", "channels");
      const end = ended(child);
      const died = end.then(({ err }) => Promise.reject(new Error(`it ended by itself: ${err}`)));
      died.catch(() => {});
      try {
        const [said = ""] = (await Promise.race([once(child.stdout, "data"), died])) as string[];
        const [site = "", mail = ""] = said.trim().split("\n");
        expect(mail).toMatch(/^127\.0\.0\.1:\d+ ping\.example\.org$/);
        const projects = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>[];
        const project = projects.find((one) => Object.hasOwn(one, "channels"));
        expect(projects).toHaveLength(19);
        const known = ["uuid", "api_key", "api_key_readonly", "ping_key", "channels"];
        expect(Object.keys(project ?? {})).toEqual(known);
        const url = new URL(`/ping/${String(project?.["ping_key"])}/no-such-check`, site);
        expect((await fetch(url)).status).toBe(404);
        child.kill(signal);
        expect(await end).toMatchObject({ code: 0, err: "" });
        await expect(fetch(url)).rejects.toThrow("fetch failed");
      } finally {
        child.kill("SIGTERM");
        await end;
      }
    },
    START_MS_MAX,
  );
});
