// The model is worth something only while it is nobody's copy: it imports nothing of the product, and the world that
// it is told of does not either.
import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
/** Chance may be borrowed from the fault run: it knows nothing of checks. */
const BORROWED = ["test/faults/chance.ts"];

/** What a text imports, dynamic imports and passed-on exports included. */
function importsOf(text: string): string[] {
  const from = /\b(?:import|export)\b[^"';]*?\bfrom\s*["']([^"']+)["']/g;
  const bare = /\bimport\s*\(?\s*["']([^"']+)["']/g;
  return [...text.matchAll(from), ...text.matchAll(bare)].map((match) => match[1] ?? "");
}

/** The files of a folder and whatever they import, and theirs, as paths from the root. */
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

  test("worlds, verdicts and the comparison know nothing of the product", () => {
    const reached = [
      ...reachedFrom("test/sim/world/**/*.ts"),
      ...reachedFrom("test/sim/{verdicts,comparison}.ts"),
    ];
    const outside = reached.flatMap(([, imports]) =>
      imports.filter((name) => !name.startsWith("test/sim/") && !BORROWED.includes(name)),
    );
    expect(outside).toEqual([]);
  });

  test("an import of the product would be seen, however it is written", () => {
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
