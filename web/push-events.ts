// What the service worker does when a push message arrives and when its notification is clicked.

/** The payload that src/channels/kinds/webpush.ts sends. */
type PushPayload = { title: string; body: string; url: string; tag: string; ack?: string };

/** TypeScript provides the types of service workers only instead of those of documents. */
export type WorkerScope = {
  registration: {
    /** Ends with a slash. */
    scope: string;
    showNotification(title: string, options: ShownOptions): Promise<void>;
  };
  clients: {
    matchAll(of: { type: "window"; includeUncontrolled: true }): Promise<readonly OpenedWindow[]>;
    openWindow(url: string): Promise<unknown>;
  };
};

type OpenedWindow = { url: string; focus(): Promise<unknown> };

type ShownOptions = NotificationOptions & {
  /** Alert the user again when a notification is replaced. */
  renotify?: boolean;
  actions?: { action: string; title: string }[];
};

/** The notification that was clicked. */
export type Clicked = { close(): void; data?: unknown };

const ACK = "ack";
/** Has the same name in every build. */
const ICON = "web/assets/icon-192.png";

/** Shows the notification of a message. Browsers withdraw the permission of sites that receive messages and show none. */
export function showPush(scope: WorkerScope, text: string): Promise<void> {
  const { title, body, url, tag, ack } = readPayload(text, scope);
  return scope.registration.showNotification(title, {
    body,
    icon: scope.registration.scope + ICON,
    data: { url, ack },
    ...(tag === "" ? {} : { tag, renotify: true }),
    ...(ack === undefined ? {} : { actions: [{ action: ACK, title: "Acknowledge" }] }),
  });
}

function readPayload(text: string, { registration }: WorkerScope): PushPayload {
  const other = { title: "Overdue", body: text, url: registration.scope, tag: "" };
  try {
    return { ...other, ...(JSON.parse(text) as Partial<PushPayload>) };
  } catch {
    return other;
  }
}

/** Focuses the window that shows the page of a notification, or opens one. */
export async function openPush(scope: WorkerScope, clicked: Clicked, action: string): Promise<void> {
  clicked.close();
  const { url, ack } = (clicked.data ?? {}) as Partial<PushPayload>;
  const wanted = (action === ACK ? ack : url) ?? "";
  const target = wanted.startsWith(scope.registration.scope) ? wanted : scope.registration.scope;
  const windows = await scope.clients.matchAll({ type: "window", includeUncontrolled: true });
  const open = windows.find((one) => one.url === target);
  await (open === undefined ? scope.clients.openWindow(target) : open.focus());
}

/** The worker cannot identify the channel and may not be signed in, so it asks the user to renew the subscription. */
export function showExpired({ registration }: WorkerScope): Promise<void> {
  return registration.showNotification("Notifications have stopped", {
    body: "The push subscription of this browser has expired. Open the dashboard, edit the channel, and turn on notifications again.",
    icon: registration.scope + ICON,
    tag: "expired",
    data: { url: registration.scope },
  });
}
