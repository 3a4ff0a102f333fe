// The setup of browser notifications: what each browser can do, and the text it shows.
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { webpushWords as words } from "../words/webpush.ts";
import { type PushBrowser, type SetUpState, SetUpView, setUpState, subscribe } from "./webpush-setup.tsx";

const KEY = "BP4z9KsN-_8";
const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile Safari/604.1";
const IPAD = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/18.0 Safari/605.1.15";
const CONFIG = { endpoint: "https://push.example/1", p256dh: "p", auth: "a", browser: "Firefox on Linux" };

function bytesOf(key: string): ArrayBuffer {
  const text = atob(key.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(text, (sign) => sign.charCodeAt(0)).buffer;
}

/** A browser, and what was done with its subscription. */
function browserWith(given: Partial<PushBrowser> & { subscribedWith?: string; fails?: string } = {}) {
  const done: string[] = [];
  const subscription = (key: string) => ({
    options: { applicationServerKey: bytesOf(key) },
    toJSON: () => ({ endpoint: CONFIG.endpoint, keys: { p256dh: "p", auth: "a" } }),
    unsubscribe: async () => done.push("unsubscribe"),
  });
  const manager = {
    getSubscription: async () =>
      given.subscribedWith === undefined ? null : subscription(given.subscribedWith),
    subscribe: async ({ applicationServerKey: key, userVisibleOnly }: PushSubscriptionOptionsInit) => {
      if (given.fails !== undefined) throw new Error(given.fails);
      done.push(`subscribe ${key as string} ${userVisibleOnly}`);
      return subscription(KEY);
    },
  } as unknown as PushManager;
  const browser: PushBrowser = {
    ua: FIREFOX,
    isTouch: false,
    isSecure: true,
    permission: "default",
    ask: async () => "granted",
    push: async () => manager,
    ...given,
  };
  return { browser, done };
}

test.each([
  ["ready", {}],
  ["ready", { permission: "granted" }],
  ["ready", { permission: "granted", subscribedWith: "BAAA" }],
  ["ready", { permission: "default", subscribedWith: KEY }],
  ["subscribed", { permission: "granted", subscribedWith: KEY }],
  ["denied", { permission: "denied" }],
  ["insecure", { isSecure: false, push: null }],
  ["unsupported", { push: null }],
  ["unsupported", { permission: null }],
  ["homeScreen", { push: null, ua: IPHONE }],
  ["homeScreen", { push: null, ua: IPAD, isTouch: true }],
  ["unsupported", { push: null, ua: IPAD }],
] as const)("the state is %s with %j", async (kind, given) => {
  expect(await setUpState(browserWith(given).browser, KEY)).toMatchObject({ kind });
});

test("a browser subscribes with the key of the server and hands over its configuration", async () => {
  const { browser, done } = browserWith();
  expect(await subscribe(browser, KEY)).toEqual({ kind: "done", config: CONFIG });
  expect(done).toEqual([`subscribe ${KEY} true`]);
});

test("a subscription with an earlier key of the server is replaced", async () => {
  const { browser, done } = browserWith({ subscribedWith: "BAAA" });
  expect(await subscribe(browser, KEY)).toMatchObject({ kind: "done" });
  expect(done).toEqual(["unsubscribe", `subscribe ${KEY} true`]);
  const same = browserWith({ subscribedWith: KEY });
  await subscribe(same.browser, KEY);
  expect(same.done).toEqual([`subscribe ${KEY} true`]);
});

test.each([
  ["denied", { ask: async () => "denied" as const }],
  ["dismissed", { ask: async () => "default" as const }],
  ["failed", { fails: "no push service" }],
])("the attempt ends as %s", async (kind, given) => {
  expect(await subscribe(browserWith(given).browser, KEY)).toMatchObject({ kind });
});

function shown(state: SetUpState): string {
  const view = createElement(SetUpView, { state, onTurnOn: () => {}, onUse: () => {} });
  return renderToStaticMarkup(view).replaceAll("&#x27;", "'");
}

test.each([
  [{ kind: "ready" }, words.about, words.turnOn],
  [{ kind: "dismissed" }, words.dismissed, words.turnOn],
  [{ kind: "failed", reason: "no push service" }, words.failed("no push service"), words.turnOn],
  [{ kind: "subscribed", config: CONFIG }, words.subscribed("Firefox on Linux"), words.use],
  [{ kind: "done", config: CONFIG }, words.done("Firefox on Linux"), null],
  [{ kind: "denied" }, words.denied, null],
  [{ kind: "unsupported" }, words.unsupported, null],
  [{ kind: "homeScreen" }, words.homeScreen, null],
] as const)("$kind is explained, with what can be done about it", (state, text, action) => {
  const html = shown(state);
  expect(html).toContain(text);
  expect(html.includes("<button")).toBe(action !== null);
  if (action !== null) expect(html).toContain(`${action}</button>`);
});
