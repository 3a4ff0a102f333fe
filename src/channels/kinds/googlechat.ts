// Google Chat, using the webhook URL of a space.
import { addressField, configSchema } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import { type Dialect, escapeHtml, HTML, JOINER, jsonWithin, partsOf, SIGNS } from "../layout.ts";
import { clipEnd, clipStart, type MessageText } from "../message-text.ts";

const WEBHOOK =
  /^https:\/\/chat\.googleapis\.com\/v1\/spaces\/[^/?#]+\/messages\?(?=.*\bkey=.)(?=.*\btoken=.)/;
/** The documented limit of a message is 32,000 bytes. */
const BYTES_MAX = 30_000;
const HEADLINE_LENGTH_MAX = 300;
const VALUE_LENGTH_MAX = 1_000;
const NAMES_LENGTH_MAX = 4_000;
const OUTPUT_LENGTH_MAX = 4_000;
/** The text and the buttons; the others are shown with "Show more". */
const WIDGETS_SHOWN = 2;

/** The HTML of cards, which has no tag for code. */
const CARD: Dialect = {
  ...HTML,
  text: (foreign) => escapeHtml(foreign).replaceAll("\n", "<br>"),
  newline: "<br>",
};

/** Text outside of cards has another markup, in which `<users/all>` notifies everyone. An invisible joiner prevents both. */
function plain(text: string): string {
  return text.replace(/[*_~`<]/g, (sign) => sign + JOINER);
}

function widgetsOf(words: MessageText, share: number) {
  const value = VALUE_LENGTH_MAX * share;
  const limits = { value, names: NAMES_LENGTH_MAX * share };
  const { sentences, history, lists, others } = partsOf(words, CARD, limits);
  const parts = [sentences, history, ...lists, others].filter((part) => part.length > 0);
  const { output } = words;
  const last = output === null ? "" : CARD.text(clipEnd(output, OUTPUT_LENGTH_MAX * share));
  return [
    { textParagraph: { text: parts.map((part) => part.join(CARD.newline)).join(CARD.newline.repeat(2)) } },
    {
      buttonList: {
        buttons: [words.link, ...(words.ack === null ? [] : [words.ack])].map(({ text, url }) => ({
          text,
          onClick: { openLink: { url } },
        })),
      },
    },
    ...words.facts.map((fact) => ({
      decoratedText: { topLabel: fact.label, text: CARD.text(clipStart(fact.value, value)), wrapText: true },
    })),
    ...(last === "" ? [] : [{ textParagraph: { text: `${CARD.bold("Last output")}<br>${last}` } }]),
  ];
}

export const googlechat = httpKind({
  name: "googlechat",
  title: "Google Chat",
  about: "Sends messages to a Google Chat space.",
  category: "chat",
  icon: "googlechat",
  example: { url: "https://chat.googleapis.com/v1/spaces/your-space/messages?key=your-key&token=your-token" },
  guide: [
    "In Google Chat in a browser, open the space, open the menu next to its name, and select **Apps & integrations**. Webhooks require a Google Workspace account.",
    "Select **Add webhooks**, enter a name, and select **Save**.",
    "Copy the webhook URL and paste it into the form.",
  ],
  schema: configSchema({
    url: addressField({
      about: "The webhook URL, such as https://chat.googleapis.com/v1/spaces/…/messages?key=…&token=….",
      secret: true,
    }),
  }),
  validate: ({ url }) =>
    WEBHOOK.test(url)
      ? null
      : "url must be a Google Chat webhook URL: https://chat.googleapis.com/v1/spaces/<space>/messages?key=<key>&token=<token>. Copy it in Google Chat from Apps & integrations > Webhooks.",
  isSubscribed: () => true,
  // Google accepts 60 messages per minute in a space, from all apps together.
  rate: { perMinute: 30, burst: 5 },
  request: ({ words, config, out, incident }) => {
    const url = new URL(config.url);
    // In a named space, all messages about a check are in one thread.
    url.searchParams.set("messageReplyOption", "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD");
    url.searchParams.set("requestId", out.dedupeKey);
    const text = `${SIGNS[words.tone]} ${plain(clipStart(words.headline, HEADLINE_LENGTH_MAX))}`;
    return {
      url: url.href,
      json: jsonWithin(BYTES_MAX, (share) => ({
        text,
        cardsV2: [
          {
            cardId: "message",
            card: {
              sections: [
                {
                  collapsible: true,
                  uncollapsibleWidgetsCount: WIDGETS_SHOWN,
                  widgets: widgetsOf(words, share),
                },
              ],
            },
          },
        ],
        thread: { threadKey: incident.key },
      })),
    };
  },
  answers: {
    gone: [
      {
        status: 404,
        json: { error: /"status":"NOT_FOUND"/ },
        reason: "The webhook or its space no longer exists",
      },
      {
        status: 403,
        json: { error: /"status":"PERMISSION_DENIED"/ },
        reason: "Google Chat rejected the webhook URL",
      },
    ],
    once: [{ status: 400, json: { error: /"status":/ }, reason: "Google Chat rejected the message" }],
  },
});
