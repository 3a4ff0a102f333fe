// What a developer finds in a fresh database: an account, a project with its keys, and a dozen checks of all
// kinds. Only for development: it writes checks without the limits and the log that an operation would add.
import { randomUUID } from "node:crypto";
import { type CheckParams, newCheck } from "../src/core/check.ts";
import { secretKeyOf } from "../src/operations/api-key.ts";
import { createAccount } from "../src/operations/create-account.ts";
import { type CreatedProject, createProject } from "../src/operations/create-project.ts";
import { insertState } from "../src/store/checks/check-states.ts";
import { insertCheck } from "../src/store/checks/checks.ts";
import type { Database } from "../src/store/db.ts";
import { readDatabaseClock } from "../src/store/instance.ts";
import { findProjectByUuid } from "../src/store/projects.ts";
import { inTransaction } from "../src/store/transaction.ts";

export const SEED_EMAIL = "dev@example.org";

const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 24 * HOUR_SECONDS;

const CHECKS: readonly CheckParams[] = [
  { name: "Nightly backup", tags: "prod backup", schedule: "30 2 * * *", tz: "Europe/Berlin" },
  { name: "Restore drill", tags: "prod backup", schedule: "0 5 * * 0", graceSeconds: 6 * HOUR_SECONDS },
  { name: "Database vacuum", tags: "prod db", timeoutSeconds: DAY_SECONDS },
  { name: "Send invoices", tags: "prod billing", schedule: "Mon..Fri 09:00", tz: "America/New_York" },
  {
    name: "Certificate renewal",
    tags: "prod tls",
    timeoutSeconds: 7 * DAY_SECONDS,
    graceSeconds: DAY_SECONDS,
  },
  { name: "Search index", tags: "prod search", timeoutSeconds: 900, graceSeconds: 300 },
  { name: "Queue worker heartbeat", tags: "prod queue", timeoutSeconds: 60, graceSeconds: 120 },
  { name: "Log rotation", tags: "ops", schedule: "*-*-* 00:05:00" },
  { name: "Fetch exchange rates", tags: "prod billing", schedule: "15 */4 * * *" },
  { name: "Clean staging", tags: "staging", timeoutSeconds: DAY_SECONDS, manualResume: true },
  { name: "NAS self test", tags: "home mail", subject: "PASSED", subjectFail: "FAILED, ERROR" },
  { name: "Deployment hook", tags: "ops", methods: "POST", timeoutSeconds: 30 * DAY_SECONDS },
];

/** Fills an empty database and returns the keys, which are readable here and never again. */
export async function seed(
  database: Database,
  { secretKey }: { secretKey: string | null },
): Promise<CreatedProject> {
  const now = await readDatabaseClock(database);
  const account = await createAccount(database, {
    email: SEED_EMAIL,
    name: "Developer",
    isOperator: true,
    checkLimit: null,
    now,
  });
  const made = await createProject(database, {
    ownerId: account.id,
    name: "Demo",
    secretKey: await secretKeyOf(database, secretKey),
    now,
  });
  const project = await findProjectByUuid(database, made.uuid);
  if (project === null) throw new Error("the project that was just made is gone");
  await inTransaction(database, async (tx) => {
    for (const params of CHECKS) {
      const settings = newCheck(params, { deriveSlug: true });
      const check = {
        uuid: randomUUID(),
        badgeUuid: randomUUID(),
        projectId: project.id,
        settings,
        createdAt: now,
      };
      await insertState(tx, await insertCheck(tx, check));
    }
  });
  return made;
}
