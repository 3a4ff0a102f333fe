// The short way of reading a message: where it is taken, it reads what the library reads, and it is taken for what most
// machines send and for nothing else.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeMail, MailDecoder, plainMail } from "../../src/services/smtp/decode.ts";
import { CORPUS } from "./corpus/corpus.ts";

const RUNS = 2_000;
const decoder = new MailDecoder();

/** Lines that messages are made of, ordinary and treacherous ones. */
const HEADER = fc.constantFrom(
  "Subject: backup done",
  "subject:\tOK  ",
  "SUBJECT : spaced",
  "Subject",
  "Subject: =?utf-8?Q?caf=C3=A9?= =?utf-8?Q?_open?=",
  "Subject: folded",
  "  over two lines",
  "\tand three",
  "X-Subject: not me",
  "From: root@web1",
  "From root Mon Nov 16 12:00:00 2026",
  "no colon here",
  ": empty name",
  "Content-Type: text/plain",
  "content-type: TEXT/PLAIN; charset=utf-8",
  'Content-Type: text/plain; charset="us-ascii"',
  "Content-Type: text/plain; charset=iso-2022-jp",
  "Content-Type: text/plain; charset=utf-7",
  "Content-Type: text/plain; format=flowed",
  "Content-Type: text/html",
  'Content-Type: multipart/mixed; boundary="b"',
  "Content-Type",
  "Content-Type : text/html",
  "Content-Transfer-Encoding: 7bit",
  "Content-Transfer-Encoding: base64",
  "Content-Transfer-Encoding: quoted-printable",
  "Content-Disposition: attachment",
  "Content-Description: odd",
);
const BODY = fc.constantFrom(
  "",
  "hello",
  " trailing ",
  "--b",
  "=41=",
  "SGVsbG8=",
  "a\rb",
  "\f",
  "\0",
  ".",
  "é",
  "<b>x</b>",
);
const MESSAGE = fc
  .record({
    headers: fc.array(HEADER, { maxLength: 6 }),
    body: fc.array(BODY, { maxLength: 5 }),
    end: fc.constantFrom("\r\n", "\n"),
    isEnded: fc.boolean(),
  })
  .map(({ headers, body, end, isEnded }) =>
    Buffer.from([...headers, "", ...body].join(end) + (isEnded ? end : "")),
  );

describe("The short way", () => {
  test("gives the same result as the library, for any message", async () => {
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(MESSAGE, async (message) => {
        if (plainMail(message) === null) return;
        taken += 1;
        expect(await decoder.decode(message)).toEqual(await decodeMail(message));
      }),
      { numRuns: RUNS },
    );
    // Otherwise nothing was compared.
    expect(taken).toBeGreaterThan(RUNS / 20);
  });

  test("reads what the library reads in every message of the corpus that it is taken for", async () => {
    const taken = CORPUS.filter(({ message }) => message.length < 200_000 && plainMail(message) !== null);
    for (const { name, message } of taken)
      expect(await decoder.decode(message), name).toEqual(await decodeMail(message));
    console.log(`smtp short way: ${taken.length} of ${CORPUS.length} messages of the corpus`);
    expect(taken.length).toBeGreaterThan(5);
  });

  test.each([
    ["a letter beyond ASCII", "Subject: x\r\n\r\ncafé\r\n"],
    ["an alphabet that hides in ASCII", "Content-Type: text/plain; charset=iso-2022-jp\r\n\r\n$B4A\r\n"],
    ["HTML", "Content-Type: text/html\r\n\r\n<b>x</b>\r\n"],
    ["parts", "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nx\r\n--b--\r\n"],
    ["a type on a second line", "Content-Type:\r\n text/html\r\n\r\n<b>x</b>\r\n"],
    ["an encoding", "Content-Transfer-Encoding: base64\r\n\r\neA==\r\n"],
    ["two types", "Content-Type: text/plain\r\nContent-Type: text/plain\r\n\r\nx\r\n"],
    ["lines that are to be joined", "Content-Type: text/plain; format=flowed\r\n\r\nx \r\ny\r\n"],
    ["an attachment", "Content-Disposition: attachment\r\n\r\nx\r\n"],
    ["no headers", "\r\nx\r\n"],
    ["no body", "Subject: x\r\n"],
  ])("is not taken for a message with %s", (_what, message) => {
    expect(plainMail(Buffer.from(message))).toBeNull();
  });

  test("takes no longer for a header made to be slow", () => {
    const message = Buffer.from(
      `Subject: x${" ".repeat(60_000)}y\r\nA:${"\r\n ".repeat(1_000)}\r\n\r\nz\r\n`,
    );
    // Of the processor, which others may want as well: by steps that grow with the square it would take seconds.
    const before = process.cpuUsage();
    plainMail(message);
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(500);
  });

  test("the library is not used for headers made to be slow: their message is read as plain text", async () => {
    const message = Buffer.from(
      `From: ${"a:".repeat(50_000)}\r\nSubject: x\r\nContent-Type: text/html\r\n\r\n<b>y</b>\r\n`,
    );
    const { subject, text } = await decodeMail(message);
    expect([subject, text.trim()]).toEqual(["x", "<b>y</b>"]);
  });
});
