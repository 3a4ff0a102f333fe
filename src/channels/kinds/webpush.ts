// Web Push: notifications in a browser, through the push service of its vendor.
import { createHash } from "node:crypto";
import { DAY_MS, SECOND_MS } from "../../core/instant.ts";
import {
  arePushKeys,
  derivedSecrets,
  encryptPush,
  PUSH_PAYLOAD_BYTES_MAX,
  vapidHeader,
  type VapidKeys,
} from "../../lib/web-push.ts";
import type { Outgoing, Site } from "../channel-kind.ts";
import { addressField, configSchema, textField } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import { clipBytes, fullText, PLAIN } from "../layout.ts";
import type { MessageText, Tone } from "../message-text.ts";

const TITLE_BYTES_MAX = 250;
/** More than any system shows. */
const LIMITS = { max: 2_000, unit: "bytes", output: 300, value: 200, names: 1_000 } as const;
/** How long a push service keeps a message for a browser that is not connected: as long as messages are retried. */
const TTL_S = DAY_MS / SECOND_MS;
const URGENCIES: Readonly<Record<Tone, string>> = { bad: "high", good: "normal", notice: "low" };
const TOPIC_LENGTH = 32;
const LABEL_LENGTH_MAX = 100;
/** Those of browsers. Any other endpoint may be a user's own server, which must not alarm the admins. */
const PUSH_SERVICES =
  /^(fcm\.googleapis\.com|updates\.push\.services\.mozilla\.com|web\.push\.apple\.com|.+\.notify\.windows\.com)$/;

export const webpush = httpKind({
  name: "webpush",
  title: "Browser notifications",
  about: "Sends push notifications to a browser on a computer or phone, without another app or account.",
  category: "push",
  icon: null,
  example: null,
  guide: [
    "Open the **Channels** page in the browser that should show the notifications and select **Browser notifications**. On an iPhone or iPad, first add the dashboard to the Home Screen and open it from there.",
    "Select **Turn on notifications** and allow notifications when the browser asks.",
    "Create the channel and send a test notification.",
  ],
  schema: configSchema({
    endpoint: addressField({
      about: "The URL of the browser's push subscription. The browser provides it.",
      secret: true,
    }),
    p256dh: textField({
      about: "The public key of the push subscription.",
      lengthMax: 100,
      pattern: "^[A-Za-z0-9_-]+$",
      must: "the public key of a push subscription, in base64url",
    }),
    auth: textField({
      about: "The authentication secret of the push subscription.",
      lengthMax: 50,
      pattern: "^[A-Za-z0-9_-]+$",
      must: "the authentication secret of a push subscription, in base64url",
      secret: true,
    }),
    browser: textField({
      about: "The browser and operating system, such as Firefox on Linux.",
      lengthMax: LABEL_LENGTH_MAX,
      fallback: "",
    }),
  }),
  validate: (config) => {
    if (!config.endpoint.startsWith("https://")) return "endpoint must be an https URL.";
    return arePushKeys(config) ? null : "p256dh and auth must be the keys of a push subscription.";
  },
  isSubscribed: () => true,
  rate: { perMinute: 30, burst: 10 },
  unavailable: (server) => (vapidOf(server) === null ? "This server has no key pair for Web Push" : null),
  request: ({ words, config, out, incident }) => {
    const server = vapidOf(out) ?? { publicKey: "", privateKey: "" };
    // A later message about the same incident replaces one that is waiting (topic) or on the screen (tag).
    const tag = createHash("sha256").update(incident.key).digest("base64url").slice(0, TOPIC_LENGTH);
    const payload = payloadOf(words, tag);
    const secrets = derivedSecrets(payload, { keys: config, server, dedupeKey: out.dedupeKey });
    return {
      url: config.endpoint,
      headers: {
        "Content-Type": "application/octet-stream",
        "Content-Encoding": "aes128gcm",
        TTL: String(TTL_S),
        Urgency: URGENCIES[words.tone],
        Topic: tag,
        Authorization: vapidHeader(config.endpoint, {
          server,
          subject: contactOf(out.site),
          nowMs: out.now,
        }),
      },
      bytes: encryptPush(payload, { keys: config, secrets }),
    };
  },
  answers: ({ config }) => ({
    gone: [
      { status: 404, reason: "The browser's push subscription no longer exists" },
      { status: 410, reason: "The browser's push subscription was removed or has expired" },
    ],
    ours: PUSH_SERVICES.test(new URL(config.endpoint).host)
      ? [{ status: [401, 403], reason: "The push service rejected the key of this server" }]
      : [],
  }),
});

function vapidOf({ keys, providers }: Pick<Outgoing, "keys" | "providers">): VapidKeys | null {
  const { vapidPrivateKey: privateKey } = keys;
  const { vapidPublicKey: publicKey } = providers;
  return privateKey === null || publicKey === null ? null : { publicKey, privateKey };
}

/** Read by web/push-events.ts. The text is shortened until the payload fits: as JSON, some characters are longer. */
function payloadOf(words: MessageText, tag: string): Buffer {
  const withText = (max: number) =>
    Buffer.from(
      JSON.stringify({
        title: clipBytes(words.headline, TITLE_BYTES_MAX),
        body: fullText(words, PLAIN, { limits: { ...LIMITS, max }, ends: [] }),
        url: words.link.url,
        tag,
        ...(words.ack === null ? {} : { ack: words.ack.url }),
      }),
    );
  let max: number = LIMITS.max;
  let payload = withText(max);
  while (payload.length > PUSH_PAYLOAD_BYTES_MAX && max > 1) payload = withText((max = Math.floor(max / 2)));
  return payload;
}

/** The contact for operators of push services: the URL of the server, or an email address if the URL is not HTTPS. */
function contactOf({ url }: Site): string {
  return url.startsWith("https://") ? url : `mailto:overdue@${new URL(url).hostname}`;
}
