// Everything that is tested of the job wrappers: cases, requests beside those of runitor, costs, kills and random input.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compareRequests } from "./compare.ts";
import { fuzzWrappers } from "./fuzz.ts";
import { type Killed, killWrappers } from "./kills.ts";
import { type Figures, measure } from "./measure.ts";
import { type Result, runCases } from "./run-cases.ts";
import { startServers } from "./servers.ts";
import { wrappersHere } from "./wrapper.ts";

export type Size = "quick" | "full";

const SIZES = {
  quick: { repeats: 2, bytes: 32 * 1024 * 1024, hasHole: false, tolerance: 10, kills: 16, fuzz: 20 },
  full: { repeats: 15, bytes: 1024 * 1024 * 1024, hasHole: true, tolerance: 1, kills: 300, fuzz: 400 },
} as const;

export type Report = {
  results: Result[];
  figures: Figures;
  kills: Omit<Killed, "results">;
  missing: string[];
};

export type RunOptions = { size: Size; seed: number; say: (text: string) => void };

export async function runWrappers({ size, seed, say }: RunOptions): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), "overdue-wrappers-"));
  const { wrappers, missing } = wrappersHere(folder);
  const servers = await startServers();
  const given = { ...SIZES[size], servers, folder, seed };
  const results: Result[] = [];
  const figures: Figures = {};
  const note = (found: readonly Result[]) => {
    results.push(...found);
    for (const { case: name, wrapper, problem } of found)
      if (problem !== null) say(`FAILED ${wrapper}: ${name}: ${problem}`);
  };
  try {
    // First, while nothing else runs.
    for (const wrapper of wrappers) {
      const measured = await measure(wrapper, given);
      note(measured.results);
      Object.assign(figures, measured.figures);
    }
    note(await runCases(wrappers, { ...given, isQuick: size === "quick" }));
    note(await compareRequests(wrappers, given));
    note(await fuzzWrappers(wrappers, { ...given, count: given.fuzz }));
    const { results: killed, ...kills } = await killWrappers(wrappers, { ...given, count: given.kills });
    note(killed);
    return { results, figures, kills, missing };
  } finally {
    await servers.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
