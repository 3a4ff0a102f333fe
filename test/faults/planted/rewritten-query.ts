// How planted faults get at what the program says to the database: whatever passes the driver can be changed on
// its way. The product itself has no such door.
import pg from "pg";

export type SentQuery = { name?: string; text?: string; values?: unknown[] };

type AnyQuery = (this: unknown, config: unknown, ...rest: unknown[]) => unknown;

/** Everything that is sent goes through the function first; texts without a name come as `{ text }`. */
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
