// The kinds of value that settings of mail have, beside those in setting-value.ts.
import type { ValueKind } from "../setting-value.ts";

/** A bare address: one @, no spaces, nothing that could end it or begin another one. */
const ADDRESS = /^[^\s@<>"',;:()[\]\\]+@[^\s@<>"',;:()[\]\\]+$/;
const NAMED = /^[^<>"\r\n]*<(?<address>[^<>\s]+)>$/;

/** Where a signature goes in the address that mails come back to. */
const PLACE = "%s";

/** A sender: an address, with a name before it if there is one. */
export const senderKind: ValueKind<string> = {
  describe: "email address, optionally as Name <address>",
  parse: (text) =>
    ADDRESS.test(addressIn(text))
      ? { value: text }
      : { problem: "must be an email address such as alerts@example.org or Alerts <alerts@example.org>" },
  print: (value) => value,
};

/** An address with a place in it for what a bounce is recognised by. */
export const returnPathKind: ValueKind<string> = {
  describe: `email address with ${PLACE} before the @`,
  parse: (text) => {
    const isGood =
      text.split(PLACE).length === 2 && ADDRESS.test(text) && text.split("@")[0]?.includes(PLACE);
    return isGood
      ? { value: text }
      : { problem: `must be an email address such as ${PLACE}@bounces.example.org` };
  },
  print: (value) => value,
};

/** The address that mails come back to, with its place filled in. */
export function returnPathFor(template: string, localPart: string): string {
  return template.replace(PLACE, () => localPart);
}

/** The bare address of a sender. */
export function addressIn(sender: string): string {
  return NAMED.exec(sender)?.groups?.["address"] ?? sender;
}
