// The service worker's handlers, with a browser that writes down what it is asked for.
import { beforeEach, expect, test } from "vitest";
import { openPush, showExpired, showPush, type WorkerScope } from "./push-events.ts";

const SCOPE = "https://overdue.example.org/base/";
const PAGE = `${SCOPE}projects/1/incidents/2/`;

let shown: { title: string; options: NotificationOptions }[];
let done: string[];
let windows: string[];
let scope: WorkerScope;

beforeEach(() => {
  shown = [];
  done = [];
  windows = [];
  scope = {
    registration: {
      scope: SCOPE,
      showNotification: async (title, options) => {
        shown.push({ title, options });
      },
    },
    clients: {
      matchAll: async () => windows.map((url) => ({ url, focus: async () => done.push(`focus ${url}`) })),
      openWindow: async (url) => done.push(`open ${url}`),
    },
  };
});

const clicked = (data: unknown) => ({ data, close: () => done.push("close") });

test("a message becomes a notification that replaces the last one of its incident", async () => {
  await showPush(scope, JSON.stringify({ title: "backup is DOWN", body: "No ping", url: PAGE, tag: "t" }));
  expect(shown).toEqual([
    {
      title: "backup is DOWN",
      options: {
        body: "No ping",
        icon: `${SCOPE}web/assets/icon-192.png`,
        tag: "t",
        renotify: true,
        data: { url: PAGE, ack: undefined },
      },
    },
  ]);
});

test("a message with a link to acknowledge has a button for it", async () => {
  const ack = `${SCOPE}ack/1`;
  await showPush(scope, JSON.stringify({ title: "a", body: "b", url: PAGE, tag: "t", ack }));
  expect(shown[0]?.options).toMatchObject({ actions: [{ action: "ack", title: "Acknowledge" }] });
  await openPush(scope, clicked(shown[0]?.options.data), "ack");
  expect(done).toEqual(["close", `open ${ack}`]);
});

test.each(["", "Test push message", "{"])("text that is no payload (%j) is shown, too", async (text) => {
  await showPush(scope, text);
  expect(shown).toMatchObject([{ title: "Overdue", options: { body: text, data: { url: SCOPE } } }]);
  expect(shown[0]?.options).not.toHaveProperty("renotify");
});

test("a click focuses the window that shows the page, else it opens one", async () => {
  windows = [SCOPE, PAGE];
  await openPush(scope, clicked({ url: PAGE }), "");
  windows = [SCOPE];
  await openPush(scope, clicked({ url: PAGE }), "");
  expect(done).toEqual(["close", `focus ${PAGE}`, "close", `open ${PAGE}`]);
});

test.each(["https://elsewhere.example/", "javascript:alert(1)", undefined])(
  "a click never leads to another site (%s)",
  async (url) => {
    await openPush(scope, clicked({ url }), "");
    expect(done).toEqual(["close", `open ${SCOPE}`]);
  },
);

test("the user is told that a subscription has expired", async () => {
  await showExpired(scope);
  expect(shown).toMatchObject([{ title: "Notifications have stopped", options: { data: { url: SCOPE } } }]);
});
