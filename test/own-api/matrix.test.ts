// Which API keys may do what with channels: every route with every key, against a literal table. A route without a row
// fails the test, and a refused request changes nothing.
import { beforeAll, describe, expect, test } from "vitest";
import { channelRoutes } from "../../src/contract/api/channels.ts";
import { useCast } from "../api/cast.ts";
import { CREDENTIALS, type Keys, makeKeys } from "../api/credentials.ts";
import { askApi, newChannel, SLACK } from "./asking.ts";

const cast = useCast({ settings: { OVERDUE_API_RATE_LIMIT: "0" } });

// biome-ignore format: a table is read by its columns.
const TABLE: Readonly<Record<string, readonly number[]>> = {
  //                                     none malformed unknown revoked  ro   rw  other rw  other ro
  "GET /channel-kinds":                   [401, 401, 401, 401, 200, 200, 200, 200],
  "GET /projects/{project}/channels":     [401, 401, 401, 401, 200, 200, 404, 404],
  "POST /projects/{project}/channels":    [401, 401, 401, 401, 403, 201, 404, 403],
  "POST /projects/{project}/channels/warnings": [401, 401, 401, 401, 403, 200, 404, 403],
  "GET /channels/{channel}":              [401, 401, 401, 401, 200, 200, 404, 404],
  "PATCH /channels/{channel}":            [401, 401, 401, 401, 403, 200, 404, 403],
  "DELETE /channels/{channel}":           [401, 401, 401, 401, 403, 204, 404, 403],
  "GET /channels/{channel}/checks":       [401, 401, 401, 401, 403, 200, 404, 403],
  "POST /channels/{channel}/test":        [401, 401, 401, 401, 403, 202, 404, 403],
  "GET /channels/{channel}/deliveries":   [401, 401, 401, 401, 403, 200, 404, 403],
  "GET /projects/{project}/deliveries/{delivery}": [401, 401, 401, 401, 403, 200, 404, 403],
  "POST /projects/{project}/deliveries/{delivery}/retry": [401, 401, 401, 401, 403, 202, 404, 403],
};

const OWN_NAME = "only its own project sees this";

let keys: Keys;

beforeAll(async () => {
  keys = await makeKeys(cast);
});

/** A channel of the owner with a test that nobody has sent. */
async function sample(): Promise<{ channel: string; delivery: number }> {
  const { id } = await newChannel(cast, { ...SLACK, name: OWN_NAME });
  const reply = await askApi(cast, `/channels/${id}/test`, { method: "POST", key: cast.owner.rw });
  const [delivery] = reply.json["deliveries"] as { id: number }[];
  return { channel: id, delivery: delivery?.id ?? 0 };
}

async function stored(): Promise<unknown> {
  const query = (text: string) => cast.db.pool.query(text);
  const { rows: channels } = await query("select * from channels order by id");
  const { rows: deliveries } = await query("select * from deliveries order by id");
  const { rows: assigned } = await query("select * from check_channels order by 1, 2");
  const { rows: record } = await query("select * from audit_entries order by id");
  return { channels, deliveries, assigned, record };
}

test("every route has a row, and every row a route", () => {
  expect(Object.values(channelRoutes).map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual(
    Object.keys(TABLE).toSorted(),
  );
});

describe.each(CREDENTIALS)("with %s", (credential) => {
  test.each(Object.entries(TABLE))("%s", async (row, statuses) => {
    const [method = "", path = ""] = row.split(" ");
    const { channel, delivery } = await sample();
    const before = await stored();
    const key = keys[credential];
    const reply = await askApi(cast, path.replace("{channel}", channel).replace("{delivery}", String(delivery)), {
      method,
      ...(key !== undefined && { key }),
      ...(method === "POST" && path.endsWith("/channels") && { body: SLACK }),
      ...(path.endsWith("/warnings") && { body: { kind: SLACK.kind, config: SLACK.config } }),
      ...(method === "PATCH" && { body: { name: "changed" } }),
    });
    expect(reply.status).toBe(statuses[CREDENTIALS.indexOf(credential)]);
    if (reply.status >= 400 || method === "GET") expect(await stored()).toEqual(before);
    if (credential.startsWith("other")) expect(reply.text).not.toContain(OWN_NAME);
    await cast.db.pool.query("delete from channels where uuid = $1", [channel]);
  });
});

test("a key in the body, or in the address, is none", async () => {
  const body = { ...SLACK, api_key: cast.owner.rw };
  expect((await askApi(cast, "/projects/{project}/channels", { method: "POST", body })).status).toBe(401);
  expect((await askApi(cast, `/projects/{project}/channels?api_key=${cast.owner.rw}`)).status).toBe(401);
});
