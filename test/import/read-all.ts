import type {
  ImportSource,
  SourceAccount,
  SourceCheck,
  SourceFlip,
  SourcePing,
  SourceProject,
} from "../../src/core/import-source.ts";

export type Everything = {
  accounts: SourceAccount[];
  projects: SourceProject[];
  /** By UUID of the check. */
  checks: Map<string, { project: string; check: SourceCheck; pings: SourcePing[]; flips: SourceFlip[] }>;
  limitations: readonly string[];
};

/** All pages as one list. */
export async function collect<T>(pages: AsyncIterable<T[]>): Promise<T[]> {
  const items: T[] = [];
  for await (const page of pages) items.push(...page);
  return items;
}

/** Everything that a small source contains. Closes it. */
export async function readAll(source: ImportSource): Promise<Everything> {
  try {
    const [accounts, projects] = [await source.accounts(), await source.projects()];
    const checks: Everything["checks"] = new Map();
    for (const project of projects) {
      for await (const page of source.checks(project)) {
        for (const check of page) {
          const pings = await collect(source.pings(check, 0));
          checks.set(check.uuid, { project: project.ref, check, pings, flips: await source.flips(check) });
        }
      }
    }
    return { accounts, projects, checks, limitations: [...source.limitations] };
  } finally {
    await source.close();
  }
}
