// Global setup of the vitest project postgres-18.
import type { TestProject } from "vitest/node";
import { embeddedPostgres } from "./postgres-binaries.ts";
import { setUpPostgres } from "./set-up-postgres.ts";

export const setup = (project: TestProject) => setUpPostgres(project, embeddedPostgres());
