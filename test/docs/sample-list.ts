// The list of samples that do not run, for docs/contribute/documentation.md.
import { stateOf } from "./languages.ts";
import { CHECKOUT, samplePages, samplesOf } from "./markdown.ts";

type Row = { page: string; heading: string; language: string; why: string };

/** Rows that are equal appear once, with their number. */
export function renderSampleList(): string {
  const counts = { run: 0, syntax: 0, untested: 0, output: 0 };
  const rows: Row[] = [];
  for (const page of samplePages()) {
    const { samples } = samplesOf(page);
    for (const sample of samples) {
      const state = stateOf(sample, samples);
      if (state === null) continue;
      counts[state.kind] += 1;
      const { heading } = sample;
      const language = sample.language === CHECKOUT ? "sh" : sample.language;
      if (state.kind === "syntax") rows.push({ page, heading, language, why: `Syntax only: ${state.by}` });
      if (state.kind === "untested") rows.push({ page, heading, language, why: `Untested: ${state.reason}` });
    }
  }
  const lines = Map.groupBy(rows, ({ page, heading, language, why }) =>
    [linkTo(page), heading, language, why].map(cell).join(" | "),
  );
  const list = [...lines].map(
    ([line, { length }]) => `| ${line}${length > 1 ? ` (${length} samples)` : ""} |`,
  );
  return [
    `${counts.run} samples run, of ${counts.syntax} the syntax is checked, and ${counts.untested} are not tested.`,
    "",
    "| Page | Section | Language | State |",
    "|---|---|---|---|",
    ...list,
  ].join("\n");
}

const cell = (text: string) => text.replaceAll("|", String.raw`\|`);

/** From docs/contribute/. The site has no pages outside docs/. */
function linkTo(page: string): string {
  if (!page.startsWith("docs/")) return `\`${page}\``;
  const path = page.slice("docs/".length);
  return `[${path.replace(/\.md$/, "")}](../${path})`;
}
