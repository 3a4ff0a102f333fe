// Asking our own API in tests: every answer is compared with the schema that the routes promise, whatever the test is
// about.
import { Value } from "typebox/value";
import { expect } from "vitest";
import { type ChannelJson, PROBLEM_TYPE, ProblemSchema } from "../../src/contract/channels.ts";
import { OWN_API_PATH, ownRefusals, type OwnRoute } from "../../src/contract/own-routes.ts";
import { OWN_ENDPOINT_RIGHTS } from "../../src/core/access.ts";
import { locateOwn } from "../../src/services/api/own-api.ts";
import type { Asked, Cast, Reply } from "../api/cast.ts";

export type OwnReply = Omit<Reply, "json"> & { json: Record<string, unknown>; detail: string };

/** Sends a request to a path below the prefix, and judges the form of the answer. */
export async function askOwn(cast: Cast, path: string, given: Asked = {}): Promise<OwnReply> {
  const reply = await cast.ask(OWN_API_PATH + path, given);
  const json = (reply.text === "" ? {} : JSON.parse(reply.text)) as Record<string, unknown>;
  const method = given.method ?? "GET";
  const { routes } = locateOwn(OWN_API_PATH + path.replace(/\?.*$/, ""));
  judge(reply, { json, route: routes.find((one) => one.method === method) });
  return { ...reply, json, detail: typeof json["detail"] === "string" ? json["detail"] : "" };
}

function judge(reply: Reply, { json, route }: { json: unknown; route: OwnRoute | undefined }): void {
  const type = reply.headers.get("content-type");
  if (reply.status >= 400) {
    expect(type).toBe(PROBLEM_TYPE);
    expect([...Value.Errors(ProblemSchema, json)]).toEqual([]);
    expect(json).toMatchObject({ status: reply.status });
    if (route === undefined) return;
    const known = ownRefusals(route, OWN_ENDPOINT_RIGHTS[route.endpoint].readOnly);
    expect(known, `${route.endpoint} answers ${reply.text}`).toContain(reply.status);
    return;
  }
  if (route === undefined) throw new Error(`${reply.status} from a route that does not exist`);
  expect(reply.status, route.endpoint).toBe(route.status);
  if (reply.headers.has("ratelimit-limit")) {
    expect(Number(reply.headers.get("ratelimit-remaining"))).toBeGreaterThanOrEqual(0);
    expect(Number(reply.headers.get("ratelimit-reset"))).toBeGreaterThanOrEqual(0);
  }
  expect(reply.headers.has("etag"), route.endpoint).toBe(route.isTagged === true);
  if (route.answer.schema === null) return expect(reply.text).toBe("");
  expect(type).toBe("application/json");
  expect([...Value.Errors(route.answer.schema, json)], route.endpoint).toEqual([]);
  // No field comes that the schema does not know.
  expect(Value.Clean(route.answer.schema, structuredClone(json))).toEqual(json);
}

export type Made = ChannelJson & { made: Record<string, string> };

export const SLACK = {
  kind: "slack",
  name: "Ops",
  config: { url: "https://hooks.slack.com/services/T0001/B0001/s3cr3tpath0001" },
};

/** Makes a channel of the owner. */
export async function newChannel(cast: Cast, body: object = SLACK): Promise<Made> {
  const reply = await askOwn(cast, "/channels", { method: "POST", key: cast.owner.rw, body });
  if (reply.status !== 201) throw new Error(`no channel was made: ${reply.status} ${reply.text}`);
  return reply.json as unknown as Made;
}
