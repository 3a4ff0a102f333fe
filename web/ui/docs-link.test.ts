// Links to the documentation name their topic, and open a new tab.
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { DocsLink, LearnMore } from "./docs-link.tsx";

function textOf(markup: string): string {
  return markup.replaceAll(/<[^>]*>/g, "");
}

test("the link of a page has its visible text first, then the topic", () => {
  const markup = renderToStaticMarkup(createElement(DocsLink, { to: "silences" }));
  expect(textOf(markup)).toBe("Docs: silences (opens in a new tab)");
  expect(markup).toContain('href="/docs/guide/silences" target="_blank" rel="noopener"');
});

test("a link after a text, to a heading", () => {
  const markup = renderToStaticMarkup(createElement(LearnMore, { to: "healthProblems" }));
  expect(textOf(markup)).toBe("Learn more: health problems (opens in a new tab)");
  expect(markup).toContain('href="/docs/operate/monitoring#health-problems" target="_blank" rel="noopener"');
});

test("the page of a kind of channel", () => {
  const markup = renderToStaticMarkup(createElement(DocsLink, { to: { name: "slack", title: "Slack" } }));
  expect(textOf(markup)).toBe("Docs: Slack (opens in a new tab)");
  expect(markup).toContain('href="/docs/guide/channels/slack"');
});
