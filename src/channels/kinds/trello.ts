// Trello: a card for each check that goes down.
import { configSchema, switchField, textField } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import { fullText, MARKDOWN } from "../layout.ts";
import { clipStart } from "../message-text.ts";

const NAME_LENGTH_MAX = 500;
/** A description may have 16,384 characters. */
const LIMITS = { max: 16_000, output: 5_000, value: 1_000, names: 5_000 } as const;

export const trello = httpKind({
  name: "trello",
  title: "Trello",
  about: "Creates a card in a Trello list when a check goes down.",
  category: "automation",
  icon: "trello",
  example: { app_key: "yourapikey", token: "yourtoken", list_id: "0123456789abcdef01234567" },
  guide: [
    "Open the [Power-Up admin page](https://trello.com/power-ups/admin), select **New** and create a Power-Up. Then open its **API key** tab and select **Generate a new API key**.",
    "Next to the key, select **Token**, allow access, and copy the token. Paste the key and the token into the form. The **Secret** is not needed.",
    "In Trello, open any card in the list and add `.json` to the URL in your browser. In the text that appears, find `idList`, copy its value, and paste it into the form.",
  ],
  schema: configSchema({
    app_key: textField({
      about: "The API key of your Power-Up.",
      lengthMax: 64,
      pattern: "^[A-Za-z0-9]+$",
      must: "an API key: letters and digits",
      secret: true,
    }),
    token: textField({
      about: "A token for the API key.",
      lengthMax: 200,
      pattern: "^[A-Za-z0-9]+$",
      must: "a token: letters and digits",
      secret: true,
    }),
    list_id: textField({
      about: "The ID of the list.",
      lengthMax: 32,
      pattern: "^[0-9a-fA-F]{16,32}$",
      must: "the ID of a list: 16 to 32 hexadecimal digits",
    }),
    notice: switchField({
      about: "Create a card for notices, such as monitoring gap notices.",
      fallback: false,
    }),
  }),
  isSubscribed: ({ notice }, what) => what === "down" || (what === "notice" && notice),
  // Trello accepts 100 requests in ten seconds for each token.
  rate: { perMinute: 60, burst: 20 },
  request: ({ words, config }) => ({
    url: "https://api.trello.com/1/cards",
    // In a header, because URLs end up in logs.
    headers: {
      Authorization: `OAuth oauth_consumer_key="${config.app_key}", oauth_token="${config.token}"`,
    },
    json: {
      idList: config.list_id,
      name: clipStart(words.headline, NAME_LENGTH_MAX),
      desc: fullText(words, MARKDOWN, { limits: LIMITS }),
    },
  }),
  answers: {
    gone: [
      {
        status: 401,
        text: /invalid (token|key)|expired token|unauthorized/i,
        reason: "Trello rejected the API key or token",
      },
      { status: 400, text: /idList/, reason: "The list does not exist" },
      { status: 404, text: /requested resource was not found/i, reason: "The list does not exist" },
    ],
    once: [{ status: 400, reason: "Trello rejected the card" }],
  },
});
