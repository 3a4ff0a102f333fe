// Reads from the database what `overdue doctor` reports about it. The rules are in core/doctor.ts.
import {
  clockFinding,
  connectionsFinding,
  type Finding,
  fine,
  problem,
  problemOf,
  schemaFinding,
  secretFindings,
  serverFindings,
} from "../core/doctor.ts";
import { SECRET_KEY_LENGTH_MIN } from "../core/limits.ts";
import { changesOf, healthProblemsOf } from "../core/server-health.ts";
import { explainConnection } from "../lib/postgres-error.ts";
import { type Database, type DatabaseOptions, openDatabase } from "../store/db.ts";
import { UnusableDatabaseError } from "../store/errors.ts";
import {
  findStoredIdentity,
  findStoredSecret,
  inspectServer,
  listIncidents,
  readDatabaseClock,
} from "../store/instance.ts";
import { planMigrations, refuseTransactionPooling } from "../store/migrate.ts";
import { createChallenge, readService } from "./database-identity.ts";
import { observeServer } from "./server-health.ts";
import { readIntakes } from "./intakes.ts";
import { readSecretUses, type SecretSettings, secretsOf } from "./secrets.ts";

export type DiagnoseOptions = {
  database: DatabaseOptions;
  /** How long one step may wait for the server. */
  timeoutMs: number;
  /** Connections that a process with these settings can open. */
  connectionsNeeded: number;
  adminChannel: string | null;
  secrets: SecretSettings;
};

export type Diagnosis = {
  findings: Finding[];
  /** What a server on this database answers at its public URL; null if that cannot be tested. */
  challenge: { id: string; answer: string } | null;
  /** The stored secret; null if the database cannot be used. */
  secret: string | null;
};

const SERVER_LOG = "Check the log of the database server.";

/** Never throws: everything that fails is a finding. */
export async function diagnoseDatabase(options: DiagnoseOptions): Promise<Diagnosis> {
  const { timeoutMs } = options;
  // A server that Overdue refuses is examined, too.
  const database = { ...options.database, requireDurable: false, connectTimeoutMs: timeoutMs };
  const findings: Finding[] = [];
  try {
    const facts = await inspectServer({ ...database, timeoutMs });
    const about = serverFindings(facts);
    findings.push(
      ...about,
      connectionsFinding(facts, { needed: options.connectionsNeeded }),
      clockFinding(facts.clock),
    );
    await refuseTransactionPooling(database);
    const plan = await planMigrations({ ...database, statementTimeoutMs: timeoutMs });
    findings.push(schemaFinding(plan));
    if (plan.pending.length > 0) return { findings, challenge: null, secret: null };
    return await diagnoseService(options, { findings, database, isWritable: !facts.isReadOnly });
  } catch (error) {
    findings.push(findingOf(error));
    return { findings, challenge: null, secret: null };
  }
}

function findingOf(error: unknown): Finding {
  if (error instanceof UnusableDatabaseError) {
    const isSchema = /migrat|version of Overdue/.test(error.message);
    return problemOf(isSchema ? "schema" : "database", error.message, SERVER_LOG);
  }
  const said = explainConnection(error) ?? (error instanceof Error ? error.message : String(error));
  return problemOf("database", `Cannot use the database: ${said}`, SERVER_LOG);
}

type Service = { findings: Finding[]; database: DatabaseOptions; isWritable: boolean };

async function diagnoseService(
  { adminChannel, secrets }: DiagnoseOptions,
  { findings, database: options, isWritable }: Service,
): Promise<Diagnosis> {
  const database = openDatabase({ ...options, connectionsMax: 2 });
  try {
    findings.push(await stateFinding(database), ...(await healthFindings(database, adminChannel)));
    findings.push(...(await readSecretFindings(database, secrets)));
    const secret = await findStoredSecret(database);
    return { findings, challenge: isWritable ? await createChallenge(database) : null, secret };
  } finally {
    await database.close();
  }
}

async function stateFinding(database: Database): Promise<Finding> {
  const [stored, { isInService }] = await Promise.all([findStoredIdentity(database), readService(database)]);
  if (isInService) return fine("service", "Notifications are sent: the server is not in safe mode.");
  const reason = stored?.reason ?? "The database was restored or copied.";
  return problem(
    "service",
    `The server is in safe mode or about to enter it, so no notifications are sent: ${reason}`,
    "If this server is in service, run `overdue admin restore confirm`. If it is a copy, do nothing.",
  );
}

async function readSecretFindings(database: Database, settings: SecretSettings): Promise<Finding[]> {
  const secrets = await secretsOf(database, settings);
  const given = settings.secretKeyPrevious;
  const now = await readDatabaseClock(database);
  return secretFindings({
    previous: given === null ? "none" : secrets.previous === null ? "same" : "other",
    isShort: given !== null && given.length < SECRET_KEY_LENGTH_MIN,
    counts: await readSecretUses(database, { secrets, now }),
  });
}

async function healthFindings(database: Database, channelUuid: string | null): Promise<Finding[]> {
  const look = await readIntakes(database);
  const [incidents, observed] = await Promise.all([
    listIncidents(database),
    observeServer(database, { look, unsettledSinceAt: null, locked: new Map(), channelUuid }),
  ]);
  const { begun } = changesOf(incidents, { problems: healthProblemsOf(observed), now: look.now });
  const found = [...incidents, ...begun].map(({ kind, text }) =>
    problemOf("health", text, `See the health problem ${kind} in the operating guide.`),
  );
  return found.length > 0 ? found : [fine("health", "The server has no health problems.")];
}
