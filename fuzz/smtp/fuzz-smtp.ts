// Fuzzes the real process that receives mail: many malformed dialogues, a valid message among each twenty, and a
// verdict at the end. Valid messages go to separate checks, so that their records can be counted.
import { connect } from "node:net";
import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import type { Database } from "../../src/store/db.ts";
import { freePort } from "../../test/support/ports.ts";
import { sampleCheck, sampleProject } from "../../test/support/sample.ts";
import { chanceOf } from "../chance.ts";
import type { Attempt } from "../ping/malformed.ts";
import { countRecorded, type FuzzOptions, makeChecks, runFuzz } from "../run.ts";
import { emptyTally, note, type Tally } from "../tally.ts";
import { type MailTargets, malformedDialogue } from "./malformed.ts";

const DOMAIN = "ping.example.org";
const SLUG = "fuzzed";
const VALID_EVERY = 20;
const SENDERS = 16;
const TARGET_CHECKS = 20;
const VALID_CHECKS = 20;
const RESIDENT_BYTES_MAX = 768 * 1024 * 1024;
const MINUTES_MAX = 30;
/** After our last byte. A response takes 30 seconds at most; a busy machine gets more. */
const CLOSED_WITHIN_MS = 45_000;
const QUIET_MS = 1_000;
const AGAIN_AFTER_MS = 1_000;
const RESPONSE_LENGTH_MAX = 1_000_000;
/** Malformed dialogues come from one network, valid messages from another: limits are counted by network. */
const ATTACKER_ADDRESS = "127.0.0.2";
const BYSTANDER_ADDRESS = "127.0.0.3";
const ANSWER_LINE = /^[2-5]\d\d[ -]/;

type Dialogue =
  | { kind: "closed"; lines: readonly string[] }
  | { kind: "abandoned" }
  | { kind: "hung"; lines: readonly string[] }
  | { kind: "unreachable"; reason: string };

type Holding = {
  localAddress: string;
  /** Whether to wait for the greeting, as the protocol requires. */
  isPolite: boolean;
  /** After this long without a response we send no more; null: the dialogue ends with QUIT. */
  quietMs: number | null;
  closedWithinMs?: number;
};

/** Sends all pieces without waiting for responses, and waits until the server closes the connection. */
export async function holdDialogue(
  port: number,
  { pieces, end }: Pick<Attempt, "pieces" | "end">,
  { localAddress, isPolite, quietMs, closedWithinMs = CLOSED_WITHIN_MS }: Holding,
): Promise<Dialogue> {
  const socket = connect({ port, host: "127.0.0.1", localAddress, noDelay: true, allowHalfOpen: true });
  const { promise, resolve } = Promise.withResolvers<Dialogue>();
  let received = "";
  let isConnected = false;
  const lines = () => received.split("\r\n").filter((line) => line !== "");
  socket.setEncoding("utf8");
  socket.on("connect", () => (isConnected = true));
  const greeted = Promise.withResolvers<void>();
  const quiet = quietMs === null ? null : setTimeout(() => socket.end(), quietMs);
  socket.on("data", (text: string) => {
    greeted.resolve();
    quiet?.refresh();
    if (received.length < RESPONSE_LENGTH_MAX) received += text;
  });
  socket.on("error", (error) => {
    // A server that has responded may reset a connection whose bytes it does not read.
    if (!isConnected) resolve({ kind: "unreachable", reason: error.message });
    socket.destroy();
  });
  socket.on("end", () => socket.end());
  socket.on("close", () => {
    greeted.resolve();
    resolve({ kind: "closed", lines: lines() });
  });
  const timer = setTimeout(() => {
    resolve({ kind: "hung", lines: lines() });
    socket.destroy();
  }, closedWithinMs);
  if (isPolite) await greeted.promise;
  for (const piece of pieces) {
    if (socket.writable) socket.write(piece);
    if (pieces.length > 1) await nextTurn();
  }
  quiet?.refresh();
  if (end === "abandon") {
    await nextTurn();
    resolve({ kind: "abandoned" });
    socket.destroy();
  }
  const result = await promise;
  clearTimeout(timer);
  if (quiet !== null) clearTimeout(quiet);
  return result;
}

/** Why a server must never behave like this; null when it may. */
export function faultOf(result: Dialogue): string | null {
  if (result.kind === "abandoned") return null;
  if (result.kind !== "closed") return JSON.stringify(result).slice(0, 400);
  const odd = result.lines.find((line) => !ANSWER_LINE.test(line));
  return odd === undefined ? null : `an answer without a code: ${odd.slice(0, 100)}`;
}

type MailTally = Tally & { valid: number; deferred: number; slowestMs: number };

type World = { mailPort: number; targets: MailTargets; validUuids: readonly string[] };

/** Prints the responses and a verdict; true when nothing is wrong. */
export async function fuzzSmtp(options: FuzzOptions): Promise<boolean> {
  const { seed, triesAgainMax = 0 } = options;
  const tally: MailTally = { ...emptyTally(), valid: 0, deferred: 0, slowestMs: 0 };
  const mailPort = await freePort();
  return runFuzz(options, {
    name: "smtp",
    port: await freePort(),
    roles: "smtp",
    settings: {
      OVERDUE_PING_MAIL_LISTEN: `127.0.0.1:${mailPort}`,
      OVERDUE_PING_MAIL_DOMAIN: DOMAIN,
      OVERDUE_PING_MAIL_PEER_RATE: "0",
    },
    residentBytesMax: RESIDENT_BYTES_MAX,
    minutesMax: MINUTES_MAX,
    senders: SENDERS,
    tally,
    prepare: async ({ db }) => {
      const world: World = { mailPort, ...(await makeTargets(db)) };
      return {
        sendOne: (number) =>
          number % VALID_EVERY === 0
            ? sendValid(world, { number, tally, triesAgainMax })
            : sendMalformed(world, { seed, number, tally }),
        judge: () => judgeRecorded(db, world, tally),
        more: () =>
          `; ${tally.valid} valid messages answered 250 and recorded, the slowest took ${Math.round(tally.slowestMs)} ms`,
      };
    },
  });
}

async function makeTargets(db: Database): Promise<Pick<World, "targets" | "validUuids">> {
  const { id: projectId, pingKey } = await sampleProject(db);
  const reading = { filterSubject: true, filterBody: true, successKw: "done, ok", failureKw: "error" };
  const { uuid } = await sampleCheck(db, { projectId, slug: SLUG, ...reading });
  const others = await makeChecks(db, { projectId, count: TARGET_CHECKS, ...reading });
  return {
    targets: { domain: DOMAIN, uuids: [uuid, ...others], pingKey: pingKey ?? "", slug: SLUG },
    validUuids: await makeChecks(db, { projectId, count: VALID_CHECKS }),
  };
}

async function sendMalformed(
  { mailPort, targets }: World,
  { seed, number, tally }: { seed: number; number: number; tally: MailTally },
): Promise<void> {
  const chance = chanceOf({ seed, number });
  const attempt = malformedDialogue(chance, targets);
  const quietMs = chance.oneIn(10) ? 0 : QUIET_MS;
  const holding = { localAddress: ATTACKER_ADDRESS, isPolite: !chance.oneIn(20), quietMs };
  const result = await holdDialogue(mailPort, attempt, holding);
  note(tally, attempt.fault, outcomeOf(result));
  const fault = faultOf(result);
  if (fault !== null) tally.failures.push(`dialogue ${number} (${attempt.fault}): ${fault}`);
}

/** What a mail client would send, in one piece; the last response before the goodbye is that to the message. */
async function sendValid(
  { mailPort, validUuids }: World,
  { number, tally, triesAgainMax }: { number: number; tally: MailTally; triesAgainMax: number },
): Promise<void> {
  const to = `${validUuids[(number / VALID_EVERY) % validUuids.length]}@${DOMAIN}`;
  const dialogue = `EHLO b\r\nMAIL FROM:<job@example.org>\r\nRCPT TO:<${to}>\r\nDATA\r\nSubject: done\r\n\r\nok\r\n.\r\nQUIT\r\n`;
  const attempt = { pieces: [Buffer.from(dialogue)], end: "finish" } as const;
  const holding = { localAddress: BYSTANDER_ADDRESS, isPolite: true, quietMs: null };
  for (let again = 0; ; again += 1) {
    const startedAt = performance.now();
    const result = await holdDialogue(mailPort, attempt, holding);
    tally.slowestMs = Math.max(tally.slowestMs, performance.now() - startedAt);
    const answer = result.kind === "closed" ? (result.lines.at(-2) ?? "") : "";
    if (answer.startsWith("250 OK")) {
      tally.valid += 1;
      return note(tally, "valid", "250");
    }
    const isDeferred = /^4\d\d/.test(answer);
    if (isDeferred) tally.deferred += 1;
    if (!isDeferred || again >= triesAgainMax) {
      note(tally, "valid", outcomeOf(result));
      tally.failures.push(`dialogue ${number}, valid, was not accepted: ${JSON.stringify(result)}`);
      return;
    }
    await pause(AGAIN_AFTER_MS);
  }
}

/** The codes of the last two responses: that to the message or command, and the goodbye. */
function outcomeOf(result: Dialogue): string {
  if (result.kind !== "closed") return result.kind;
  const codes = result.lines.map((line) => line.slice(0, 3)).slice(1);
  return codes.length === 0 ? "closed" : [...new Set(codes.slice(-2))].join("+");
}

/** Counts the records of the valid messages. */
async function judgeRecorded(db: Database, { validUuids }: World, tally: MailTally): Promise<void> {
  const recorded = await countRecorded(db, validUuids);
  if (recorded < tally.valid || recorded > tally.valid + tally.deferred) {
    tally.failures.push(`${tally.valid} valid messages were answered 250, and ${recorded} are recorded`);
  }
}
