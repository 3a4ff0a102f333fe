// Pushover: emergencies, tokens, and errors that must not be repeated.
import { describe, expect, test } from "vitest";
import { type PushoverReceiver, startPushover } from "../../receivers/kinds/po.ts";
import { type Opened, useReceivers } from "../open-receiver.ts";
import { CONFIGS, KEYS, sampleChannel } from "../sample-kinds.ts";
import { DOWN, GROUP_DOWN, GROUP_UP, NOW, TOLERATED, UP } from "../sample-messages.ts";

const openReceiver = useReceivers();
const EMERGENCY = { ...CONFIGS["po"], priority: 2 };
const pathsOf = ({ receiver }: Opened) => receiver.received.map(({ path }) => path.replace(/^.*\//, ""));
const formsOf = ({ receiver }: Opened) => receiver.received.map(({ body }) => new URLSearchParams(body));
const openPushover = (options: Parameters<typeof openReceiver>[1] = {}) =>
  openReceiver<PushoverReceiver>("po", { ...options, started: startPushover() });

describe("Pushover", () => {
  test.each([
    ["check", DOWN, UP],
    ["group", GROUP_DOWN, GROUP_UP],
  ])("cancels the emergency of a %s before it notifies that it is over", async (_what, down, up) => {
    const opened = await openPushover();
    await opened.send(down, { config: EMERGENCY });
    const [tag] = opened.receiver.emergencies;
    expect(formsOf(opened)[0]?.get("tags")).toBe(tag);
    expect(await opened.send(up, { config: EMERGENCY })).toMatchObject({ kind: "sent" });
    expect(pathsOf(opened)).toEqual(["messages.json", `${tag}.json`, "messages.json"]);
    expect(opened.receiver.emergencies.size).toBe(0);
    expect(opened.receiver.problems).toEqual([]);
  });

  test("cancels an emergency although it does not notify of recoveries", async () => {
    const opened = await openPushover();
    const config = { ...EMERGENCY, priority_up: -3 };
    expect(opened.sender.isSubscribed(sampleChannel("po", config), "up")).toBe(true);
    await opened.send(DOWN, { config });
    expect(await opened.send(UP, { config })).toMatchObject({ kind: "sent" });
    expect(opened.receiver.received).toHaveLength(2);
    expect(opened.receiver.emergencies.size).toBe(0);
  });

  test("tries both requests again if it could not cancel", async () => {
    const opened = await openPushover();
    opened.receiver.behave({ kind: "answer", answer: { status: 500 } });
    expect(await opened.send(UP, { config: EMERGENCY })).toMatchObject({ kind: "failed", permanent: false });
    expect(opened.receiver.received).toHaveLength(1);
    opened.receiver.behave({ kind: "answer", answer: { status: 404 } });
    await opened.send(UP, { config: EMERGENCY });
    expect(pathsOf(opened).at(-1)).toBe("messages.json");
  });

  test("notifies for events that have a priority", async () => {
    const opened = await openPushover();
    const config = { ...CONFIGS["po"], priority: -3, priority_up: -2 };
    const channel = sampleChannel("po", config);
    expect(
      (["down", "up", "notice"] as const).map((what) => opened.sender.isSubscribed(channel, what)),
    ).toEqual([false, true, true]);
    await opened.send(UP, { config });
    await opened.send(TOLERATED, { config: EMERGENCY });
    expect(formsOf(opened).map((form) => form.get("priority"))).toEqual(["-2", "-1"]);
  });

  test("uses the token of the server only if the channel has none", async () => {
    const { app_token, ...config } = { app_token: "", ...CONFIGS["po"] };
    expect(await (await openPushover()).send(DOWN, { config })).toMatchObject({
      kind: "failed",
      permanent: false,
      reason: expect.stringContaining("OVERDUE_PUSHOVER_TOKEN"),
    });
    const opened = await openPushover({ keys: { ...KEYS, pushoverToken: app_token } });
    expect(await opened.send(DOWN, { config })).toMatchObject({ kind: "sent", isOurs: true });
    expect(await opened.send(DOWN)).not.toHaveProperty("isOurs");
  });

  test("tells the admins that the token of the server is refused, and repeats nothing", async () => {
    const { app_token: _own, ...config } = { app_token: "", ...EMERGENCY };
    const opened = await openPushover({ keys: { ...KEYS, pushoverToken: "x".repeat(30) } });
    const refused = { permanent: true, keepsChannel: true, isOurs: true };
    expect(await opened.send(DOWN, { config })).toMatchObject(refused);
    expect(await opened.send(UP, { config })).toMatchObject(refused);
    expect(opened.receiver.received).toHaveLength(2);
    const own = { ...EMERGENCY, app_token: "x".repeat(30) };
    const result = await opened.send(UP, { config: own });
    expect(result).toMatchObject({ permanent: true });
    expect(result).not.toHaveProperty("isOurs");
    expect(opened.receiver.received).toHaveLength(3);
  });

  test("waits until the quota of the application is reset", async () => {
    const { receiver, send } = await openPushover();
    const headers = { "X-Limit-App-Reset": String(NOW / 1_000 + 90) };
    receiver.behave({ kind: "answer", answer: { status: 429, headers } });
    expect(await send(DOWN)).toMatchObject({ permanent: false, retryAfterMs: 90_000 });
  });
});
