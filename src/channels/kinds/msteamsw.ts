// Microsoft Teams, using the URL of a workflow that posts Adaptive Cards.
import { addressField, configSchema } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import { type Dialect, factValue, JOINER, jsonWithin, partsOf, PLAIN, SIGNS } from "../layout.ts";
import { clipEnd, clipStart, type MessageText } from "../message-text.ts";

/** The documented limit is 28 KB, but cards above 21 KB were seen to fail. */
const BYTES_MAX = 21_000;
const HEADLINE_LENGTH_MAX = 300;
const VALUE_LENGTH_MAX = 1_000;
const NAMES_LENGTH_MAX = 4_000;
const OUTPUT_LENGTH_MAX = 6_000;

/** Cards have no escape character: an invisible joiner keeps signs from acting as markup. */
const CARD: Dialect = {
  ...PLAIN,
  text: (foreign) =>
    foreign
      .replace(/[*_]|(?<=\])\(|(?<=\{)\{/g, (sign) => JOINER + sign)
      // A single line break outside a list is ignored.
      .replaceAll("\n", "\n\n"),
  code: (foreign) => CARD.text(foreign),
  link: ({ text }) => CARD.text(text),
};

function textBlock(text: string) {
  return { type: "TextBlock", text, wrap: true };
}

/** `share`: how much of the limits for long texts is used. */
function cardOf(words: MessageText, share: number) {
  const value = VALUE_LENGTH_MAX * share;
  const { sentences, history, lists, others } = partsOf(words, CARD, {
    value,
    names: NAMES_LENGTH_MAX * share,
  });
  const headline = CARD.text(clipStart(words.headline, HEADLINE_LENGTH_MAX));
  const { output } = words;
  return {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.2",
    fallbackText: clipStart(words.headline, HEADLINE_LENGTH_MAX),
    body: [
      { ...textBlock(`${SIGNS[words.tone]} ${headline}`), weight: "bolder", style: "heading" },
      textBlock(sentences.map((sentence) => clipStart(sentence, VALUE_LENGTH_MAX)).join("\n\n")),
      ...[history, ...lists, others]
        .filter((part) => part.length > 0)
        .flatMap(([title = "", ...lines]) => [
          textBlock(title),
          ...(lines.length === 0 ? [] : [textBlock(lines.join("\n"))]),
        ]),
      {
        type: "FactSet",
        facts: words.facts.map((fact) => ({
          title: `${fact.label}:`,
          value: clipStart(factValue(fact, CARD), value),
        })),
      },
      ...(output === null
        ? []
        : [
            textBlock("Last output:"),
            {
              type: "CodeBlock",
              codeSnippet: clipEnd(output, OUTPUT_LENGTH_MAX * share),
              language: "PlainText",
            },
          ]),
    ],
    actions: [words.link, ...(words.ack === null ? [] : [words.ack])].map(({ text, url }) => ({
      type: "Action.OpenUrl",
      title: text,
      url,
    })),
  };
}

export const msteamsw = httpKind({
  name: "msteamsw",
  title: "Microsoft Teams",
  about: "Sends messages to a Microsoft Teams channel or chat through a workflow.",
  category: "chat",
  icon: null,
  example: { url: "https://default00.environment.api.powerplatform.com/workflows/your-workflow" },
  guide: [
    "In Teams, open the menu (**…**) of the channel or chat and select **Workflows**.",
    "Choose the template **Send webhook alerts to a channel**, or **Send webhook alerts to a chat**, then **Save**. It may also be called **Post to a channel when a webhook request is received**.",
    "Copy the URL of the workflow and paste it into the form. Make sure to copy all of it: the URL is long.",
    "In Power Automate, add a co-owner to the workflow. Otherwise it stops working when its owner leaves the organization.",
  ],
  schema: configSchema({
    url: addressField({
      about: "The workflow URL, such as https://….environment.api.powerplatform.com/….",
      secret: true,
    }),
  }),
  validate: ({ url }) =>
    /(^|\.)webhook\.office\.com$/.test(new URL(url).hostname)
      ? "url is the URL of a Microsoft 365 connector. Microsoft has retired connectors. Create a workflow in Teams and use its URL."
      : null,
  isSubscribed: () => true,
  // Teams throttles above four requests per second.
  rate: { perMinute: 60, burst: 4 },
  request: ({ words, config }) => ({
    url: config.url,
    json: jsonWithin(BYTES_MAX, (share) => ({
      type: "message",
      attachments: [
        {
          contentType: "application/vnd.microsoft.card.adaptive",
          contentUrl: null,
          content: cardOf(words, share),
        },
      ],
    })),
  }),
  answers: {
    gone: [
      { status: 404, json: { error: /"code":/ }, reason: "The workflow no longer exists" },
      { status: 401, json: { error: /"code":/ }, reason: "The workflow rejected the URL" },
      {
        status: 400,
        json: { error: /MissingApiVersionParameter/ },
        reason: "The URL is incomplete: copy the whole URL of the workflow",
      },
    ],
  },
});
