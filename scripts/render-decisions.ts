// The list of decisions, for docs/decisions/index.md and the sidebar of the documentation.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = join(import.meta.dirname, "../docs/decisions");

export type Decision = {
  /** Without the extension. */
  name: string;
  /** With the number. */
  title: string;
  /** The file name of the decision that replaced it; null: it applies. */
  supersededBy: string | null;
};

/** In the order of their numbers. */
export function readDecisions(): Decision[] {
  return globSync("[0-9]*.md", { cwd: FOLDER })
    .toSorted()
    .map((file) => {
      const text = readFileSync(join(FOLDER, file), "utf8");
      const [, title = file] = /^# (.+)$/m.exec(text) ?? [];
      const [, later = null] = /^Superseded by \[\d+\]\(([^)]+)\)/m.exec(text) ?? [];
      return { name: file.replace(/\.md$/, ""), title, supersededBy: later };
    });
}

export function renderDecisions(): string {
  const rows = readDecisions().map(({ name, title, supersededBy }) => {
    const [number = "", words = ""] = title.split(/\. (.*)/s);
    const status =
      supersededBy === null ? "" : ` (superseded by [${Number.parseInt(supersededBy, 10)}](${supersededBy}))`;
    return `| ${number} | [${words}](${name}.md)${status} |`;
  });
  return ["| No. | Decision |", "|--:|---|", ...rows].join("\n");
}
