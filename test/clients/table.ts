// The table that `npm run clients` prints: one row for each client, wide enough for what is in it.
import type { Row } from "./client.ts";

const HEAD = ["client", "version", "kind", "dialect", "calls", "result", "note"] as const;

/** The table as lines of text, without anything that needs a colour. */
export function renderTable(rows: readonly Row[]): string {
  const cells = rows.map((row) => HEAD.map((name) => String(row[name])));
  const all = [[...HEAD], ...cells];
  const widths = HEAD.map((_, column) => Math.max(...all.map((line) => (line[column] ?? "").length)));
  const render = (line: readonly string[]) =>
    line
      .map((cell, column) => padded(cell, { column, width: widths[column] ?? 0 }))
      .join("  ")
      .trimEnd();
  return [...all.slice(0, 1), widths.map((width) => "-".repeat(width)), ...cells].map(render).join("\n");
}

function padded(cell: string, { column, width }: { column: number; width: number }): string {
  return HEAD[column] === "calls" ? cell.padStart(width) : cell.padEnd(width);
}

/** The last line: how many of which kind passed. */
export function summary(rows: readonly Row[]): string {
  const passed = (kind: Row["kind"]) =>
    rows.filter((row) => row.kind === kind && row.result === "passed").length;
  const of = (kind: Row["kind"]) => rows.filter((row) => row.kind === kind).length;
  const calls = rows.reduce((sum, row) => sum + row.calls, 0);
  // Some are run more than once: against another version of the API, or for another part of what they do.
  const programs = new Set(
    rows.filter(({ kind }) => kind === "real").map(({ client }) => client.split(" (")[0]),
  );
  return (
    `clients: ${passed("real")} of ${of("real")} real (of ${programs.size} different programs), ` +
    `${passed("replica")} of ${of("replica")} replicas, ${calls} calls`
  );
}
