// What an entry of the corpus is, and how its message is written down: text with a line feed for each line, which is
// sent with the ends of lines that the protocol wants. Bytes that are no ASCII are written as \xNN.
import type { CheckSettings } from "../../../src/core/check.ts";
import type { SignalKind } from "../../../src/core/signal.ts";

export type Entry = {
  name: string;
  /** The check that it is sent to; nothing is filtered unless this says so. */
  check?: Partial<CheckSettings>;
  message: Buffer;
  /** Who it is from by its envelope; a job unless this says otherwise. */
  sender?: string;
  expected: SignalKind;
};

/** What most checks of the corpus look for, in the subject and in the body. */
export const WORDS: Partial<CheckSettings> = {
  filterSubject: true,
  filterBody: true,
  failureKw: "FAILED, ERROR, error",
  successKw: "completed, SUCCESS, OK",
  startKw: "started, BEGIN",
};

export const IN_SUBJECT: Partial<CheckSettings> = { ...WORDS, filterBody: false };
export const IN_BODY: Partial<CheckSettings> = { ...WORDS, filterSubject: false };

/** One byte for each character. */
export function bytes(text: string): Buffer {
  return Buffer.from(text.replace(/\r?\n/g, "\r\n"), "latin1");
}

/** A message in UTF-8. */
export function mail(text: string): Buffer {
  return Buffer.from(text.trimStart().replace(/\r?\n/g, "\r\n"), "utf8");
}

export function fromHex(hex: string): string {
  return Buffer.from(hex, "hex").toString("latin1");
}

/** Base64 in lines, as mailers write it. */
export function base64(text: string | Buffer): string {
  return (
    Buffer.from(text)
      .toString("base64")
      .match(/.{1,76}/g) ?? []
  ).join("\n");
}
