// DingTalk: robots without signatures.
import { expect, test } from "vitest";
import { useReceivers } from "../open-receiver.ts";
import { DOWN } from "../sample-messages.ts";

const open = useReceivers();

test("DingTalk gets no signature without a secret", async () => {
  const urls: string[] = [];
  const http = {
    send: async ({ url }: { url: string }) => {
      urls.push(url);
      return { status: 200, headers: {}, text: '{"errcode":0,"errmsg":"ok"}' };
    },
  };
  const { send } = await open("dingtalk", { http });
  const url = "https://oapi.dingtalk.com/robot/send?access_token=0123456789";
  expect(await send(DOWN, { config: { url } })).toMatchObject({ kind: "sent" });
  expect(urls).toEqual([url]);
});
