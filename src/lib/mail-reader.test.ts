// Emails made to keep the parser busy: each is parsed, or rejected, quickly.
import { describe, expect, test } from "vitest";
import { type MailBounds, readMail } from "./mail-reader.ts";

const BOUNDS: MailBounds = {
  bytesMax: 512 * 1024,
  linesMax: 2_000,
  headerBytesMax: 32 * 1024,
  nestingMax: 10,
};

const bytesOf = (text: string) => new TextEncoder().encode(text);
const inParts = (part: string, count: number) =>
  `Content-Type: multipart/mixed; boundary=b\r\n\r\n${part.repeat(count)}`;
const inside = (count: number) => "Content-Type: message/rfc822\r\n\r\n".repeat(count);

/** Without limits, each of these takes from two seconds to a minute; the deadline allows for a busy machine. */
const MOMENT_MS = 1_500;

describe("an email made to be slow to parse", () => {
  test.each([
    ["messages inside messages", inside(10) + "x\r\n".repeat(170_000)],
    ["very many messages inside messages", inside(300) + "x\r\n".repeat(170_000)],
    ["very many parts", inParts("--b\r\n\r\nx\r\n", 50_000)],
    ["very many lines of HTML", `Content-Type: text/html\r\n\r\n${"x\r\n".repeat(170_000)}`],
    ["a header with very many groups", `From: ${"a:".repeat(120_000)}\r\n\r\nx`],
  ])("%s: is handled quickly", async (_name, mail) => {
    // CPU time, because other processes may delay this one.
    const before = process.cpuUsage();
    await readMail(bytesOf(mail), BOUNDS);
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(MOMENT_MS);
  });
});

describe("a normal email", () => {
  test("is parsed, and a nested message is an attachment", async () => {
    const mail = await readMail(
      bytesOf(
        inParts(
          "--b\r\n\r\nhello\r\n--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: old\r\n\r\ny\r\n",
          1,
        ),
      ),
      BOUNDS,
    );
    expect(mail?.text).toContain("hello");
    expect(mail?.attachments.map(({ mimeType }) => mimeType)).toEqual(["message/rfc822"]);
  });

  test("is parsed up to the limits", async () => {
    const mail = await readMail(bytesOf("Subject: s\r\n\r\none\r\ntwo\r\nthree\r\n"), {
      ...BOUNDS,
      linesMax: 4,
    });
    expect(mail?.text).toBe("one\ntwo\n");
  });
});
