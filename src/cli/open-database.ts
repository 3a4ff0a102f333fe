// The database as a command needs it: opened when the schema fits, closed when the work is done.
import type { Config } from "../config.ts";
import { type Database, type DatabaseOptions, openDatabase } from "../store/db.ts";
import { verifySchema } from "../store/migrate.ts";
import { CommandError, EXIT } from "./command-context.ts";

/** A command runs one thing after the other. */
const COMMAND_CONNECTIONS_MAX = 2;

/** How a command connects. Throws CommandError when no database is set. */
export function databaseOptionsOf(config: Config): DatabaseOptions {
  if (config.databaseUrl === null) {
    throw new CommandError(
      "OVERDUE_DATABASE_URL is not set. Name the database, for instance\n" +
        "  export OVERDUE_DATABASE_URL=postgres://overdue@127.0.0.1:5432/overdue\n" +
        "or try `overdue` alone, which brings a database of its own. Beside a trial that runs, `overdue admin`\n" +
        "works in the folder that the trial was started in.",
      EXIT.usage,
    );
  }
  return {
    url: config.databaseUrl,
    applicationName: "overdue-cli",
    connectionsMax: COMMAND_CONNECTIONS_MAX,
    // A connection that breaks while idle shows itself in the next statement.
    onError: () => {},
  };
}

/** Runs `work` on a database whose schema is the one this program knows. */
export async function withDatabase<T>(config: Config, work: (database: Database) => Promise<T>): Promise<T> {
  const options = databaseOptionsOf(config);
  await verifySchema(options);
  const database = openDatabase(options);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}
