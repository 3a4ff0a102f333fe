// Home Assistant: notifications on phones with its app, or through any other notify action.
import { below, configSchema, serverField, textField, tokenField } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import { clipBytes, fullText, JOINER, plainWith } from "../layout.ts";

/** The push services of phones accept 4 KB. */
const TITLE_BYTES_MAX = 250;
const LIMITS = { max: 2_000, unit: "bytes", output: 600, value: 200, names: 1_000 } as const;

/** Text that is no template, which older versions render, and no HTML, which the Android app renders. */
function literal(text: string): string {
  return text.replace(/<|&(?=[a-z#])|\{(?=[{%#])/gi, (sign) => sign + JOINER);
}

const DIALECT = plainWith(literal);

export const homeassistant = httpKind({
  name: "homeassistant",
  title: "Home Assistant",
  about:
    "Sends push notifications to the Home Assistant app. When a check comes back up, the new notification replaces the one about the problem.",
  category: "push",
  icon: "homeassistant",
  example: { url: "https://home.example.org", token: "your-token", service: "mobile_app_pixel_9" },
  guide: [
    "In Home Assistant, open your profile, open the **Security** tab, and select **Create token** under **Long-lived access tokens**. Copy the token: it is shown once.",
    "Open **Developer tools**, then **Actions**, and search for `notify.` to find the action of your phone, such as `notify.mobile_app_pixel_9`.",
    "In the form, enter the URL of Home Assistant, the token, and the name of the action without `notify.`. This server must be able to reach the URL.",
  ],
  schema: configSchema({
    url: serverField({ about: "The URL of Home Assistant." }),
    token: tokenField({ about: "A long-lived access token.", lengthMax: 500 }),
    service: textField({
      about: "The name of the notify action, such as mobile_app_pixel_9 for notify.mobile_app_pixel_9.",
      lengthMax: 100,
      pattern: "^[a-z0-9_]+$",
      must: "lowercase letters, digits, and underscores",
    }),
  }),
  isSubscribed: () => true,
  rate: { perMinute: 60, burst: 30 },
  request: ({ words, config, incident }) => ({
    url: below(config.url, `api/services/notify/${config.service}`),
    headers: { Authorization: `Bearer ${config.token}` },
    json: {
      title: clipBytes(literal(words.headline), TITLE_BYTES_MAX),
      message: fullText(words, DIALECT, { limits: LIMITS, ends: [] }),
      data: {
        // A notification replaces an earlier one with the same tag.
        tag: incident.key,
        // The link, under its names for iOS and Android.
        url: words.link.url,
        clickAction: words.link.url,
        // Android delays other notifications while the phone is not used.
        ...(words.tone === "bad" ? { ttl: 0, priority: "high" } : {}),
        ...(words.ack === null
          ? {}
          : { actions: [{ action: "URI", title: words.ack.text, uri: words.ack.url }] }),
      },
    },
  }),
  // Only Home Assistant itself returns this text. While it starts, actions and pages are missing.
  answers: {
    gone: [{ status: 401, text: /^401: Unauthorized$/, reason: "Home Assistant rejected the access token" }],
  },
});
