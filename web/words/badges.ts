// What the page of badges says about pictures that tell a state to others.

import { formatCount } from "../../src/contract/web/list-words.ts";

export const badgesWords = {
  title: "Show others how it stands",
  about: "A badge is a picture that anyone who has its address may see. It tells a state, and nothing else.",
  cut: (count: number) =>
    `The list shows the first ${formatCount(count)} tags of this project. The API lists the badges of more.`,
  what: "Which checks",
  all: "All checks",
  tag: (name: string) => `Tag: ${name}`,
  one: "One check",
  check: "Check",
  states: "States",
  two: "Up and down",
  three: "Up, late and down",
  format: "Format",
  formats: { svg: "Picture (SVG)", json: "JSON", shields: "Shields.io endpoint" },
  preview: "Preview",
  address: "Address",
  markdown: "Markdown",
  html: "HTML",
  alt: (subject: string | null) => (subject === null ? "State of all checks" : `State of ${subject}`),
} as const;
