// The secrets of a configuration as texts, so that they can be taken out of whatever a receiver answers: some repeat
// what they were sent.
import { type ChannelConfig, type Field, fieldsOf } from "./channel-config.ts";
import type { AnyKind } from "../channel-kind.ts";
import { isPlainHeader } from "../webhook/webhook-headers.ts";

/** Shorter parts of an address are words such as "services", and not what keeps it secret. */
const SECRET_PART_LENGTH_MIN = 9;
/** What may be longer is a template that somebody has written, and no key. */
const KEY_LENGTH_MAX = 1_000;

/** All texts that must not be seen, the longest first, so that no half of one is left. */
export function secretsIn(kind: AnyKind, config: ChannelConfig): string[] {
  const texts = fieldsOf(kind).flatMap(([name, field]) =>
    field.writeOnly === true ? textsOf(field, config[name]) : [],
  );
  return [...new Set(texts)].filter((text) => text !== "").toSorted((a, b) => b.length - a.length);
}

function textsOf({ format, maxLength = 0 }: Field, value: unknown): string[] {
  if (typeof value === "object" && value !== null) {
    return Object.entries(value)
      .filter(([name]) => !isPlainHeader(name))
      .flatMap(([, header]) => [String(header), lastWord(String(header))]);
  }
  if (typeof value !== "string" || value === "" || maxLength > KEY_LENGTH_MAX) return [];
  return format === "uri" ? addressTexts(value) : [value];
}

/** "Bearer abc" is told apart from its key. */
function lastWord(header: string): string {
  return header.split(" ").at(-1) ?? "";
}

function addressTexts(address: string): string[] {
  const url = URL.parse(address);
  if (url === null) return [address];
  const path = url.pathname + url.search;
  const parts = [...url.pathname.split("/"), ...url.searchParams.values(), url.password];
  return [
    address,
    url.href,
    ...[path, url.pathname, ...parts, ...parts.map(decoded)].filter(
      (text) => text.length >= SECRET_PART_LENGTH_MIN,
    ),
  ];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
