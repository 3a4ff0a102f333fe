// Feishu: bots without signature verification.
import { expect, test } from "vitest";
import type { OutgoingRequest } from "../../../src/lib/outgoing-http.ts";
import { useReceivers } from "../open-receiver.ts";
import { DOWN } from "../sample-messages.ts";

const open = useReceivers();

test("Feishu gets no signature without a secret", async () => {
  const bodies: string[] = [];
  const http = {
    send: async ({ body }: OutgoingRequest) => {
      bodies.push(String(body));
      return { status: 200, headers: {}, text: '{"code":0}' };
    },
  };
  const { send } = await open("feishu", { http });
  const url = "https://open.larksuite.com/open-apis/bot/v2/hook/x";
  expect(await send(DOWN, { config: { url } })).toMatchObject({
    kind: "sent",
    summary: "POST open.larksuite.com",
  });
  expect(Object.keys(JSON.parse(bodies[0] ?? "{}") as object)).toEqual(["msg_type", "card"]);
});
