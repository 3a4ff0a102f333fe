// Alertmanager: how requests are authenticated, and labels of the user's own.
import { expect, test } from "vitest";
import { CONFIG_RULES } from "../../../src/channels/registry.ts";
import type { OutgoingRequest } from "../../../src/lib/outgoing-http.ts";
import { useReceivers } from "../open-receiver.ts";
import { DOWN } from "../sample-messages.ts";

const open = useReceivers();
const url = "https://alerts.example.org";

async function sent(config: Record<string, string>): Promise<OutgoingRequest | undefined> {
  const requests: OutgoingRequest[] = [];
  const http = {
    send: async (request: OutgoingRequest) => {
      requests.push(request);
      return { status: 200, headers: {}, text: "" };
    },
  };
  const { send } = await open("alertmanager", { http });
  await send(DOWN, { config: { url, ...config } });
  return requests[0];
}

test.each([
  [{}, undefined],
  [{ token: "secret-token" }, "Bearer secret-token"],
  [{ username: "overdue", password: "a:b" }, "Basic b3ZlcmR1ZTphOmI="],
])("%j is sent as %s", async (config, authorization) => {
  expect((await sent(config))?.headers?.["Authorization"]).toBe(authorization);
});

test("labels replace those of the same name, except the key", async () => {
  const request = await sent({ labels: " team = the ops = team ,severity=page,, unique_key=x" });
  expect(JSON.parse(String(request?.body))).toMatchObject([
    {
      labels: {
        alertname: "OverdueCheckDown",
        severity: "page",
        team: "the ops = team",
        unique_key: "a6c7b0a8a66bed0df66abfdab3c77736861703ee",
      },
    },
  ]);
});

test.each([
  [{ labels: "team" }, "Labels must have the form name=value, separated by commas."],
  [{ labels: "team=" }, "Labels must have the form name=value, separated by commas."],
  [{ labels: "the-team=ops" }, "Labels must have the form name=value, separated by commas."],
  [{ token: "t", username: "u" }, "Use either a token or a username and password, not both."],
])("%j is rejected", (config, text) => {
  expect(CONFIG_RULES.read("alertmanager", { url, ...config })).toEqual({ ok: false, text });
});
