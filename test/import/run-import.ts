// Runs an import in a test, with the defaults of the command.
import { CONFIG_RULES } from "../../src/channels/registry.ts";
import type { ImportSource } from "../../src/core/import-source.ts";
import { type ImportReport, type ImportRequest, runImport } from "../../src/operations/import.ts";
import type { TestDatabase } from "../support/database.ts";

const SECRET = "a secret of this server with 32 characters";

export function importInto(
  { db, url }: Pick<TestDatabase, "db" | "url">,
  source: ImportSource,
  options: Partial<ImportRequest> = {},
): Promise<ImportReport> {
  return runImport({
    source,
    database: db,
    connection: { url, applicationName: "overdue-test", requireDurable: false, onError: () => {} },
    isWriting: true,
    projects: [],
    into: null,
    ownerEmail: null,
    takesLimits: false,
    skipsUnknownChannels: false,
    configRules: CONFIG_RULES,
    secretKey: SECRET,
    secretKeyPrevious: null,
    knownKey: null,
    ...options,
  });
}
