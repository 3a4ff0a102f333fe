import { join } from "node:path";

/**
 * Environment for programs that tests start from source: Node caches compiled modules, including type stripping, so
 * that each start after the first takes half the CPU time.
 */
export const COMPILE_CACHE: Readonly<Record<string, string>> = {
  NODE_COMPILE_CACHE: join(import.meta.dirname, "../../test-results/compile-cache"),
};
