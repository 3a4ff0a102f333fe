import { createHash } from "node:crypto";

/** The ETag of a content. */
export function entityTag(content: string | Uint8Array): string {
  return `"${createHash("sha1").update(content).digest("base64url")}"`;
}

/** Whether the client already has the response. Proxies that compress mark ETags as weak; the content is the same. */
export function matchesTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === "*") return true;
  return header.split(",").some((item) => item.trim().replace(/^W\//, "") === tag);
}
