// LINE: messages from an official account to a user, a group, or a room.
import { configSchema, eventSwitches, textField, tokenField } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import { fullText, PLAIN, SIGNS } from "../layout.ts";
import { clipStart } from "../message-text.ts";

const TITLE_LENGTH_MAX = 250;
const LIMITS = { max: 4_000, output: 1_000, value: 200, names: 2_000 } as const;

const EVENTS = eventSwitches({ down: true, up: true, notice: false });

export const line = httpKind({
  name: "line",
  title: "LINE",
  about: "Sends messages to a LINE user or group through your LINE Official Account.",
  category: "chat",
  icon: "line",
  example: { channel_access_token: "your-token", to: "U0123456789abcdef0123456789abcdef" },
  guide: [
    "Create a LINE Official Account and enable the Messaging API in its settings in the [LINE Official Account Manager](https://manager.line.biz/). Then open its channel in the [LINE Developers Console](https://developers.line.biz/console/).",
    "On the **Messaging API** tab, under **Channel access token (long-lived)**, select **Issue**, and copy the token.",
    "To notify yourself, add the account as a friend and copy **Your user ID** from the **Basic settings** tab. To notify a group, allow the account to join groups, invite it, and copy the group ID from a webhook event that LINE sends.",
    "Paste the token and the ID into the form. The plan of the LINE Official Account limits the number of messages per month.",
  ],
  schema: configSchema({
    channel_access_token: tokenField({
      about: "A channel access token of the LINE Official Account.",
      lengthMax: 500,
    }),
    to: textField({
      about: "The ID of the user, group, or room that receives the messages.",
      lengthMax: 33,
      pattern: "^[UCR][0-9a-f]{32}$",
      must: "an ID that starts with U, C, or R and has 32 hexadecimal digits",
    }),
    ...EVENTS.fields,
  }),
  validate: EVENTS.validate,
  isSubscribed: EVENTS.isSubscribed,
  rate: { perMinute: 60, burst: 20 },
  request: ({ words, config, out }) => ({
    url: "https://api.line.me/v2/bot/message/push",
    headers: {
      Authorization: `Bearer ${config.channel_access_token}`,
      "X-Line-Retry-Key": out.dedupeKey,
    },
    json: {
      to: config.to,
      messages: [
        {
          type: "text",
          text: [
            `${SIGNS[words.tone]} ${clipStart(words.headline, TITLE_LENGTH_MAX)}`,
            fullText(words, PLAIN, { limits: LIMITS }),
          ].join("\n\n"),
        },
      ],
    },
  }),
  answers: {
    gone: [
      { status: 401, reason: "LINE rejected the channel access token" },
      { status: 400, json: { message: /'to'/ }, reason: "LINE rejected the recipient ID" },
    ],
    // An earlier attempt was accepted.
    ok: [{ status: [200, 409] }],
  },
});
