// The SVG must be well-formed and contain its text, for any label.
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { drawBadge, textWidth } from "./badge-svg.ts";

const draw = (label: string, value = "up") => drawBadge({ label, value, valueFill: "#4c1" });

type Element = { name: string; attributes: Record<string, string>; text: string };

// oxlint-disable-next-line no-control-regex -- This matches the characters that XML forbids.
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/;
const TAG = /^<(?<close>\/?)(?<name>[a-zA-Z][\w:-]*)(?<attributes>(?:\s+[\w:-]+="[^"<]*")*)\s*(?<empty>\/?)>/;
const REFERENCE = /&(?!(?:amp|lt|gt|quot|#39);)/;

function unescaped(text: string): string {
  expect(text).not.toMatch(REFERENCE);
  const characters: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };
  return text.replace(/&([^;]+);/g, (_, name: string) => characters[name] ?? "");
}

/** A strict reader of the small XML subset that badges use: it fails the test if the document is not well-formed. */
function read(document: string): Element[] {
  expect(document.isWellFormed()).toBe(true);
  expect(document).not.toMatch(FORBIDDEN);
  const elements: Element[] = [];
  const open: Element[] = [];
  let rest = document.trimEnd();
  while (rest !== "") {
    const text = /^[^<]*/.exec(rest)?.[0] ?? "";
    const inside = open.at(-1);
    if (inside === undefined) expect(text).toBe("");
    else inside.text += unescaped(text);
    rest = rest.slice(text.length);
    if (rest === "") break;
    const tag = TAG.exec(rest);
    expect(tag, rest.slice(0, 80)).not.toBeNull();
    rest = rest.slice(tag?.[0].length);
    const { close, name = "", attributes = "", empty } = tag?.groups ?? {};
    if (close === "/") {
      expect(open.pop()?.name).toBe(name);
      continue;
    }
    const pairs = Array.from(attributes.matchAll(/([\w:-]+)="([^"]*)"/g), ([, key = "", value = ""]) => [
      key,
      unescaped(value),
    ]);
    expect(new Set(pairs.map(([key]) => key)).size).toBe(pairs.length);
    const element = { name, attributes: Object.fromEntries(pairs), text: "" };
    elements.push(element);
    if (empty !== "/") open.push(element);
  }
  expect(open).toEqual([]);
  return elements;
}

function textsOf(document: string): Element[] {
  return read(document).filter(({ name }) => name === "text");
}

describe("a badge", () => {
  test("contains label and status, as text and for screen readers", () => {
    const [svg, title, ...others] = read(draw("backup"));
    expect(svg?.attributes).toMatchObject({ role: "img", "aria-label": "backup: up", height: "20" });
    expect(title).toMatchObject({ name: "title", text: "backup: up" });
    const texts = others.filter(({ name }) => name === "text").map(({ text }) => text);
    expect(texts).toEqual(["backup", "backup", "up", "up"]);
  });

  test("has fields as wide as their texts plus a margin", () => {
    const [svg] = read(draw("backup", "down"));
    const label = Math.round(textWidth("backup", 11)) + 10;
    const value = Math.round(textWidth("down", 11)) + 10;
    expect(svg?.attributes["width"]).toBe(String(label + value));
    expect(textsOf(draw("backup", "down")).map(({ attributes }) => attributes["textLength"])).toEqual([
      "395",
      "395",
      "295",
      "295",
    ]);
  });

  test("hides shadows from screen readers", () => {
    const shadows = textsOf(draw("x")).filter(({ attributes }) => attributes["fill"] === "#010101");
    expect(shadows.map(({ attributes }) => attributes["aria-hidden"])).toEqual(["true", "true"]);
  });

  test("has the given color", () => {
    expect(draw("x")).toContain('fill="#4c1"');
  });

  test("escapes markup", () => {
    const label = `<b>&"'</b>`;
    expect(textsOf(draw(label))[0]?.text).toBe(label);
    expect(draw("<b>&")).toContain("&lt;b&gt;&amp;");
  });

  test("is a single line, and replaces characters that cannot be shown", () => {
    expect(textsOf(draw(" two\n\tlines "))[0]?.text).toBe("two lines");
    expect(textsOf(draw("a\u0000b\ud800c\uffff"))[0]?.text).toBe("a\ufffdb\ufffdc\ufffd");
  });

  test("with a blank label shows only its value", () => {
    expect(textsOf(draw(" ")).map(({ text }) => text)).toEqual(["up", "up"]);
  });

  test("with a long label is truncated, and has the full text for screen readers", () => {
    const label = "backup ".repeat(70).trim();
    const [svg] = read(draw(label));
    expect(Number(svg?.attributes["width"])).toBeLessThan(340);
    expect(svg?.attributes["aria-label"]).toBe(`${label}: up`);
    expect(textsOf(draw(label))[0]?.text).toMatch(/^backup .*[^ ]…$/);
  });

  test("never splits a character", () => {
    const family = "👩‍👩‍👧";
    const shown = textsOf(draw(family.repeat(50)))[0]?.text ?? "";
    expect(shown.replaceAll(family, "")).toBe("…");
  });

  test("adjusts glyphs instead of gaps for joined scripts", () => {
    const adjust = (label: string) => textsOf(draw(label))[0]?.attributes["lengthAdjust"];
    expect([adjust("backup"), adjust("نسخة")]).toEqual([undefined, "spacingAndGlyphs"]);
  });
});

test("for any label the document is well-formed, of bounded size, and contains the label", () => {
  const label = fc.oneof(
    fc.string({ unit: "binary", maxLength: 500 }),
    fc.string({ unit: "grapheme", maxLength: 500 }),
    fc
      .array(
        fc.constantFrom("<", ">", "&", '"', "'", "]]>", "<!--", "\u0000", "\ud800", "\r", "&#0;", "\u0085"),
      )
      .map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(label, (text) => {
      const document = draw(text, "late");
      const [svg] = read(document);
      expect(Number(svg?.attributes["width"])).toBeLessThanOrEqual(10 + 300 + 10 + 30);
      expect(svg?.attributes["aria-label"]).toMatch(/: late$/);
      expect(document.length).toBeLessThan(20_000);
    }),
    { numRuns: 200 },
  );
});
