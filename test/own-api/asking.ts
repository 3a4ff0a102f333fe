// Requests to the Overdue API in tests. Every response is compared with its route definition, whatever the test is about.
import { Value } from "typebox/value";
import { expect } from "vitest";
import type { Channel, CreatedChannel } from "../../src/contract/api/channels.ts";
import { PROBLEM_TYPE, ProblemSchema } from "../../src/contract/api/problem.ts";
import { API_PATH, errorStatuses, type RouteDefinition } from "../../src/contract/api/route.ts";
import { API_ROUTES } from "../../src/contract/api/routes.ts";
import type { Asked, Cast, Reply } from "../api/cast.ts";

export type ApiReply = Omit<Reply, "json"> & { json: Record<string, unknown>; detail: string };

const PATTERNS = Object.entries<RouteDefinition>(API_ROUTES).map(([id, route]) => ({
  id,
  route,
  pattern: new RegExp(`^${route.path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}/?$`),
}));

/** Sends a request to a path below the prefix. `{project}` is the owner's. */
export async function askApi(cast: Cast, path: string, given: Asked = {}): Promise<ApiReply> {
  const named = path.replace("{project}", cast.owner.project.uuid);
  const reply = await cast.ask(API_PATH + named, given);
  const json = (reply.text === "" ? {} : JSON.parse(reply.text)) as Record<string, unknown>;
  const method = given.method ?? "GET";
  const [target = ""] = named.split("?");
  const found = PATTERNS.find(({ route, pattern }) => route.method === method && pattern.test(target));
  compare(reply, { json, id: found?.id ?? "", route: found?.route });
  return { ...reply, json, detail: typeof json["detail"] === "string" ? json["detail"] : "" };
}

function compare(
  reply: Reply,
  { json, id, route }: { json: unknown; id: string; route: RouteDefinition | undefined },
): void {
  const type = reply.headers.get("content-type");
  if (reply.status >= 400) {
    expect(type).toBe(PROBLEM_TYPE);
    expect([...Value.Errors(ProblemSchema, json)]).toEqual([]);
    expect(json).toMatchObject({ status: reply.status });
    if (route !== undefined) {
      expect(errorStatuses(route), `${id}: ${reply.text}`).toContain(reply.status);
    }
    return;
  }
  if (route === undefined) throw new Error(`${reply.status} from a route that does not exist`);
  expect(reply.status, id).toBe(route.success.status);
  if (reply.headers.has("ratelimit-limit")) {
    expect(Number(reply.headers.get("ratelimit-remaining"))).toBeGreaterThanOrEqual(0);
    expect(Number(reply.headers.get("ratelimit-reset"))).toBeGreaterThanOrEqual(0);
  }
  const { schema } = route.success;
  expect(reply.headers.has("etag"), id).toBe(route.etag === true && schema !== null);
  if (schema === null) return expect(reply.text).toBe("");
  expect(type).toBe("application/json");
  expect([...Value.Errors(schema, json)], id).toEqual([]);
  // The response has no field that the schema does not have.
  expect(Value.Clean(schema, structuredClone(json))).toEqual(json);
}

export const SLACK = {
  kind: "slack",
  name: "Ops",
  config: { url: "https://hooks.slack.com/services/T0001/B0001/s3cr3tpath0001" },
};

export type Made = Channel & Pick<CreatedChannel, "generated">;

/** Creates a channel of the owner. */
export async function newChannel(cast: Cast, body: object = SLACK): Promise<Made> {
  const reply = await askApi(cast, "/projects/{project}/channels", {
    method: "POST",
    key: cast.owner.rw,
    body,
  });
  if (reply.status !== 201) throw new Error(`the channel was not created: ${reply.status} ${reply.text}`);
  const { channel, generated } = reply.json as unknown as CreatedChannel;
  return { ...channel, generated };
}
