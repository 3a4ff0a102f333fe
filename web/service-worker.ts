// The service worker: shows push messages. It handles no requests and caches nothing.
import { type Clicked, openPush, showExpired, showPush, type WorkerScope } from "./push-events.ts";

type WorkerEvent = Event & {
  waitUntil(work: Promise<unknown>): void;
  data?: { text(): string } | null;
  notification?: Clicked;
  action?: string;
};

const scope = globalThis as unknown as WorkerScope & {
  skipWaiting(): Promise<void>;
  addEventListener(name: string, listener: (event: WorkerEvent) => void): void;
};

// A new version replaces the running one immediately: there is no state to lose.
scope.addEventListener("install", (event) => event.waitUntil(scope.skipWaiting()));
scope.addEventListener("push", (event) => event.waitUntil(showPush(scope, event.data?.text() ?? "")));
scope.addEventListener("pushsubscriptionchange", (event) => event.waitUntil(showExpired(scope)));
scope.addEventListener("notificationclick", (event) => {
  if (event.notification !== undefined)
    event.waitUntil(openPush(scope, event.notification, event.action ?? ""));
});
