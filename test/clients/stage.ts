// The server that clients meet: the real program in one dialect, the proxy that counts in front of it, and projects
// with keys and channels. Everything on loopback, and gone when it is stopped.
import { type Database, openDatabase } from "../../src/store/db.ts";
import { findProjectByUuid } from "../../src/store/projects.ts";
import type { Dialect } from "../conformance/dialects.ts";
import { type ServerUnderTest, startServerUnderTest } from "../conformance/server-under-test.ts";
import { freePort } from "../support/ports.ts";
import type { PostgresServer } from "../support/postgres.ts";
import { type CountingProxy, startCountingProxy } from "./counting-proxy.ts";

export type ProjectOnStage = {
  id: number;
  uuid: string;
  apiKey: string;
  apiKeyReadonly: string;
  pingKey: string;
  /** Two: an email and a webhook. */
  channels: readonly { id: string; name: string; kind: string }[];
};

const CHANNELS = [
  { kind: "email", name: "Ops" },
  { kind: "webhook", name: "Pager" },
];

export type Stage = {
  /** The public address, which leads through the proxy. */
  site: string;
  /** Where the server listens behind the proxy. */
  origin: string;
  proxy: CountingProxy;
  database: Database;
  /** A project of an account of its own, with two channels and no checks. */
  newProject(): Promise<ProjectOnStage>;
  /** What the server said last, for complaints. */
  said(): string;
  stop(): Promise<void>;
};

/** Starts a server in a dialect, on a database of its own, and waits until it is ready. */
export async function startStage(postgres: PostgresServer, dialect: Dialect): Promise<Stage> {
  const port = await freePort();
  const proxy = await startCountingProxy(() => port);
  const site = `http://127.0.0.1:${proxy.port}`;
  let server: ServerUnderTest;
  try {
    server = await startServerUnderTest({ postgres, dialect, port, siteUrl: site });
  } catch (error) {
    await proxy.close();
    throw error;
  }
  // A broken connection shows in the statement that needed it.
  const onError = () => {};
  const database = openDatabase({ url: server.databaseUrl, applicationName: "overdue-clients", onError });
  return {
    site,
    origin: server.origin,
    proxy,
    database,
    newProject: () => newProject({ database, server }),
    said: () => server.said(),
    stop: async () => {
      await database.close();
      await proxy.close();
      await server.stop();
    },
  };
}

async function newProject(on: { database: Database; server: ServerUnderTest }): Promise<ProjectOnStage> {
  const made = await on.server.makeProject({ channels: CHANNELS });
  const project = await findProjectByUuid(on.database, made.uuid);
  if (project === null) throw new Error("the project that was just made is not there");
  return {
    id: project.id,
    uuid: made.uuid,
    apiKey: made.api_key,
    apiKeyReadonly: made.api_key_readonly,
    pingKey: made.ping_key,
    channels: made.channels ?? [],
  };
}
