// Requests to the Overdue API in tests.
import type { Channel, CreatedChannel } from "../../src/contract/api/channels.ts";
import { API_PATH } from "../../src/contract/api/route.ts";
import type { Asked, Cast, Reply } from "../management/cast.ts";

export type ApiReply = Omit<Reply, "json"> & { json: Record<string, unknown>; detail: string };

/** Sends a request to a path below the prefix. `{project}` is the owner's. */
export async function askApi(cast: Cast, path: string, given: Asked = {}): Promise<ApiReply> {
  const named = path.replace("{project}", cast.owner.project.uuid);
  const reply = await cast.ask(API_PATH + named, given);
  const json = (reply.text === "" ? {} : JSON.parse(reply.text)) as Record<string, unknown>;
  return { ...reply, json, detail: typeof json["detail"] === "string" ? json["detail"] : "" };
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
