// Every page and heading that the product links to is in the documentation.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { KINDS } from "../../src/channels/registry.ts";
import { channelDocs, DOCS } from "../../src/contract/api/docs.ts";

const ROOT = join(import.meta.dirname, "../..");
const LINKS = [...Object.values(DOCS), ...KINDS.map(({ name }) => channelDocs(name))];

/** The file of a page: "/docs/guide/channels/" is docs/guide/channels/index.md. */
function fileOf(path: string): string {
  return join(ROOT, `${path.endsWith("/") ? `${path}index` : path}.md`);
}

/** The anchors of the headings, as the site makes them. */
function anchorsOf(markdown: string): string[] {
  return [...markdown.matchAll(/^#{2,4} (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}]+/gu, "-")
      .replaceAll(/^-|-$/g, ""),
  );
}

test.each(LINKS)("%s", (link) => {
  const [path = "", anchor] = link.split("#");
  expect(existsSync(fileOf(path)), fileOf(path)).toBe(true);
  if (anchor !== undefined) expect(anchorsOf(readFileSync(fileOf(path), "utf8"))).toContain(anchor);
});
