// Setup of a test project: starts its PostgreSQL and migrates the database that every test file copies.
import type { TestProject } from "vitest/node";
import { migrate } from "../../src/store/migrate.ts";
import type { PostgresBinaries } from "./postgres-binaries.ts";
import { startPostgres } from "./postgres.ts";

export const TEMPLATE_DATABASE = "overdue_template";

declare module "vitest" {
  interface ProvidedContext {
    /** URL of the `postgres` database of this project's server. */
    postgresUrl: string;
    postgresMajor: number;
  }
}

/** Starts the server, provides its URL to the tests, and returns the function that stops it. */
export async function setUpPostgres(project: TestProject, binaries: PostgresBinaries) {
  const server = await startPostgres({ binaries, durable: false });
  await createTemplate(server.url());
  await migrate({
    url: server.url(TEMPLATE_DATABASE),
    applicationName: "overdue-test-setup",
    onError: () => {},
    requireDurable: false,
  });
  project.provide("postgresUrl", server.url());
  project.provide("postgresMajor", server.major);
  return () => server.stop();
}

async function createTemplate(url: string): Promise<void> {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`create database ${TEMPLATE_DATABASE}`);
  await client.end();
}
