// Every snippet, in the order in which they are offered.
import { COMPILED_SNIPPETS } from "./compiled.ts";
import { PLATFORM_SNIPPETS } from "./platforms.ts";
import { SCRIPT_SNIPPETS } from "./scripts.ts";
import { SHELL_SNIPPETS } from "./shells.ts";
import type { Facts, Snippet, Variant } from "./snippet.ts";
import { TOOL_SNIPPETS } from "./tools.ts";

export const SNIPPETS: readonly Snippet[] = [
  ...SHELL_SNIPPETS,
  ...SCRIPT_SNIPPETS,
  ...COMPILED_SNIPPETS,
  ...PLATFORM_SNIPPETS,
  ...TOOL_SNIPPETS,
];

/** The lines of a snippet; null: it has none of this kind, or not for this check. */
export function snippetText(snippet: Snippet, variant: Variant, facts: Facts): string | null {
  return snippet.texts[variant]?.(facts) ?? null;
}
