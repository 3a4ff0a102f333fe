// How planted faults change statements: the driver passes them through a function. The product itself has no such
// hook.
import pg from "pg";

export type SentQuery = { name?: string; text?: string; values?: unknown[] };

type AnyQuery = (this: unknown, config: unknown, ...rest: unknown[]) => unknown;

/** Every statement goes through the function first; texts without a name are passed as `{ text }`. */
export function rewriteQueries(rewrite: (query: SentQuery) => SentQuery): void {
  const prototype = pg.Client.prototype as unknown as { query: AnyQuery };
  const original = prototype.query;
  prototype.query = function query(config, ...rest) {
    if (typeof config === "string") {
      const { text = config } = rewrite({ text: config });
      return original.call(this, text, ...rest);
    }
    const isPlain = typeof config === "object" && config !== null && "text" in config;
    return original.call(this, isPlain ? rewrite(config as SentQuery) : config, ...rest);
  };
}
