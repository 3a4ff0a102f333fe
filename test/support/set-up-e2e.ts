// Setup of the browser tests: builds the dashboard and the documentation once, which no test may do while others use
// them, starts a durable PostgreSQL (the program refuses any other), and fills the database that every test file copies.
import type { TestProject } from "vitest/node";
import { build } from "../../scripts/build.ts";
import { seedAccount, seedProject } from "../../scripts/seed.ts";
import { openDatabase } from "../../src/store/db.ts";
import { embeddedPostgres } from "./postgres-binaries.ts";
import { startPostgres } from "./postgres.ts";
import { createSiteDatabase } from "./site.ts";

export const SEEDED_DATABASE = "overdue_seeded";

/** The contents of the template database. */
export type SeededSite = {
  accountId: number;
  /** With a dozen jobs and their history, and with none. */
  demo: string;
  empty: string;
};

declare module "vitest" {
  interface ProvidedContext {
    siteServerUrl: string;
    seededSite: SeededSite;
  }
}

const FEW_CHECKS = 12;

export async function setup(project: TestProject) {
  await build(["web", "docs"]);
  const server = await startPostgres({ binaries: embeddedPostgres() });
  const url = await createSiteDatabase(server.url(), SEEDED_DATABASE);
  const database = openDatabase({ url, applicationName: "overdue-e2e-setup", onError: () => {} });
  try {
    const { id: ownerId } = await seedAccount(database);
    const common = { ownerId, secretKey: null };
    const demo = await seedProject(database, { ...common, name: "Demo", checkCount: FEW_CHECKS });
    const empty = await seedProject(database, { ...common, name: "Playground", checkCount: 0 });
    project.provide("siteServerUrl", server.url());
    project.provide("seededSite", { accountId: ownerId, demo: demo.uuid, empty: empty.uuid });
  } finally {
    await database.close();
  }
  return () => server.stop();
}
