// Links between pages: every file and every heading exists, and the sidebar lists every page.
import { existsSync, globSync } from "node:fs";
import { join, posix } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { createMarkdownRenderer } from "vitepress";
import { sidebar } from "../../docs/.vitepress/sidebar.ts";
import { readPage } from "./markdown.ts";

const ROOT = join(import.meta.dirname, "../..");
const PAGES = globSync(["*.md", "docs/**/*.md"], { cwd: ROOT }).toSorted();

type Parsed = { ids: Set<string>; links: string[] };
type Reader = (text: string) => Parsed;

let parse: Reader;
const pages = new Map<string, Parsed>();

beforeAll(async () => {
  // The renderer of the site, so that the anchors are its anchors.
  const renderer = await createMarkdownRenderer(join(ROOT, "docs"), { html: false });
  parse = (text) => {
    const tokens = renderer.parse(text, {});
    const headings = tokens.filter(({ type }) => type === "heading_open");
    const inline = tokens.flatMap(({ children }) => children ?? []);
    const links = inline.filter(({ type }) => type === "link_open");
    return {
      ids: new Set(headings.map((token) => token.attrGet("id") ?? "")),
      links: [
        ...links.map((token) => token.attrGet("href") ?? ""),
        ...inline.filter(({ type }) => type === "image").map((token) => token.attrGet("src") ?? ""),
      ],
    };
  };
  for (const page of PAGES) pages.set(page, parse(readPage(page)));
});

/** What is wrong with a link of a page; null if nothing is. */
function problemOf(link: string, page: string): string | null {
  if (/^(https|mailto):/.test(link)) return URL.canParse(link) ? null : `${link} is not a URL`;
  if (/^[a-z]+:/.test(link)) return `${link} is not https`;
  const [path = "", anchor = ""] = decodeURI(link).split("#");
  const target = path === "" ? page : posix.join(posix.dirname(page), path);
  if (!existsSync(join(ROOT, target))) return `${link} does not exist`;
  if (anchor === "" || !target.endsWith(".md")) return null;
  return pages.get(target)?.ids.has(anchor) === true ? null : `${link}: no such heading`;
}

const problemsOf = (page: string, { links }: Parsed) =>
  links.map((link) => problemOf(link, page)).filter((problem) => problem !== null);

test.each(PAGES)("the links of %s lead somewhere", (page) => {
  expect(problemsOf(page, pages.get(page) ?? { ids: new Set(), links: [] })).toEqual([]);
});

test("links that lead nowhere are found", () => {
  const text = `# One heading
[a](#one-heading), [b](#gone), [c](../operate/install.md), [d](gone.md), [e](../operate/install.md#gone),
[f](http://example.org), [g](https://example.org), ![h](gone.png)`;
  const page = "docs/guide/jobs.md";
  const saved = pages.get(page);
  pages.set(page, parse(text));
  try {
    expect(problemsOf(page, parse(text))).toEqual([
      "#gone: no such heading",
      "gone.md does not exist",
      "../operate/install.md#gone: no such heading",
      "http://example.org is not https",
      "gone.png does not exist",
    ]);
  } finally {
    if (saved !== undefined) pages.set(page, saved);
  }
});

describe("the sidebar", () => {
  const items = [...new Set(Object.values(sidebar({ isServed: false })))].flatMap((group) =>
    Array.isArray(group) ? group : group.items,
  );
  const linksOf = (item: (typeof items)[number]): string[] => [
    ...(item.link === undefined ? [] : [item.link]),
    ...(item.items ?? []).flatMap(linksOf),
  ];
  const listed = items
    .flatMap(linksOf)
    .map((link) => (link.endsWith("/") ? `docs${link}index.md` : `docs${link}.md`))
    .map((file) => (existsSync(join(ROOT, file)) ? file : file.replace(/\.md$/, "/index.md")));

  test("has a page for every entry", () => {
    expect(listed.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });

  test("lists every page once", () => {
    const written = PAGES.filter((page) => /^docs\/[a-z]+\//.test(page));
    expect(written.filter((page) => !listed.includes(page))).toEqual([]);
    expect(listed.length).toBe(new Set(listed).size);
  });
});
