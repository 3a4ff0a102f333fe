// What the fuzzed server has for the Overdue API: an account that is an admin, its tokens, a project with checks,
// channels, members and history, and ids of all of them.
import { randomBytes } from "node:crypto";
import { ApiClient } from "../../src/client/client.ts";
import type { TokenScope } from "../../src/core/access.ts";
import { secretKeyOf } from "../../src/operations/secrets.ts";
import { createAccessToken } from "../../src/operations/tokens.ts";
import { openDatabase } from "../../src/store/db.ts";
import { readDatabaseClock } from "../../src/store/instance.ts";
import type { ServerUnderTest } from "../../test/conformance/server-under-test.ts";

/** In the form that hooks_overdue.py reads. */
export type OverdueWorld = {
  api: string;
  tokens: { admin: string; read: string };
  keys: { readWrite: string; readOnly: string; stranger: string; unknown: string };
  /** Values for parameters of paths, by name. */
  ids: Readonly<Record<string, readonly string[]>>;
  texts: Readonly<Record<string, readonly string[]>>;
  /** Operations that are only sent with a token that may not do them. */
  ending: readonly string[];
};

/** They delete the account, its credentials, or its rights. */
export const ENDING_OPERATIONS: readonly string[] = [
  "closeAccount",
  "revokeToken",
  "leaveProject",
  "requestTransfer",
  "acceptTransfer",
  "updateServerAccount",
  "deleteServerAccount",
];

const TEXTS = {
  schedule: ["* * * * *", "*/5 0-6 1,15 * mon-fri", "0 0 29 2 *", "daily", "Sat,Sun 03:00:00"],
  tz: ["UTC", "Europe/Riga", "America/New_York", "Asia/Kolkata"],
  zone: ["UTC", "Europe/Riga", "America/New_York", "Asia/Kolkata"],
  email: ["ada@example.org", "grace@example.org"],
};

export async function makeOverdueWorld(server: ServerUnderTest): Promise<OverdueWorld> {
  const own = await server.makeProject({});
  const other = await server.makeProject({});
  const database = openDatabase({
    url: server.databaseUrl,
    applicationName: "overdue-fuzz",
    onError: () => {},
  });
  try {
    const { rows } = await database.pool.query<{ id: number; email: string }>(
      `update accounts set is_operator = true where id =
        (select m.account_id from members m join projects p on p.id = m.project_id where p.uuid = $1 limit 1)
        returning id::int, email`,
      [own.uuid],
    );
    const [account] = rows;
    if (account === undefined) throw new Error("the project has no owner");
    const secretKey = await secretKeyOf(database, null);
    const now = await readDatabaseClock(database);
    const token = (scope: TokenScope) =>
      createAccessToken(database, { account, name: scope, scope, expiresInDays: 1, secretKey, now });
    const tokens = { admin: await token("admin"), read: await token("read") };
    const ids = await fill(new ApiClient({ siteUrl: server.site, token: tokens.admin }), own.uuid);
    return {
      api: `${server.site}/api/overdue/v1`,
      tokens,
      keys: {
        readWrite: own.api_key,
        readOnly: own.api_key_readonly,
        stranger: other.api_key,
        unknown: randomBytes(16).toString("hex"),
      },
      ids,
      texts: TEXTS,
      ending: ENDING_OPERATIONS,
    };
  } finally {
    await database.close();
  }
}

async function fill(api: ApiClient, project: string): Promise<Record<string, string[]>> {
  const checks: string[] = [];
  for (let number = 0; number < 6; number++) {
    const body = { name: `Check ${number}`, tags: "prod", kind: "simple", timeoutSeconds: 60 } as const;
    const { id, pingAddresses } = await api.call("createCheck", { project, body });
    for (const action of ["/start", "", "/fail"]) {
      await fetch(pingAddresses.url + action, { method: "POST", body: "done\n" });
    }
    checks.push(id);
  }
  const channels: string[] = [];
  for (const body of [
    { kind: "webhook", config: { url_down: "https://example.org/hook" } },
    { kind: "ntfy", config: { topic: "fuzz" } },
  ]) {
    channels.push((await api.call("createChannel", { project, body })).channel.id);
  }
  const { members } = await api.call("getProject", { project });
  return {
    project: [project],
    check: checks,
    channel: channels,
    account: members.map(({ id }) => id),
    delivery: ["1", "2", "3"],
    run: ["1", "2", "3"],
    ping: ["1", "2", "3"],
    n: ["1", "2", "3"],
    flip: ["1", "2", "3"],
    key: ["1", "2", "3", "4"],
  };
}
