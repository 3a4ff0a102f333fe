// Programs: real ones, in a temporary folder.
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readConfig } from "../../../src/channels/channel-config.ts";
import { shell } from "../../../src/channels/kinds/shell.ts";
import { kindNamed } from "../../../src/channels/registry.ts";
import type { AlertMessage } from "../../../src/core/message.ts";
import { DEDUPE_KEY, PROVIDERS, sampleChannel, sampleSender } from "../sample-kinds.ts";
import { ALL, CHECK, DOWN, downNamed, HOSTILE_NAMES, NOTICE, NOW, TEST, UP } from "../sample-messages.ts";

const CONFIG = { program_down: "it", program_up: "it", program_notice: "it" };

describe("a channel that runs programs", () => {
  let folder: string;
  const file = (name: string) => join(folder, name);
  const writeProgram = (script: string) => {
    writeFileSync(file("it"), `#!/bin/sh\n${script}\n`);
    chmodSync(file("it"), 0o755);
  };
  const send = (message: AlertMessage, config: Readonly<Record<string, unknown>> = CONFIG) => {
    const http = { send: () => Promise.reject(new Error("no request is sent")) };
    const sender = sampleSender({ http, providers: { ...PROVIDERS, shellFolder: folder } });
    const sending = { dedupeKey: DEDUPE_KEY, attempt: 2, now: NOW };
    return sender.send(sampleChannel("shell", config), message, sending);
  };

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "overdue-shell-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test.each(Object.entries(ALL))(
    "passes the message as JSON and in variables: %s",
    async (_name, message) => {
      writeProgram("cat >message; env >variables; echo done");
      expect(await send(message)).toEqual({ kind: "sent", summary: "run it", code: null, excerpt: "done" });
      const json = JSON.parse(readFileSync(file("message"), "utf8")) as Record<string, unknown>;
      expect(json).toMatchObject({ id: DEDUPE_KEY, title: expect.any(String), text: expect.any(String) });
      const variables = readFileSync(file("variables"), "utf8");
      expect(variables).toMatch(/^OVERDUE_STATUS=(down|up|notice)$/m);
      expect(variables).toMatch(/^OVERDUE_NAME=.+$/m);
      expect(variables).toContain(`OVERDUE_DEDUPE_KEY=${DEDUPE_KEY}\n`);
      expect(variables).toContain("OVERDUE_ATTEMPT=2\n");
      // The environment of the server has its secrets, and the UUID of a check is enough to send pings.
      expect(variables).not.toMatch(/^(?!OVERDUE_|PATH=|LANG=|PWD=|OLDPWD=|SHLVL=|_=)[A-Z_]+=/m);
      expect(variables + JSON.stringify(json)).not.toContain(CHECK.uuid);
    },
  );

  test.each([...HOSTILE_NAMES, "$(touch owned)", "`touch owned`; touch owned", "'; touch owned; '"])(
    "never interprets the name %j",
    async (name) => {
      writeProgram('cat >/dev/null; printf "%s" "$OVERDUE_NAME" >name');
      expect(await send(downNamed(name))).toMatchObject({ kind: "sent" });
      expect(existsSync(file("name"))).toBe(true);
      expect(existsSync(file("owned"))).toBe(false);
    },
  );

  test("runs a program again that asks for it, and no other that fails", async () => {
    writeProgram("echo 'the modem is busy' >&2; exit 75");
    expect(await send(DOWN)).toEqual({
      kind: "failed",
      permanent: false,
      inDoubt: false,
      retryAfterMs: null,
      summary: "run it",
      code: null,
      excerpt: null,
      reason: "The program requested another attempt: the modem is busy",
    });
    writeProgram("echo 'the modem is gone' >&2; exit 1");
    expect(await send(DOWN)).toMatchObject({
      permanent: true,
      keepsChannel: true,
      reason: "The program failed with exit status 1: the modem is gone",
    });
    writeProgram("kill -9 $$");
    expect(await send(DOWN)).toMatchObject({
      permanent: false,
      inDoubt: true,
      reason: "The program was killed",
    });
  });

  test("shows the end of a long error", async () => {
    writeProgram(
      "i=0; while [ $i -lt 3000 ]; do echo line $i >&2; i=$((i+1)); done; echo the end >&2; exit 1",
    );
    const result = await send(DOWN);
    expect(result).toMatchObject({ kind: "failed", reason: expect.stringMatching(/the end$/) });
    expect(JSON.stringify(result).length).toBeLessThan(1_000);
  });

  test("reports a program that is not there", async () => {
    const reason = "The program it does not exist";
    expect(await send(DOWN)).toMatchObject({ permanent: false, inDoubt: false, reason });
  });

  test("is off until an admin names a folder", async () => {
    const sender = sampleSender({ http: { send: () => Promise.reject(new Error("no request is sent")) } });
    const sending = { dedupeKey: DEDUPE_KEY, attempt: 1, now: NOW };
    const reason = expect.stringContaining("OVERDUE_SHELL_FOLDER is not set");
    expect(await sender.send(sampleChannel("shell", CONFIG), DOWN, sending)).toMatchObject({
      reason,
      inDoubt: false,
    });
    const keys = {} as Parameters<NonNullable<typeof shell.unavailable>>[0]["keys"];
    expect(shell.unavailable?.({ keys, providers: PROVIDERS })).toContain("OVERDUE_SHELL_FOLDER");
    expect(shell.unavailable?.({ keys, providers: { ...PROVIDERS, shellFolder: folder } })).toBeNull();
  });

  test("runs the program of the event, and any for a test", async () => {
    writeProgram('cat >/dev/null; echo "$OVERDUE_STATUS $OVERDUE_TEST"');
    const up = { program_up: "it" };
    expect(await send(UP, up)).toMatchObject({ kind: "sent", excerpt: "up" });
    expect(await send(TEST, up)).toMatchObject({ kind: "sent", excerpt: "up 1" });
    expect(await send(TEST, { program_notice: "it" })).toMatchObject({ kind: "sent", excerpt: "down 1" });
    expect(await send(NOTICE, up)).toMatchObject({ kind: "failed", permanent: false });
  });
});

test.each(["../it", "/bin/sh", "sub/it", ".hidden", "..", "-x", "a b", "it;id", "$(id)", "it\n", "é"])(
  "a program cannot be called %j",
  (program_down) => {
    const kind = kindNamed("shell");
    expect(kind !== null && readConfig(kind, { program_down }, { strict: true }).ok).toBe(false);
    expect(kind !== null && readConfig(kind, { program_down: "page-me.sh" }, { strict: true }).ok).toBe(true);
  },
);
