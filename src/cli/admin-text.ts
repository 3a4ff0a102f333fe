// The words and columns that admin commands print for people. Looks nothing up.
import type { Config } from "../config.ts";

export type ShownKeys = {
  uuid: string;
  api_key: string | null;
  api_key_readonly: string | null;
  ping_key: string | null;
};

/** Where clients of this installation are pointed. */
export function addressesOf(config: Config): { api: string; ping: string } {
  return {
    api: config.apiUrl ?? `${config.siteUrl}/api`,
    ping: config.pingUrl ?? `${config.siteUrl}/ping`,
  };
}

/** The keys, once, with a word on each. */
export function renderKeys(keys: ShownKeys, addresses: { api: string; ping: string }): string {
  const rows = [
    ["Project", keys.uuid],
    ["API key (read-write)", keys.api_key],
    ["API key (read-only)", keys.api_key_readonly],
    ["Ping key", keys.ping_key],
    ["API URL", `${addresses.api}/v3/checks/`],
    ["Ping URL", keys.ping_key === null ? null : `${addresses.ping}/${keys.ping_key}/<slug>`],
  ].filter((row): row is [string, string] => typeof row[1] === "string");
  return `${renderColumns(rows)}\nSave these API keys now. You won't be able to see them again.\n`;
}

/** Rows as aligned columns, two spaces apart, without spaces at the end of a line. */
export function renderColumns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}
