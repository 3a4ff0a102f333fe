// Writes files and sections that are generated from code and never edited. With --check it only reports what is stale;
// `npm run check` does that, so a generated file cannot become outdated.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { KINDS } from "../src/channels/registry.ts";
import { renderEnvExample } from "../src/config/render.ts";
import { API_PATH } from "../src/contract/api/route.ts";
import { API_ROUTES } from "../src/contract/api/routes.ts";
import { openApiDocument, overdueDocument } from "../src/contract/openapi.ts";
import { VERSIONS } from "../src/contract/versions.ts";
import { renderStateTable } from "../src/core/state-table.ts";
import { renderSampleList } from "../test/docs/sample-list.ts";
import { renderImportTable } from "../test/support/import-rule.ts";
import { CHECKSUMS_PATH, checksumsOf } from "../test/support/tidy-rules.ts";
import { readTree } from "../test/support/tidy-tree.ts";
import { renderSchema } from "./dump-schema.ts";
import { renderChannelIcons } from "./render-channel-icons.ts";
import { exampleRequest, renderChannelKinds, renderChannelPage } from "./render-channels.ts";
import { renderCommandReference, renderCommandWords, renderManPage } from "./render-commands.ts";
import { renderDecisions } from "./render-decisions.ts";
import { renderRights } from "./render-rights.ts";
import { renderSettings } from "./render-settings.ts";

/** `render` gets the current file, empty if there is none, and returns the new content. */
export type Generated = { path: string; render(current: string): string | Promise<string> };

const ROOT = join(import.meta.dirname, "..");

/** Everything that is generated. A file may appear more than once, for each of its sections. */
const GENERATED: readonly Generated[] = [
  { path: ".env.example", render: renderEnvExample },
  { path: CHECKSUMS_PATH, render: addChecksums },
  { path: "migrations/schema.sql", render: renderSchema },
  { path: "docs/openapi.json", render: renderOpenApi },
  { path: "docs/guide/permissions.md", render: renderRights },
  { path: "docs/openapi-overdue.json", render: renderOverdueOpenApi },
  { path: "src/contract/api/operations.ts", render: renderOperations },
  { path: "web/pages/channel-icons.ts", render: renderChannelIcons },
  { path: "src/cli/command-words.ts", render: renderCommandWords },
  { path: "docs/overdue.1", render: renderManPage },
  // A chart contains only files below its own folder.
  copy("deploy/observability/alerts.yaml", "deploy/helm/overdue/files/alerts.yaml"),
  copy("deploy/observability/grafana-dashboard.json", "deploy/helm/overdue/files/grafana-dashboard.json"),
  section("docs/contribute/import-rules.md", "import-table", renderImportTable),
  section("docs/contribute/state-machine.md", "state-table", renderStateTable),
  section("docs/decisions/index.md", "decisions", renderDecisions),
  section("docs/guide/channels/index.md", "kinds", renderChannelKinds),
  section("docs/guide/cli.md", "commands", renderCommandReference),
  section("docs/contribute/documentation.md", "samples", renderSampleList),
  ...KINDS.map((kind) => {
    const path = `docs/guide/channels/${kind.name}.md`;
    return section(path, "kind", async () => renderChannelPage(kind, await exampleRequest(kind)));
  }),
  section("docs/operate/settings.md", "settings", renderSettings),
];

const HELP = `Writes the generated files of this repository.

Usage: npm run generate [-- --check]

  --check   write nothing; list what is stale and fail if anything is
  --help    show this text

Generated: ${[...new Set(GENERATED.map(({ path }) => path))].join(", ")}
`;

/** The document that every server serves, with an example URL. */
function renderOpenApi(): string {
  const serverUrl = "https://overdue.example.org/api/v3";
  return `${JSON.stringify(openApiDocument({ column: VERSIONS.standard[3], serverUrl }), null, 2)}\n`;
}

function renderOverdueOpenApi(): string {
  const serverUrl = `https://overdue.example.org${API_PATH}`;
  return `${JSON.stringify(overdueDocument({ kinds: KINDS, serverUrl }), null, 2)}\n`;
}

function copy(from: string, path: string): Generated {
  return { path, render: () => readFileSync(join(ROOT, from), "utf8") };
}

/** A part of a document, between \`<!-- generated: name -->\` and the next \`<!-- end -->\`. */
export function section(path: string, name: string, render: () => string | Promise<string>): Generated {
  return {
    path,
    render: async (current) => replaceSection({ path, name, current, content: await render() }),
  };
}

function replaceSection(at: { path: string; name: string; current: string; content: string }): string {
  const { path, name, content } = at;
  const opening = `<!-- generated: ${name} -->`;
  // A new page is all generated; text that follows the section is kept.
  const current = at.current === "" ? `${opening}\n<!-- end -->\n` : at.current;
  const start = current.indexOf(opening);
  const end = current.indexOf("<!-- end -->", start);
  if (start === -1 || end === -1) {
    throw new Error(`${path} has no section between "${opening}" and "<!-- end -->"`);
  }
  return `${current.slice(0, start)}${opening}\n\n${content.trim()}\n\n${current.slice(end)}`;
}

/**
 * Records new migrations and keeps the old entries, even if they no longer match: the tidy test reports a changed
 * migration, and a generator must not hide it.
 */
function addChecksums(current: string): string {
  const recorded = JSON.parse(current === "" ? "{}" : current) as Record<string, string>;
  const all = { ...checksumsOf(readTree(ROOT)), ...recorded };
  const sorted = Object.fromEntries(Object.entries(all).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return `${JSON.stringify(sorted, null, 2)}\n`;
}

/** Updates every file below `root`, or only checks them; returns those that were stale. */
export async function generate(options: {
  root: string;
  files: readonly Generated[];
  write: boolean;
}): Promise<string[]> {
  const stale: string[] = [];
  for (const path of new Set(options.files.map((file) => file.path))) {
    const full = join(options.root, path);
    const before = existsSync(full) ? readFileSync(full, "utf8") : "";
    let after = before;
    for (const file of options.files) if (file.path === path) after = await file.render(after);
    if (after === before) continue;
    stale.push(path);
    if (options.write) writeFileSync(full, after);
  }
  return stale;
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { check: { type: "boolean" }, help: { type: "boolean" } } });
  if (values.help === true) {
    process.stdout.write(HELP);
    return;
  }
  const write = values.check !== true;
  const stale = await generate({ root: ROOT, files: GENERATED, write });
  if (write) {
    process.stdout.write(
      stale.length === 0 ? "All generated files are up to date.\n" : `Written: ${stale.join(", ")}\n`,
    );
  } else if (stale.length > 0) {
    process.stderr.write(`Out of date: ${stale.join(", ")}\nFix with: npm run generate\n`);
    process.exitCode = 1;
  }
}

if (import.meta.main) await main();

/** Method and path of every operation, without the schemas, which the browser does not need. */
function renderOperations(): string {
  const lines = Object.entries(API_ROUTES).map(([id, { method, path }]) => `  ${id}: "${method} ${path}",`);
  return `// Generated by npm run generate from routes.ts: method and path of each operation of the Overdue API.
export const OPERATIONS = {
${lines.join("\n")}
} as const;
`;
}
