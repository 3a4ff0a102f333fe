// Text from outside is read in linear time: no parser and no regular expression takes longer than 50 ms for a megabyte,
// or for as much as its callers let through.
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { walk } from "../support/tidy-syntax.ts";
import { lineAt, readTree, type SourceFile } from "../support/tidy-tree.ts";
import { type HostileParser, PARSERS } from "./parsers.ts";
import { type Pattern, PATTERNS } from "./patterns.ts";
import { attacksOn, textOf } from "./regex-attacks.ts";

const LENGTH_MAX = 1024 * 1024;
const LIMIT_MS = 50;
/** What is too slow once may have been interrupted: the fastest of these counts. */
const TRIES = 6;
/** How many of the slowest patterns are read in full even if they are fast enough. */
const ALWAYS_IN_FULL = 1;

/** Parsers that take more than linear time exceed their share of the limit by far with a fraction of the text. */
const SAMPLE_LENGTH = LENGTH_MAX / 64;
const SAMPLE_MS = LIMIT_MS / 64;
/** Suspects are read at this length before the full one, which would take a quadratic parser minutes. */
const LONGER_LENGTH = LENGTH_MAX / 16;
/** Quadratic time is beyond this on any machine, linear time only on one that is very busy. */
const SUSPECT_MS = 10 * SAMPLE_MS;
/** Not even a machine that is ten times too slow for this takes so long for a sample of what is linear. */
const HOPELESS_MS = 10 * LIMIT_MS;

const samples = new Map<Pattern, string>();

/** So many characters of a pattern, laid out in memory before anything is measured. */
function hostileText(of: Pattern, length: number): string {
  const known = length === SAMPLE_LENGTH ? samples.get(of) : undefined;
  if (known !== undefined) return known;
  const [head, pump] = typeof of === "string" ? ["", of] : of;
  const text = textOf({ head, pump, tail: "" }, length).slice(0, length);
  const flat = Buffer.from(text, "utf16le").toString("utf16le");
  if (length === SAMPLE_LENGTH) samples.set(of, flat);
  return flat;
}

type Took = { wallMs: number; cpuMs: number };

/** `cpuMs` is this thread's time on the processor: other processes and the collector's threads do not count. */
async function timeOf(read: HostileParser["read"], text: string): Promise<Took> {
  const [startedAt, before] = [performance.now(), process.threadCpuUsage()];
  try {
    await read(text);
  } catch {
    // A refusal is as good as an answer.
  }
  const { user, system } = process.threadCpuUsage(before);
  return { wallMs: performance.now() - startedAt, cpuMs: (user + system) / 1_000 };
}

/** How many times slower than an idle machine this one is now: looking at a megabyte takes about 2 ms there. */
async function slowness(): Promise<number> {
  const rounds = 8;
  const { cpuMs } = await timeOf(
    (text) => {
      let sum = 0;
      for (let round = 0; round < rounds; round += 1) {
        for (let at = 0; at < text.length; at += 1) sum += text.charCodeAt(at);
      }
      expect(sum).toBeGreaterThan(0);
    },
    hostileText("a", LENGTH_MAX),
  );
  return Math.max(1, cpuMs / (2 * rounds));
}

/** The fastest of a few tries, in milliseconds of an idle machine; one that is fast enough needs no second. */
async function idleMilliseconds(read: HostileParser["read"], text: string): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < TRIES && best > LIMIT_MS; tries += 1) {
    const { wallMs, cpuMs } = await timeOf(read, text);
    best = Math.min(best, wallMs <= LIMIT_MS ? wallMs : cpuMs / (await slowness()));
    if (best > LIMIT_MS) await nextTurn();
  }
  return best;
}

/** How long a sample takes, at most its time on the processor: on a busy machine most of the time passes elsewhere. */
async function sampleMilliseconds(read: HostileParser["read"], text: string): Promise<number> {
  const first = await timeOf(read, text);
  if (first.wallMs <= SAMPLE_MS) return first.wallMs;
  const second = await timeOf(read, text);
  return Math.min(first.wallMs, first.cpuMs, second.wallMs, second.cpuMs);
}

/** The patterns that are read too slowly. All are read in short; the slow ones and the slowest in full. */
async function slowPatterns({ read, lengthMax = LENGTH_MAX }: HostileParser): Promise<string[]> {
  const slow: string[] = [];
  const sampled: { of: Pattern; took: number }[] = [];
  for (const of of PATTERNS) {
    const text = hostileText(of, Math.min(lengthMax, SAMPLE_LENGTH));
    sampled.push({ of, took: await sampleMilliseconds(read, text) });
  }
  sampled.sort((a, b) => b.took - a.took);
  const suspects = sampled.filter(({ took }, index) => index < ALWAYS_IN_FULL || took > SUSPECT_MS);
  for (const { of } of suspects) {
    const longer = hostileText(of, Math.min(lengthMax, LONGER_LENGTH));
    const longerTook = await sampleMilliseconds(read, longer);
    if (longerTook > HOPELESS_MS)
      slow.push(
        `${JSON.stringify(of).slice(0, 60)}: ${longerTook.toFixed(0)} ms of ${longer.length} characters`,
      );
    else if (lengthMax > SAMPLE_LENGTH) {
      const took = await idleMilliseconds(read, hostileText(of, Math.min(lengthMax, LENGTH_MAX)));
      if (took > LIMIT_MS) slow.push(`${JSON.stringify(of).slice(0, 60)}: ${took.toFixed(0)} ms`);
    }
  }
  return slow;
}

describe("50 ms are enough for a megabyte of anything, or for all that callers let through", () => {
  test.each(PARSERS)("$name", { timeout: 240_000 }, async (parser) => {
    expect(await slowPatterns(parser)).toEqual([]);
  });
});

/** Every length ends with what takes longer than it may: an exponential expression never sees the longest. */
const ATTACK_LENGTHS = [24, 300, 3_000, 16_000];
/** Linear expressions take a tenth of a millisecond for the longest of these, quadratic ones a hundred and more. */
const ATTACK_MS = 8;

/** The attack that a regular expression is slow on; null when there is none. */
function slowAttack(expression: RegExp): string | null {
  for (const attack of attacksOn(expression)) {
    const isSlow = ATTACK_LENGTHS.some((length) => {
      const text = textOf(attack, length);
      return Array.from({ length: TRIES }).every(() => {
        const startedAt = performance.now();
        text.replace(expression, "");
        return performance.now() - startedAt > ATTACK_MS;
      });
    });
    if (isSlow) return JSON.stringify(attack);
  }
  return null;
}

type Written = { place: string; expression: RegExp };

/** The regular expressions that are written as such in a file, and the places where one is put together. */
function expressionsIn(file: SourceFile): { written: Written[]; assembled: string[] } {
  const written: Written[] = [];
  const assembled: string[] = [];
  walk(file, (node) => {
    const place = `${file.path}:${lineAt(file.text, node.start)}`;
    const { regex, callee } = node as {
      regex?: { pattern: string; flags: string };
      callee?: { name?: string };
    };
    if (regex !== undefined) written.push({ place, expression: new RegExp(regex.pattern, regex.flags) });
    if (node.type === "NewExpression" && callee?.name === "RegExp") assembled.push(file.path);
  });
  return { written, assembled };
}

describe("A regular expression", () => {
  const files = [...readTree(`${import.meta.dirname}/../..`).files.values()].filter(
    ({ path }) => /^(src|web)\/.*\.tsx?$/.test(path) && !path.endsWith(".test.ts"),
  );
  const found = files.map(expressionsIn);

  test("takes linear time, whichever it is", { timeout: 240_000 }, () => {
    const all = found.flatMap(({ written }) => written);
    expect(all.length).toBeGreaterThan(200);
    const slow = all.flatMap(({ place, expression }) => {
      const attack = slowAttack(expression);
      return attack === null ? [] : [`${place} ${expression} ${attack}`];
    });
    expect(slow).toEqual([]);
  });

  test("that is put together at run time is known to this test", () => {
    expect([...new Set(found.flatMap(({ assembled }) => assembled))].toSorted()).toEqual(
      Object.keys(ASSEMBLED).toSorted(),
    );
  });

  test.each([
    /(a+)+$/,
    /\s+$/,
    /(:\/\/[^\s:/@"\\]*:)[^\s@"\\]+@/g,
    /^content-type:\s*(?:\r?\n\s+)?multipart\//im,
    /\bVersion\/.*\bSafari\//,
    /^\s*[-#+]/gm,
    /%.*$/,
  ])("that is slow is noticed: %s", (expression) => {
    expect(slowAttack(expression)).not.toBeNull();
  });
});

/** Files that assemble a regular expression, and why none of them can be made slow. */
const ASSEMBLED: Readonly<Record<string, string>> = {
  "src/channels/channel-config.ts": "patterns of channel schemas; read by readConfig above",
  "src/channels/kinds/matrix.ts": "has no repetition without a bound",
  "src/channels/message-text.ts": "read by printable above",
  "src/cli/private-postgres.ts": "reads /etc/passwd of the machine",
  "src/config/config.ts": "has no repetition without a bound",
  "src/contract/api/examples.ts": "reads fixed texts for the documentation only",
  "src/contract/check.ts": "patterns of check schemas; read by readCheckRequest above",
  "src/core/cells.ts": "has no repetition without a bound",
  "src/core/identity.ts": "has no repetition without a bound",
  "src/core/sign-in.ts": "read by readTypedCode above",
  "src/services/management/reference.ts": "has no repetition at all",
  "src/services/api/params.ts": "read by idempotencyKey above",
  "src/services/web/mail-pages.ts": "read by decodeWebPath above",
  "web/pages/events.tsx": "a pattern for the input field of a time",
};
