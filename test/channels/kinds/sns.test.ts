// Amazon SNS: topics that keep an order, subjects, and regions.
import { describe, expect, test } from "vitest";
import { useReceivers } from "../open-receiver.ts";
import { CONFIGS, DEDUPE_KEY } from "../sample-kinds.ts";
import { DOWN, downNamed, UP } from "../sample-messages.ts";

const open = useReceivers();
const CONFIG = CONFIGS["sns"] ?? {};

describe("Amazon SNS", () => {
  test("gets the messages of a check in order, and each once, in a FIFO topic", async () => {
    const { receiver, send } = await open("sns");
    const config = { ...CONFIG, topic_arn: `${String(CONFIG["topic_arn"])}.fifo` };
    for (const message of [DOWN, UP]) expect(await send(message, { config })).toMatchObject({ kind: "sent" });
    expect(receiver.problems).toEqual([]);
    const [down, up] = receiver.received.map(({ body }) => new URLSearchParams(body));
    expect(down?.get("MessageGroupId")).toMatch(/^[0-9a-f]{40}$/);
    expect(up?.get("MessageGroupId")).toBe(down?.get("MessageGroupId"));
    expect(down?.get("MessageDeduplicationId")).toBe(DEDUPE_KEY);
  });

  test.each([
    ["Ünïcödé & 日本語", "DOWN | Unicode & ?"],
    ["x".repeat(200), `DOWN | ${"x".repeat(89)}...`],
    ["", "DOWN | unnamed check"],
  ])("gets a subject of ASCII for %j", async (name, subject) => {
    const { receiver, send } = await open("sns");
    const named = downNamed(name);
    const settings = { ...named.check.settings, slug: "" };
    await send({ ...named, check: { ...named.check, settings } });
    expect(receiver.problems).toEqual([]);
    expect(new URLSearchParams(receiver.received[0]?.body).get("Subject")).toBe(subject);
  });

  test.each([
    ["arn:aws:sns:us-east-1:123456789012:a", "https://sns.us-east-1.amazonaws.com/"],
    ["arn:aws-cn:sns:cn-north-1:123456789012:a", "https://sns.cn-north-1.amazonaws.com.cn/"],
    ["arn:aws-us-gov:sns:us-gov-west-1:123456789012:a", "https://sns.us-gov-west-1.amazonaws.com/"],
  ])("is called in the region of %s", async (topic_arn, expected) => {
    const urls: string[] = [];
    const http = {
      send: async ({ url }: { url: string }) => {
        urls.push(url);
        return { status: 200, headers: {}, text: "" };
      },
    };
    const { send } = await open("sns", { http });
    await send(DOWN, { config: { ...CONFIG, topic_arn } });
    expect(urls).toEqual([expected]);
  });

  test("does not accept a wrong key", async () => {
    const { send } = await open("sns");
    const result = await send(DOWN, { config: { ...CONFIG, secret_key: "wrong-secret-key" } });
    expect(result).toMatchObject({ permanent: true, code: 403 });
  });
});
