// Who may do what in our own API: every route with every key, against a literal table. A route that the table does not
// know makes the test fail, and a refused request leaves everything as it was.
import { beforeAll, describe, expect, test } from "vitest";
import { OWN_ROUTES } from "../../src/contract/own-routes.ts";
import { useCast } from "../api/cast.ts";
import { CREDENTIALS, type Keys, makeKeys } from "../api/credentials.ts";
import { askOwn, newChannel, SLACK } from "./asking.ts";

const cast = useCast({ settings: { OVERDUE_API_RATE_LIMIT: "0" } });

// biome-ignore format: a table is read by its columns.
const TABLE: Readonly<Record<string, readonly number[]>> = {
  //                                     none malformed unknown revoked  ro   rw  other rw  other ro
  "GET /kinds":                           [401, 401, 401, 401, 200, 200, 200, 200],
  "GET /channels":                        [401, 401, 401, 401, 200, 200, 200, 200],
  "POST /channels":                       [401, 401, 401, 401, 403, 201, 201, 403],
  "GET /channels/{channel}":              [401, 401, 401, 401, 200, 200, 404, 404],
  "PATCH /channels/{channel}":            [401, 401, 401, 401, 403, 200, 404, 403],
  "DELETE /channels/{channel}":           [401, 401, 401, 401, 403, 204, 404, 403],
  "GET /channels/{channel}/checks":       [401, 401, 401, 401, 403, 200, 404, 403],
  "POST /channels/{channel}/test":        [401, 401, 401, 401, 403, 202, 404, 403],
  "GET /channels/{channel}/deliveries":   [401, 401, 401, 401, 403, 200, 404, 403],
  "GET /deliveries/{delivery}":           [401, 401, 401, 401, 403, 200, 404, 403],
  "POST /deliveries/{delivery}/retry":    [401, 401, 401, 401, 403, 202, 404, 403],
};

const OWN_NAME = "only its own project sees this";

let keys: Keys;

beforeAll(async () => {
  keys = await makeKeys(cast);
});

/** A channel of the owner with a test that nobody has sent. */
async function sample(): Promise<{ channel: string; delivery: string }> {
  const { id } = await newChannel(cast, { ...SLACK, name: OWN_NAME });
  const reply = await askOwn(cast, `/channels/${id}/test`, { method: "POST", key: cast.owner.rw });
  const [delivery] = reply.json["deliveries"] as { id: string }[];
  return { channel: id, delivery: delivery?.id ?? "" };
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
  expect(OWN_ROUTES.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual(
    Object.keys(TABLE).toSorted(),
  );
});

describe.each(CREDENTIALS)("with %s", (credential) => {
  test.each(Object.entries(TABLE))("%s", async (row, statuses) => {
    const [method = "", path = ""] = row.split(" ");
    const { channel, delivery } = await sample();
    const before = await stored();
    const key = keys[credential];
    const reply = await askOwn(cast, path.replace("{channel}", channel).replace("{delivery}", delivery), {
      method,
      ...(key !== undefined && { key }),
      ...(method === "POST" && path === "/channels" && { body: SLACK }),
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
  expect((await askOwn(cast, "/channels", { method: "POST", body })).status).toBe(401);
  expect((await askOwn(cast, `/channels?api_key=${cast.owner.rw}`)).status).toBe(401);
});
