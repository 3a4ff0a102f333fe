// Every snippet of the check page, run for real against the real ping service wherever its interpreter is at hand: the
// job succeeds or fails, and the signals have to arrive as the snippet promises.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AcceptedSignal, SignalSource } from "../../src/core/signal.ts";
import type { Acceptance } from "../../src/intake/intake.ts";
import {
  type Facts,
  type Snippet,
  SNIPPETS,
  snippetText,
  type Variant,
  VARIANTS,
} from "../../web/pages/check-snippets.ts";
import { startPingServer, stopPingServers, type TestServer, UUID } from "../ping/ping-server.ts";
import { ADDRESS, type StartedServer, startMailServer } from "../smtp/server.ts";
import { reasonToSkip, runSnippet } from "./snippet-runners.ts";

let server: TestServer;
let mails: StartedServer;
let facts: Facts;

beforeAll(async () => {
  server = await startPingServer();
  mails = await startMailServer();
  facts = {
    url: `${server.origin}/ping/${UUID}`,
    mail: ADDRESS,
    cron: "0 3 * * *",
    calendar: "daily",
    isPostOnly: false,
  };
});
afterAll(async () => {
  await stopPingServers();
  await mails.server.stop();
});

type Arrived = { kind: string; rid: string | null };

/** What came in, in order. */
function arrivedSince(count: number): Arrived[] {
  return server.intake.signals.slice(count).map(({ source, rid }) => ({ kind: kindOf(source), rid }));
}

/** An exit status says by itself whether it was a success. */
function kindOf(source: SignalSource): string {
  if (source.by === "email") return source.by;
  const { action } = source;
  return typeof action === "string" ? action : action.exitStatus === 0 ? "success" : "fail";
}

/** Compiling takes long: of these each variant is run once, the least with a job that succeeds, the others with one that fails. */
const COMPILED = new Set(["go", "java", "rust"]);

function variantsToRun(snippet: Snippet): Variant[] {
  return VARIANTS.filter((variant) => snippet.texts[variant] !== undefined);
}

describe.each(SNIPPETS.map((snippet) => [snippet.label, snippet] as const))("%s", (_, snippet) => {
  for (const variant of variantsToRun(snippet)) {
    for (const isWell of COMPILED.has(snippet.name) ? [variant === "success"] : [true, false]) {
      test(`${variant}: the job ${isWell ? "succeeds" : "fails"}`, { timeout: 300_000 }, async ({ skip }) => {
        const reason = reasonToSkip(snippet.name);
        if (reason !== null) skip(reason);
        const text = snippetText(snippet, variant, facts);
        if (text === null) throw new Error("the snippet has no lines");
        // Whoever is told to come back later does, and the signal is not lost.
        if (variant === "success" && isWell && !NO_SECOND_TRY.includes(snippet.name))
          refuseOnce({ kind: "busy", retryAfterSeconds: 1 });
        const before = server.intake.signals.length;
        const mailsBefore = mails.signals.length;
        await runSnippet(snippet.name, { text, isWell, mailPort: mails.port });
        if (snippet.name === "mail") expectMailed(mails.signals.slice(mailsBefore));
        else expectPromise(arrivedSince(before), { variant, isWell });
      });
    }
  }
});

/** wget comes back after broken connections only, and a mail is brought by whoever took it. */
const NO_SECOND_TRY = ["wget", "mail"];

/** Refuses the next signal, and none after it. */
function refuseOnce(refusal: Acceptance): void {
  server.intake.acceptance = async () => {
    server.intake.acceptance = null;
    return refusal;
  };
}

const SHELLS = ["crontab", "systemd", "bash", "wget", "docker", "kubernetes", "github", "gitlab", "restic"];

test.each(SHELLS)(
  "%s: a start that cannot be sent keeps no job from running",
  { timeout: 300_000 },
  async (name) => {
    const snippet = SNIPPETS.find((one) => one.name === name);
    const text = snippet === undefined ? null : snippetText(snippet, "whole", facts);
    if (text === null) throw new Error("the snippet has no lines");
    const before = server.intake.signals.length;
    refuseOnce({ kind: "unknown" });
    await runSnippet(name, { text, isWell: true, mailPort: mails.port });
    expect(arrivedSince(before)).toEqual([{ kind: "success", rid: null }]);
  },
);

/** However the job went: one mail, with what it printed. */
function expectMailed(came: readonly AcceptedSignal[]): void {
  expect(came.map(({ source }) => source.by)).toEqual(["email"]);
  expect(new TextDecoder().decode(came[0]?.body ?? undefined)).toContain("worked");
}

function expectPromise(came: Arrived[], { variant, isWell }: { variant: Variant; isWell: boolean }): void {
  if (variant === "success") {
    expect(came.map(({ kind }) => kind)).toEqual(isWell ? ["success"] : []);
    return;
  }
  expect(came.map(({ kind }) => kind)).toEqual(["start", isWell ? "success" : "fail"]);
  const rids = new Set(came.map(({ rid }) => rid));
  expect(rids.size).toBe(1);
  if (variant === "rid") expect([...rids][0]).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  else expect([...rids][0]).toBeNull();
}

test("every snippet gives up after ten seconds and tries again", () => {
  for (const snippet of SNIPPETS) {
    for (const variant of VARIANTS) {
      const text = snippetText(snippet, variant, facts);
      // borgmatic and mail do it by themselves; a router is asked again by its own clock.
      if (text === null || ["borgmatic", "mail", "mikrotik"].includes(snippet.name)) continue;
      expect(text, `${snippet.name} ${variant}`).toMatch(
        /-m 10|"-m", "10"|-T 10|timeout.{0,20}10|Timeout.{0,30}10/is,
      );
      expect(text, `${snippet.name} ${variant}`).toMatch(/retry|-t 5|attempt|retries/i);
    }
  }
});

test("a check that takes POST only is sent POST by every shell", () => {
  for (const name of SHELLS) {
    const snippet = SNIPPETS.find((one) => one.name === name);
    const text = snippet && snippetText(snippet, "success", { ...facts, isPostOnly: true });
    expect(text, name).toMatch(/-X POST|--post-data/);
  }
});
