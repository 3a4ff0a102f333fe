// The model is useful only if it is independent: neither the model nor the generated worlds may import product
// code.
import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
/** The random generator of the fault tests contains no product logic. */
const BORROWED = ["test/faults/chance.ts"];

/** All imports of a source text, including dynamic imports and re-exports. */
function importsOf(text: string): string[] {
  const from = /\b(?:import|export)\b[^"';]*?\bfrom\s*["']([^"']+)["']/g;
  const bare = /\bimport\s*\(?\s*["']([^"']+)["']/g;
  return [...text.matchAll(from), ...text.matchAll(bare)].map((match) => match[1] ?? "");
}

/** The matching files and their transitive imports, as paths relative to the root. */
function reachedFrom(pattern: string): Map<string, string[]> {
  const reached = new Map<string, string[]>();
  const waiting = globSync(pattern, { cwd: ROOT });
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (reached.has(path)) continue;
    const imports = importsOf(readFileSync(join(ROOT, path), "utf8")).map((name) =>
      name.startsWith(".") ? relative(ROOT, join(ROOT, dirname(path ?? ""), name)) : name,
    );
    reached.set(path, imports);
    waiting.push(...imports.filter((name) => name.endsWith(".ts")));
  }
  return reached;
}

describe("independence", () => {
  test("the model imports nothing but itself", () => {
    const reached = reachedFrom("test/sim/model/**/*.ts");
    expect(reached.size).toBeGreaterThan(5);
    const outside = [...reached].flatMap(([path, imports]) =>
      imports.filter((name) => !name.startsWith("test/sim/model/")).map((name) => `${path}: ${name}`),
    );
    expect(outside).toEqual([]);
  });

  test("worlds, verdicts and the comparison import no product code", () => {
    const reached = [
      ...reachedFrom("test/sim/world/**/*.ts"),
      ...reachedFrom("test/sim/{verdicts,comparison}.ts"),
    ];
    const outside = reached.flatMap(([, imports]) =>
      imports.filter((name) => !name.startsWith("test/sim/") && !BORROWED.includes(name)),
    );
    expect(outside).toEqual([]);
  });

  test("every form of import is detected", () => {
    const planted = [
      'import { x } from "../../../src/core/check.ts";',
      'import type {\n  X,\n} from "../../../src/core/check.ts";',
      'export { x } from "../../../src/core/check.ts";',
      'const x = await import("../../../src/core/check.ts");',
      'import "../../../src/core/check.ts";',
    ];
    for (const text of planted) expect(importsOf(text)).toEqual(["../../../src/core/check.ts"]);
  });
});
