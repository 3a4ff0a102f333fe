// The example in docs/examples sets up a project with a personal access token, using nothing but the API.
import { expect, test } from "vitest";
import { setUpProject } from "../../docs/examples/set-up-project.ts";
import { ApiClient, ApiResponseError } from "../../src/client/client.ts";
import type { TokenScope } from "../../src/core/access.ts";
import { createAccessToken } from "../../src/operations/tokens.ts";
import { useCast } from "../management/cast.ts";

const cast = useCast({
  roles: ["ping", "api"],
  // Invitations and confirmations are queued; nothing is sent, since the notifier does not run.
  settings: { OVERDUE_SMTP_HOST: "127.0.0.1", OVERDUE_MAIL_FROM: "overdue@example.org" },
});

async function clientWith(scope: TokenScope): Promise<ApiClient> {
  const { account } = cast.owner;
  const given = { account, name: scope, scope, expiresInDays: 1, secretKey: cast.secretKey };
  const token = await createAccessToken(cast.db, { ...given, now: await cast.now() });
  return new ApiClient({ siteUrl: cast.site, token });
}

test("a project, members, keys, 20 checks, 5 channels, and badges", async () => {
  const api = await clientWith("write");
  const made = await setUpProject(api, "Servers");
  const { project } = made;
  const settings = await api.call("getProject", { project });
  expect(settings).toMatchObject({ name: "Servers", role: "owner" });
  expect(settings.invitations.map(({ email }) => email).toSorted()).toEqual([
    "ada@example.org",
    "grace@example.org",
  ]);
  // A project starts without API keys.
  expect(settings.keys.map(({ kind }) => kind).toSorted()).toEqual(["readOnly", "readWrite"]);
  const { channels } = await api.call("listChannels", { project });
  expect(channels.map(({ kind }) => kind)).toEqual(["email", "webhook", "slack", "ntfy", "discord"]);
  expect(Object.keys(made.pingUrls)).toHaveLength(20);
  const tags = ["*", "backup", "db", "files", "mail", "system", "tls", "web"];
  expect(Object.keys(made.badges).toSorted()).toEqual(tags);

  // Everything works: a ping arrives, and the badge and both keys can be used.
  const [pingUrl = ""] = Object.values(made.pingUrls);
  expect((await fetch(pingUrl)).status).toBe(200);
  expect((await fetch(made.badges["*"] ?? "")).status).toBe(200);
  const writer = new ApiClient({ siteUrl: cast.site, apiKey: made.readWriteKey });
  expect((await writer.call("listChannels", { project })).channels).toHaveLength(5);
  const reader = new ApiClient({ siteUrl: cast.site, apiKey: made.readOnlyKey });
  expect((await reader.call("listBadges", { project })).badges).toHaveLength(tags.length);
  const refused = reader.call("createCheck", { project, body: { name: "x" } });
  await expect(refused).rejects.toMatchObject({ status: 403 });
});

test("a token that can only read changes nothing", async () => {
  const refusal = await setUpProject(await clientWith("read"), "Refused").catch((error: unknown) => error);
  if (!(refusal instanceof ApiResponseError)) throw new Error(`not refused: ${String(refusal)}`);
  expect(refusal.problem).toMatchObject({ status: 403, type: "urn:overdue:problem:forbidden" });
  const { rows } = await cast.db.pool.query("select 1 from projects where name = 'Refused'");
  expect(rows).toEqual([]);
});
