// Names that cron knows for some schedules. The Management API refuses them, so what is stored is the expression.

const MACROS: ReadonlyMap<string, string> = new Map([
  ["@hourly", "0 * * * *"],
  ["@daily", "0 0 * * *"],
  ["@midnight", "0 0 * * *"],
  ["@weekly", "0 0 * * 0"],
  ["@monthly", "0 0 1 * *"],
  ["@yearly", "0 0 1 1 *"],
  ["@annually", "0 0 1 1 *"],
]);

export const MACRO_NAMES: readonly string[] = [...MACROS.keys()];

/** The expression that a macro stands for; null when the text is none. */
export function expandMacro(text: string): string | null {
  return MACROS.get(text.trim().toLowerCase()) ?? null;
}
