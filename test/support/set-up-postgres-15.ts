// Global setup of the vitest project postgres-15.
import type { TestProject } from "vitest/node";
import { debianPostgres } from "./postgres-binaries.ts";
import { setUpPostgres } from "./set-up-postgres.ts";

export const setup = (project: TestProject) => setUpPostgres(project, debianPostgres());
