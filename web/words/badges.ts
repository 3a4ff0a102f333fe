// Texts of the badges page.

import { formatCount } from "../../src/contract/web/list-words.ts";

export const badgesWords = {
  title: "Status badges",
  about:
    "A badge is a public image that shows the status of your checks. Anyone with its URL can see the status, but nothing else.",
  cut: (count: number) =>
    `This list shows the first ${formatCount(count)} tags of the project. Use the API to get badges for the rest.`,
  what: "Show status of",
  all: "All checks",
  tag: (name: string) => `Tag: ${name}`,
  one: "One check",
  check: "Check",
  states: "Statuses",
  two: "Up and down",
  three: "Up, late and down",
  format: "Format",
  formats: { svg: "Image (SVG)", json: "JSON", shields: "Shields.io endpoint" },
  preview: "Preview",
  address: "URL",
  markdown: "Markdown",
  html: "HTML",
  alt: (subject: string | null) => (subject === null ? "Status of all checks" : `Status of ${subject}`),
} as const;
