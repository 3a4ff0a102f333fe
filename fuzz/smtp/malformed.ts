// Randomly generated malformed dialogues: each kind of fault has a name, and the bytes follow from the random source
// alone. Some are merely unusual.
import { PATTERNS } from "../../test/hostile/patterns.ts";
import type { Chance } from "../chance.ts";
import type { Attempt } from "../ping/malformed.ts";

export type MailTargets = {
  domain: string;
  uuids: readonly [string, ...string[]];
  pingKey: string;
  slug: string;
};

type Fault = (chance: Chance, targets: MailTargets) => readonly (string | Buffer)[];

const LONG_MAX = 20_000;
const MESSAGE_LENGTH_MAX = 200_000;
const [FIRST_PATTERN = "a", ...OTHER_PATTERNS] = PATTERNS;

/** A repeated hostile pattern. */
function hostile(chance: Chance, lengthMax: number): string {
  const of = chance.pick([FIRST_PATTERN, ...OTHER_PATTERNS]);
  const [head, pump] = typeof of === "string" ? ["", of] : of;
  const length = 1 + chance.below(chance.oneIn(4) ? lengthMax : Math.min(lengthMax, 2_000));
  return (head + pump.repeat(Math.ceil(length / pump.length))).slice(0, length);
}

function recipient(chance: Chance, { domain, uuids, pingKey, slug }: MailTargets): string {
  const uuid = uuids[chance.below(uuids.length)] ?? uuids[0];
  return chance.oneIn(4) ? `${pingKey}+${slug}@${domain}` : `${uuid}@${domain}`;
}

/** A dialogue up to its message, in one piece, without waiting for responses. */
function upToData(chance: Chance, targets: MailTargets): string {
  return `EHLO a\r\nMAIL FROM:<a@example.org>\r\nRCPT TO:<${recipient(chance, targets)}>\r\nDATA\r\n`;
}

/** Lines that begin with a dot get a second one, as the protocol requires. */
function stuffed(message: string): string {
  return message.replace(/^\./gm, "..");
}

/** A normal message, and the end of the dialogue. */
function whole(chance: Chance, targets: MailTargets, message: string): readonly string[] {
  return [upToData(chance, targets), stuffed(message), "\r\n.\r\nQUIT\r\n"];
}

const header =
  (name: string): Fault =>
  (chance, targets) =>
    whole(chance, targets, `${name}: ${hostile(chance, MESSAGE_LENGTH_MAX)}\r\nSubject: a\r\n\r\nb`);

const body =
  (headers: string): Fault =>
  (chance, targets) =>
    whole(chance, targets, `${headers}\r\n\r\n${hostile(chance, MESSAGE_LENGTH_MAX)}`);

const FAULTS: Readonly<Record<string, Fault>> = {
  "random bytes": (chance) => [chance.bytes(1 + chance.below(LONG_MAX))],
  "long command": (chance) => [
    `${chance.pick(["EHLO ", "MAIL FROM:<", "NOOP ", ""])}${"a".repeat(chance.below(LONG_MAX))}\r\n`,
  ],
  "hostile command": (chance) => [
    `${chance.pick(["EHLO ", "HELO ", "MAIL FROM:", "EHLO a\r\nMAIL FROM:", "RCPT TO:", "VRFY ", "HELP ", "AUTH "])}${hostile(chance, 3_000)}\r\nQUIT\r\n`,
  ],
  "hostile sender": (chance) => [`EHLO a\r\nMAIL FROM:<${hostile(chance, 1_500)}>\r\nQUIT\r\n`],
  "hostile recipient": (chance, { domain }) => [
    `EHLO a\r\nMAIL FROM:<a@example.org>\r\nRCPT TO:<${hostile(chance, 1_000)}@${domain}>\r\nQUIT\r\n`,
  ],
  "hostile parameter": (chance) => [
    `EHLO a\r\nMAIL FROM:<a@example.org> ${hostile(chance, 1_500)}\r\nQUIT\r\n`,
  ],
  "no line end": (chance) => [chance.pick(["EHLO", "QUIT", "MAIL FROM:<a@example.org>", "", "\r", "DATA"])],
  "bare line feeds": (chance, targets) => [
    upToData(chance, targets).replaceAll("\r\n", "\n"),
    "a\n.\nQUIT\n",
  ],
  "bare returns": (chance, targets) => [upToData(chance, targets).replaceAll("\r\n", "\r")],
  "out of order": (chance, targets) =>
    Array.from({ length: 1 + chance.below(30) }, () =>
      chance.pick([
        "DATA\r\n",
        "RSET\r\n",
        "NOOP\r\n",
        "EHLO a\r\n",
        "HELO a\r\n",
        `RCPT TO:<${recipient(chance, targets)}>\r\n`,
        "MAIL FROM:<>\r\n",
        "STARTTLS\r\n",
        "BDAT 10 LAST\r\n",
        "AUTH PLAIN AGEAYQ==\r\n",
        "XCLIENT ADDR=127.0.0.9\r\n",
        "VRFY a\r\n",
        ".\r\n",
        "QUIT\r\n",
      ]),
    ),
  "many recipients": (chance, targets) => [
    "EHLO a\r\nMAIL FROM:<>\r\n",
    Array.from({ length: 150 }, () => `RCPT TO:<${recipient(chance, targets)}>\r\n`).join(""),
    "DATA\r\na\r\n.\r\nQUIT\r\n",
  ],
  "unknown mailbox": (chance, { domain }) => [
    `EHLO a\r\nMAIL FROM:<a@example.org>\r\nRCPT TO:<${crypto.randomUUID().replace(/^./, String(chance.below(10)))}@${domain}>\r\nDATA\r\na\r\n.\r\nQUIT\r\n`,
  ],
  "another domain": () => [
    "EHLO a\r\nMAIL FROM:<a@example.org>\r\nRCPT TO:<a@elsewhere.example>\r\nDATA\r\nQUIT\r\n",
  ],
  "announced size": (chance) => [
    `EHLO a\r\nMAIL FROM:<a@example.org> SIZE=${chance.pick(["-1", "0", "99999999999999999999", "1e9", "x", ""])}\r\nQUIT\r\n`,
  ],
  "command flood": (chance) => [
    chance.pick(["NOOP\r\n", "RSET\r\n", "EHLO a\r\n", "\r\n", "x\r\n"]).repeat(1 + chance.below(3_000)),
    "QUIT\r\n",
  ],
  "another protocol": (chance) => [
    chance.pick([
      "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
      "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n",
      "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc",
      "SSH-2.0-a\r\n",
    ]),
  ],
  "broken UTF-8": (chance, targets) => [
    Buffer.concat([Buffer.from("EHLO a\r\nMAIL FROM:<"), chance.bytes(40), Buffer.from("> SMTPUTF8\r\n")]),
    `RCPT TO:<${recipient(chance, targets)}>\r\nDATA\r\na\r\n.\r\nQUIT\r\n`,
  ],
  "smuggled end": (chance, targets) => [
    upToData(chance, targets),
    `a${chance.pick(["\n.\n", "\r.\r", "\n.\r\n", "\r\n.\n", "\r\n.\r", "\u0000\r\n.\r\n"])}MAIL FROM:<b@example.org>\r\n.\r\nQUIT\r\n`,
  ],
  "unfinished message": (chance, targets) => [upToData(chance, targets), hostile(chance, MESSAGE_LENGTH_MAX)],
  "byte by byte": (chance, targets) =>
    [...Buffer.from(`${upToData(chance, targets)}a\r\n.\r\nQUIT\r\n`)].map((byte) => Buffer.of(byte)),
  "random message": (chance, targets) => [
    upToData(chance, targets),
    chance.bytes(1 + chance.below(MESSAGE_LENGTH_MAX)),
    "\r\n.\r\nQUIT\r\n",
  ],
  "hostile message": (chance, targets) => whole(chance, targets, hostile(chance, MESSAGE_LENGTH_MAX)),
  "hostile subject": header("Subject"),
  "hostile addresses": header("To"),
  "hostile type": header("Content-Type"),
  "hostile encoding": header("Content-Transfer-Encoding"),
  "plain text": body("Subject: a"),
  "HTML text": body("Content-Type: text/html; charset=utf-8"),
  "base64 text": body("Content-Type: text/html\r\nContent-Transfer-Encoding: base64"),
  "quoted-printable text": body("Content-Type: text/html\r\nContent-Transfer-Encoding: quoted-printable"),
  "unknown charset": body("Content-Type: text/plain; charset=x-unknown"),
  parts: (chance, targets) =>
    whole(
      chance,
      targets,
      `Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n${hostile(chance, MESSAGE_LENGTH_MAX)}`,
    ),
  "nested parts": (chance, targets) => {
    const depth = 1 + chance.below(2_000);
    const levels = Array.from(
      { length: depth },
      (_, level) => `Content-Type: multipart/mixed; boundary=b${level}\r\n\r\n--b${level}\r\n`,
    );
    return whole(chance, targets, levels.join(""));
  },
  "many messages": (chance, targets) => {
    const one = `MAIL FROM:<>\r\nRCPT TO:<${recipient(chance, targets)}>\r\nDATA\r\na\r\n.\r\n`;
    return [`EHLO a\r\n${one.repeat(1 + chance.below(20))}QUIT\r\n`];
  },
};

const [FIRST_FAULT = "random bytes", ...OTHER_FAULTS] = Object.keys(FAULTS);
/** @internal Only tests use it. */
export const FAULT_NAMES: readonly string[] = [FIRST_FAULT, ...OTHER_FAULTS];

/** One dialogue. A few are abandoned without waiting for a response, or sent in pieces of any size. */
export function malformedDialogue(chance: Chance, targets: MailTargets): Attempt {
  const fault = chance.pick([FIRST_FAULT, ...OTHER_FAULTS]);
  const pieces = (FAULTS[fault]?.(chance, targets) ?? []).map((piece) =>
    typeof piece === "string" ? Buffer.from(piece, "utf8") : piece,
  );
  return { fault, pieces, end: chance.oneIn(20) ? "abandon" : "finish" };
}
