// Pushbullet: rate limits.
import { expect, test } from "vitest";
import { useReceivers } from "../open-receiver.ts";
import { DOWN, NOW } from "../sample-messages.ts";

const open = useReceivers();

test("Pushbullet is not called again before its rate limit is reset", async () => {
  const { receiver, send } = await open("pushbullet");
  const after = async (reset: string) => {
    receiver.behave({ kind: "answer", answer: { status: 429, headers: { "X-Ratelimit-Reset": reset } } });
    return send(DOWN);
  };
  expect(await after(String(NOW / 1_000 + 40))).toMatchObject({ permanent: false, retryAfterMs: 40_000 });
  expect(await after(String(NOW / 1_000 - 40))).toMatchObject({ permanent: false, retryAfterMs: 0 });
  expect(await after("later")).toMatchObject({ permanent: false, retryAfterMs: null });
});
