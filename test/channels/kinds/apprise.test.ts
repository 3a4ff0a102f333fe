// Apprise: stored keys, URLs, and which client calls the gateway.
import { expect, test } from "vitest";
import { readConfig } from "../../../src/channels/channel-config.ts";
import { apprise } from "../../../src/channels/kinds/apprise.ts";
import { useReceivers } from "../open-receiver.ts";
import { PROVIDERS } from "../sample-kinds.ts";
import { DOWN } from "../sample-messages.ts";

const open = useReceivers();
const URL_CONFIG = { target: "discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js" };

test("Apprise sends to a URL only if the server allows it", async () => {
  const { receiver, send } = await open("apprise");
  expect(await send(DOWN, { config: URL_CONFIG })).toMatchObject({ kind: "sent" });
  expect(receiver.problems).toEqual([]);
  expect(receiver.received[0]).toMatchObject({ path: "/notify/", json: { urls: URL_CONFIG.target } });
  const strict = await open("apprise", { providers: { ...PROVIDERS, appriseAllowUrls: false } });
  expect(await strict.send(DOWN, { config: URL_CONFIG })).toMatchObject({
    kind: "failed",
    permanent: false,
    reason: expect.stringContaining("OVERDUE_APPRISE_ALLOW_URLS"),
  });
  expect(await strict.send(DOWN)).toMatchObject({ kind: "sent" });
  expect(strict.receiver.received.map(({ path }) => path)).toEqual(["/notify/overdue-alerts"]);
});

test("Apprise is unavailable without a gateway", async () => {
  const providers = { ...PROVIDERS, appriseUrl: null };
  const { receiver, send } = await open("apprise", { providers });
  expect(await send(DOWN)).toMatchObject({ reason: expect.stringContaining("OVERDUE_APPRISE_URL") });
  expect(receiver.received).toEqual([]);
});

test("Apprise is called at the address of the admin, not as an address of users", async () => {
  const http = { send: () => Promise.reject(new Error("this client is for addresses of users")) };
  const adminHttp = { send: async () => ({ status: 200, headers: {}, text: "" }) };
  const { send } = await open("apprise", { http, adminHttp });
  expect(await send(DOWN)).toMatchObject({ kind: "sent" });
});

test("an unknown key in Apprise is no success", async () => {
  const { send } = await open("apprise");
  expect(await send(DOWN, { config: { target: "other" } })).toMatchObject({ kind: "failed", code: 204 });
});

test("Apprise has tags of stored configurations, not of URLs", () => {
  expect(readConfig(apprise, { tag: "ops", ...URL_CONFIG }, { strict: true })).toEqual({
    ok: false,
    text: "A tag can be used only with a key, not with an Apprise URL.",
  });
  expect(readConfig(apprise, { target: "two words" }, { strict: true })).toMatchObject({ ok: false });
});
