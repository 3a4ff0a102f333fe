import { join } from "node:path";

/**
 * Environment for programs that tests start from source: Node keeps the compiled modules, type stripping included, so
 * that each start after the first takes half the processor time.
 */
export const COMPILE_CACHE: Readonly<Record<string, string>> = {
  NODE_COMPILE_CACHE: join(import.meta.dirname, "../../test-results/compile-cache"),
};
