// Subscribes this browser to push messages of the server, for a channel of kind webpush.
import { useEffect, useState } from "react";
import { boot, siteUrl } from "../boot.ts";
import { deviceName } from "../parts/device.ts";
import { Button } from "../ui/button.tsx";
import { webpushWords as words } from "../words/webpush.ts";

/** The configuration of the channel. */
export type PushConfig = { endpoint: string; p256dh: string; auth: string; browser: string };

/** What the setup needs from a browser. */
export type PushBrowser = {
  ua: string;
  isTouch: boolean;
  isSecure: boolean;
  /** Null: it has no notifications. */
  permission: NotificationPermission | null;
  ask(): Promise<NotificationPermission>;
  /** Null: it has no push messages. `register` false: only a registration that exists. */
  push: ((register: boolean) => Promise<PushManager | null>) | null;
};

export type SetUpState =
  | {
      kind:
        | "checking"
        | "unsupported"
        | "insecure"
        | "homeScreen"
        | "denied"
        | "ready"
        | "asking"
        | "dismissed";
    }
  | { kind: "subscribed" | "done"; config: PushConfig }
  | { kind: "failed"; reason: string };

/** What can be done in a browser. `key` is the server's public key. */
export async function setUpState(browser: PushBrowser, key: string): Promise<SetUpState> {
  if (!browser.isSecure) return { kind: "insecure" };
  if (browser.push === null || browser.permission === null) {
    return { kind: isAppleMobile(browser) ? "homeScreen" : "unsupported" };
  }
  if (browser.permission === "denied") return { kind: "denied" };
  const subscription = await (await browser.push(false))?.getSubscription();
  if (browser.permission !== "granted" || !isOfKey(subscription ?? null, key)) return { kind: "ready" };
  return { kind: "subscribed", config: configOf(subscription as PushSubscription, browser) };
}

/** An iPad identifies itself as a Mac, but has a touch screen. */
function isAppleMobile({ ua, isTouch }: PushBrowser): boolean {
  return /\b(iPhone|iPad|iPod)\b/.test(ua) || (isTouch && /\bMacintosh\b/.test(ua));
}

/** A subscription with another key is from before the server's secret key was changed: messages to it are refused. */
function isOfKey(subscription: PushSubscription | null, key: string): boolean {
  const used = subscription?.options.applicationServerKey ?? null;
  return used !== null && base64url(used) === key;
}

function base64url(bytes: ArrayBuffer): string {
  return btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

function configOf(subscription: PushSubscription, { ua }: PushBrowser): PushConfig {
  const { endpoint = "", keys = {} } = subscription.toJSON();
  return { endpoint, p256dh: keys["p256dh"] ?? "", auth: keys["auth"] ?? "", browser: deviceName(ua) };
}

/** Asks for permission and subscribes. */
export async function subscribe(browser: PushBrowser, key: string): Promise<SetUpState> {
  try {
    const permission = await browser.ask();
    if (permission !== "granted") return { kind: permission === "denied" ? "denied" : "dismissed" };
    const manager = await browser.push?.(true);
    if (manager === null || manager === undefined) return { kind: "unsupported" };
    const before = await manager.getSubscription();
    if (before !== null && !isOfKey(before, key)) await before.unsubscribe();
    const subscription = await manager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
    return { kind: "done", config: configOf(subscription, browser) };
  } catch (error) {
    return { kind: "failed", reason: error instanceof Error ? error.message : String(error) };
  }
}

/** This browser. */
function thisBrowser(): PushBrowser {
  const isKnown = "serviceWorker" in navigator && "PushManager" in globalThis;
  return {
    ua: navigator.userAgent,
    isTouch: navigator.maxTouchPoints > 1,
    isSecure: globalThis.isSecureContext,
    permission: "Notification" in globalThis ? Notification.permission : null,
    ask: () => Notification.requestPermission(),
    push: isKnown ? pushManager : null,
  };
}

async function pushManager(register: boolean): Promise<PushManager | null> {
  const scope = siteUrl("/");
  if (!register) return (await navigator.serviceWorker.getRegistration(scope))?.pushManager ?? null;
  await navigator.serviceWorker.register(siteUrl("/service-worker.js"), { scope });
  return (await navigator.serviceWorker.ready).pushManager;
}

export function WebPushSetup({ onSubscribed }: { onSubscribed: (config: PushConfig) => void }) {
  const [state, setState] = useState<SetUpState>({ kind: "checking" });
  useEffect(() => {
    void setUpState(thisBrowser(), boot.site.pushKey).then(setState);
  }, []);
  const finish = (next: SetUpState) => {
    setState(next);
    if (next.kind === "done") onSubscribed(next.config);
  };
  const turnOn = async () => {
    setState({ kind: "asking" });
    finish(await subscribe(thisBrowser(), boot.site.pushKey));
  };
  return (
    <SetUpView
      state={state}
      onTurnOn={() => void turnOn()}
      onUse={(config) => finish({ kind: "done", config })}
    />
  );
}

/** One state of the setup. */
export function SetUpView(props: {
  state: SetUpState;
  onTurnOn: () => void;
  onUse: (config: PushConfig) => void;
}) {
  const { state, onTurnOn, onUse } = props;
  const canStart = ["ready", "asking", "dismissed", "failed"].includes(state.kind);
  const isRefused = ["denied", "dismissed", "failed"].includes(state.kind);
  const text = textOf(state);
  return (
    <div className="field">
      <p className="hint">{words.about}</p>
      {text !== null && (
        <p className={isRefused ? "mistake" : "hint"} role={isRefused ? "alert" : "status"}>
          {text}
        </p>
      )}
      {canStart && (
        <div>
          <Button onClick={onTurnOn} isBusy={state.kind === "asking"}>
            {words.turnOn}
          </Button>
        </div>
      )}
      {state.kind === "subscribed" && (
        <div>
          <Button onClick={() => onUse(state.config)}>{words.use}</Button>
        </div>
      )}
    </div>
  );
}

function textOf(state: SetUpState): string | null {
  if (state.kind === "checking" || state.kind === "ready") return null;
  if (state.kind === "failed") return words.failed(state.reason);
  if ("config" in state) return words[state.kind](state.config.browser);
  return words[state.kind];
}
