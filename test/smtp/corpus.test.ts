// Every message of the corpus, sent over the wire to the real server, becomes the signal that is expected of it; and a
// wrong expectation of each kind would be noticed.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DEFAULT_SETTINGS } from "../../src/core/check.ts";
import { classifyEmail, type SignalKind } from "../../src/core/signal.ts";
import { type MailClient, mailClient } from "./client.ts";
import { CORPUS } from "./corpus/corpus.ts";
import type { Entry } from "./corpus/message.ts";
import { DOMAIN, type StartedServer, startMailServer } from "./server.ts";

const KEPT_BYTES = 1024 * 1024;
const KINDS = ["success", "start", "fail", "ign"] as const satisfies SignalKind[];

let started: StartedServer | undefined;
let client: MailClient | undefined;

beforeAll(async () => {
  started = await startMailServer({ keptBytes: KEPT_BYTES });
  client = await mailClient(started);
});

afterAll(async () => {
  client?.close();
  await started?.server.stop();
});

/** What is wrong with what became of a message; null when it is as expected. */
async function complaint(entry: Entry, { uuid }: { uuid: string }): Promise<string | null> {
  if (started === undefined || client === undefined) throw new Error("the server is not there");
  const { signals } = started;
  const from = entry.sender ?? "job@example.org";
  const answer = await client.send(entry.message, { from, to: [`${uuid}@${DOMAIN}`] });
  if (answer !== "250 OK") return `answered ${answer}`;
  const signal = signals.pop();
  if (signal?.source.by !== "email") return "no signal came of it";
  const { subject, text } = signal.source;
  const kind = classifyEmail({ subject, body: text }, { ...DEFAULT_SETTINGS, ...entry.check });
  if (kind !== entry.expected) {
    return `is ${kind}, not ${entry.expected}: ${JSON.stringify({ subject, text: text.slice(0, 200) })}`;
  }
  if (signal.ua !== `Email from ${from === "" ? "<>" : from}`) return `is from ${signal.ua}`;
  const kept = Buffer.from(signal.body ?? []);
  const wanted = endedLine(entry.message).subarray(0, KEPT_BYTES);
  return kept.equals(wanted) ? null : `${kept.length} bytes are kept, not the ${wanted.length} that came`;
}

/** A message on the wire always ends with a line. */
function endedLine(message: Buffer): Buffer {
  const isEnded = message.length === 0 || message.subarray(-2).toString() === "\r\n";
  return isEnded ? message : Buffer.concat([message, Buffer.from("\r\n")]);
}

/** A check for each, so that none uses up the bytes of another. */
const uuidOf = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`;

describe("The corpus", () => {
  test("is large enough, and every kind of signal is expected often enough", () => {
    const counts = Object.fromEntries(
      KINDS.map((kind) => [kind, CORPUS.filter(({ expected }) => expected === kind).length]),
    );
    console.log(`smtp corpus: ${CORPUS.length} messages ${JSON.stringify(counts)}`);
    expect(CORPUS.length).toBeGreaterThanOrEqual(60);
    expect(CORPUS.length - (counts["success"] ?? 0)).toBeGreaterThanOrEqual(15);
    expect(new Set(CORPUS.map(({ name }) => name)).size).toBe(CORPUS.length);
  });

  test.each(CORPUS.map((entry, index) => ({ ...entry, index })))("$name: $expected", async (entry) => {
    expect(await complaint(entry, { uuid: uuidOf(entry.index) })).toBeNull();
  });

  test.each(KINDS)("notices when %s is expected wrongly", async (kind) => {
    const index = CORPUS.findIndex(({ expected }) => expected === kind);
    const entry = CORPUS[index];
    if (entry === undefined) throw new Error(`no message is expected as ${kind}`);
    for (const planted of KINDS.filter((other) => other !== kind)) {
      const found = await complaint({ ...entry, expected: planted }, { uuid: uuidOf(1_000) });
      expect(found).toContain(`is ${kind}, not ${planted}`);
    }
  });
});
