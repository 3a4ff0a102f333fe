// Signal: recipients, accounts, and the limits of the server's account.
import { describe, expect, test } from "vitest";
import { HOUR_MS } from "../../../src/core/instant.ts";
import { useReceivers } from "../open-receiver.ts";
import { PROVIDERS, sampleChannel } from "../sample-kinds.ts";
import { DOWN } from "../sample-messages.ts";

const open = useReceivers();

describe("Signal", () => {
  test("is sent to numbers and user names, from the account of the server", async () => {
    const providers = { ...PROVIDERS, signalAccount: "+14155550100" };
    const { receiver, send } = await open("signal", { providers });
    for (const value of ["+37120000000", "ada.01"]) {
      expect(await send(DOWN, { config: { value } })).toMatchObject({ kind: "sent" });
    }
    expect(receiver.problems).toEqual([]);
    expect(receiver.received.map(({ json }) => json["params"])).toMatchObject([
      { account: "+14155550100", recipient: ["+37120000000"] },
      { account: "+14155550100", recipient: ["u:ada.01"] },
    ]);
  });

  test("is sent with the client for addresses of admins", async () => {
    const http = { send: () => Promise.reject(new Error("the wrong client")) };
    const adminHttp = { send: async () => ({ status: 503, headers: {}, text: "" }) };
    const { send } = await open("signal", { http, adminHttp });
    expect(await send(DOWN)).toMatchObject({ kind: "failed", code: 503, summary: "POST signal.example.org" });
  });

  test.each([
    [{ retryAfterSeconds: 86_400 }, 24 * HOUR_MS],
    [{}, 6 * HOUR_MS],
  ])("waits for hours when Signal limits the account: %j", async (more, retryAfterMs) => {
    const { receiver, send } = await open("signal");
    const results = [{ type: "RATE_LIMIT_FAILURE", token: "t", ...more }];
    const error = { code: -5, message: "rate limiting", data: { response: { results } } };
    const id = "6f1c1d0c-61b1-4bd0-8c4a-0f4f2f2f9d11";
    receiver.behave({ kind: "answer", answer: { status: 200, body: { jsonrpc: "2.0", error, id } } });
    const reason = expect.stringContaining("until an admin solves a CAPTCHA");
    expect(await send(DOWN)).toMatchObject({ permanent: false, isOurs: true, retryAfterMs, reason });
  });

  test("needs the address of signal-cli", async () => {
    const { receiver, send } = await open("signal", { providers: { ...PROVIDERS, signalUrl: null } });
    const reason = expect.stringContaining("OVERDUE_SIGNAL_CLI_URL");
    expect(await send(DOWN)).toMatchObject({ kind: "failed", permanent: false, inDoubt: false, reason });
    expect(receiver.received).toEqual([]);
  });

  test("notifies for the events that are on", async () => {
    const { sender } = await open("signal");
    const channel = sampleChannel("signal", { value: "+37120000000", up: false, notice: false });
    expect((["down", "up", "notice"] as const).map((what) => sender.isSubscribed(channel, what))).toEqual([
      true,
      false,
      false,
    ]);
  });
});
