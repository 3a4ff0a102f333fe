// Addresses of receivers as people type them. Whether one may be called is judged when it is.
import type { Checked } from "../../core/errors.ts";

const HAS_SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i;

/** An http or https address; without a scheme it gets https. Otherwise the end of a sentence about it. */
export function readAddress(given: string): Checked<string> {
  const trimmed = given.trim();
  const text = HAS_SCHEME.test(trimmed) ? trimmed : `https://${trimmed}`;
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || /\s/.test(text)) {
    return { ok: false, text: "must be an http or https URL, for example https://hooks.example.org/x" };
  }
  return { ok: true, value: text };
}

/** The host of an address, for a summary: it says where a message went and gives nothing away. */
export function hostOf(address: string): string {
  return URL.parse(address)?.host ?? "an invalid URL";
}
