// Renders the pages of the channel kinds in docs/guide/channels/, and the table of all kinds in index.md there.
import { type Field, fieldsOf, previewConfig, readConfig } from "../src/channels/channel-config.ts";
import { type AnyKind, CATEGORIES } from "../src/channels/channel-kind.ts";
import { previewMessage } from "../src/channels/preview.ts";
import type { ProviderKeys, Providers } from "../src/channels/providers.ts";
import { KINDS } from "../src/channels/registry.ts";
import { SETTINGS } from "../src/config/settings.ts";
import type { SubscribedEvent } from "../src/core/delivery.ts";
import { CATEGORY_WORDS } from "../web/words/channels.ts";

/** The kinds by category, each with a link to its page. */
export function renderChannelKinds(kinds: readonly AnyKind[] = KINDS): string {
  return CATEGORIES.map((category) => {
    const rows = kinds
      .filter((kind) => kind.category === category)
      .map(({ name, title, about }) => [`[${title}](${name}.md)`, `\`${name}\``, about]);
    return `### ${CATEGORY_WORDS[category]}\n\n${table(["Channel", "Kind in the API", "What it does"], rows)}`;
  }).join("\n\n");
}

/** The generated part of the page of a kind. `request` is the example of a request; null: there is none. */
export function renderChannelPage(kind: AnyKind, request: string | null): string {
  return [
    `# ${kind.title}`,
    kind.about,
    ...serverSection(kind),
    "## Set up",
    steps(kind),
    "## Settings",
    fieldTable(kind),
    "## What is sent",
    eventTable(kind),
    `${rateText(kind)} [Notifications](index.md#notifications) describes the messages.`,
    ...(request === null
      ? []
      : [`::: details The request when a check goes down\n\n${fence("text", request)}\n\n:::`]),
    "## Errors",
    errorText(kind),
    ...apiSection(kind),
  ].join("\n\n");
}

/** Settings of the server that a kind needs or uses, by the beginning of their names. */
const SERVER_SETTINGS: Readonly<Record<string, { required: boolean; names: readonly string[] }>> = {
  apprise: { required: true, names: ["OVERDUE_APPRISE_"] },
  call: {
    required: true,
    names: [
      "OVERDUE_TWILIO_ACCOUNT_SID",
      "OVERDUE_TWILIO_AUTH_TOKEN",
      "OVERDUE_TWILIO_FROM",
      "OVERDUE_CALL_",
    ],
  },
  email: { required: true, names: ["OVERDUE_SMTP_HOST", "OVERDUE_MAIL_"] },
  matrix: { required: false, names: ["OVERDUE_MATRIX_"] },
  ntfy: { required: false, names: ["OVERDUE_NTFY_"] },
  po: { required: false, names: ["OVERDUE_PUSHOVER_"] },
  shell: { required: true, names: ["OVERDUE_SHELL_"] },
  signal: { required: true, names: ["OVERDUE_SIGNAL_"] },
  sms: {
    required: true,
    names: [
      "OVERDUE_TWILIO_ACCOUNT_SID",
      "OVERDUE_TWILIO_AUTH_TOKEN",
      "OVERDUE_TWILIO_FROM",
      "OVERDUE_TWILIO_MESSAGING_",
      "OVERDUE_SMS_",
    ],
  },
  telegram: { required: true, names: ["OVERDUE_TELEGRAM_"] },
  whatsapp: {
    required: true,
    names: [
      "OVERDUE_TWILIO_ACCOUNT_SID",
      "OVERDUE_TWILIO_AUTH_TOKEN",
      "OVERDUE_TWILIO_WHATSAPP_",
      "OVERDUE_TWILIO_MESSAGING_",
      "OVERDUE_SMS_",
    ],
  },
};

function serverSection({ name }: AnyKind): string[] {
  const server = SERVER_SETTINGS[name];
  if (server === undefined) return [];
  const rows = Object.values(SETTINGS)
    .filter(({ key }) => server.names.some((start) => key.startsWith(start)))
    .map(({ key, meaning }) => [`\`${key}\``, meaning]);
  const [title, text] = server.required
    ? ["Enable on the server", "The operator of the server enables this kind with these"]
    : ["Server defaults", "Optionally, the operator of the server sets defaults with these"];
  return [
    `## ${title}`,
    `${text} [settings](../../operate/settings.md):`,
    table(["Setting", "Meaning"], rows),
  ];
}

function steps({ guide, title }: AnyKind): string {
  return [
    `In your project, open **Channels** and select **${title}** under **Add a channel**.`,
    ...guide,
    "Select **Create channel**, then **Send test notification**.",
  ]
    .map((step, index) => `${index + 1}. ${step}`)
    .join("\n");
}

function fieldTable(kind: AnyKind): string {
  const rows = fieldsOf(kind).map(([name, field]) => [
    `\`${name}\``,
    typeText(field),
    field.default === undefined ? "required" : code(JSON.stringify(field.default)),
    field.writeOnly === true ? "yes" : "",
    field.description,
  ]);
  return table(["Field", "Type", "Default", "Secret", "Meaning"], rows);
}

function typeText(field: Field): string {
  if (field.enum !== undefined) return field.enum.map((word) => code(String(word))).join(", ");
  if (field.format === "phone") return "phone number in international format";
  if (field.format === "uri") return `URL, at most ${field.maxLength} characters`;
  const { type } = field;
  switch (type) {
    case "string":
      return field["x-must"] ?? `string, at most ${field.maxLength} characters`;
    case "integer":
      return `${field.minimum} to ${field.maximum}`;
    case "boolean":
      return "boolean";
    case "array":
      return `array of UUIDs, at most ${field.maxItems}`;
    case "object":
      return `object with string values, or lines of \`Name: value\`; at most ${field.maxProperties}`;
    case undefined:
      break;
  }
  throw new Error("a field has no type");
}

const EVENTS: readonly { event: SubscribedEvent; text: string; fields: readonly string[] }[] = [
  { event: "down", text: "A check goes down", fields: ["down", "priority", "url_down", "program_down"] },
  {
    event: "up",
    text: "A check comes back up",
    fields: ["up", "priority_up", "url_up", "program_up", "close_on_up"],
  },
  {
    event: "notice",
    text: "Notices, such as monitoring gap notices",
    fields: ["notice", "priority_notice", "url_notice", "program_notice"],
  },
];

/** Which events a channel sends, and the fields that decide it. */
function eventTable(kind: AnyKind): string {
  const fields = new Map(fieldsOf(kind));
  const config = exampleConfig(kind);
  const rows = EVENTS.map(({ event, text, fields: names }) => {
    const name = names.find((one) => fields.has(one));
    if (name !== undefined && fields.get(name)?.default === "") return [text, `if \`${name}\` is set`];
    const isSent = kind.isSubscribed(config, event) ? "yes" : "no";
    return [text, name === undefined ? isSent : `${isSent} by default; set \`${name}\` to change it`];
  });
  return table(["Event", "Sent"], rows);
}

/** The example with its defaults; without an example, samples of all fields. */
function exampleConfig(kind: AnyKind): Readonly<Record<string, unknown>> {
  const read = readConfig(kind, kind.example ?? {}, { strict: true });
  return read.ok ? read.value : previewConfig(kind, {});
}

function rateText({ rate }: AnyKind): string {
  return rate === null
    ? "There is no rate limit."
    : `A channel sends at most ${rate.perMinute} messages per minute, in bursts of at most ${rate.burst}. Further messages wait.`;
}

const NO_KEYS: ProviderKeys = {
  telegramToken: null,
  ntfyShToken: null,
  twilioAuthToken: null,
  pushoverToken: null,
  matrixToken: null,
  vapidPrivateKey: null,
};

function errorText(kind: AnyKind): string {
  const reasons = kind.rejections?.(exampleConfig(kind), { keys: NO_KEYS }) ?? [];
  const retried = "A message that can't be delivered is [retried for a day](index.md#delivery).";
  const limited =
    kind.quota === undefined ? [] : ["The number per month is limited: see [Quotas](index.md#quotas)."];
  if (reasons.length === 0) return [retried, ...limited].join(" ");
  return [
    [retried, ...limited, "These errors disable the channel:"].join(" "),
    reasons.map((reason) => `- ${reason}.`).join("\n"),
  ].join("\n\n");
}

function apiSection({ name, title, example }: AnyKind): string[] {
  if (example === null) return [];
  const json = JSON.stringify({ kind: name, name: title, config: example }, null, 2).replaceAll("\n", "\n  ");
  const command = `API=https://overdue.example.org/api/overdue/v1
PROJECT=$(curl -fsS $API/whoami -H "X-Api-Key: $OVERDUE_API_KEY" | jq -r .project.id)

curl -fsS $API/projects/$PROJECT/channels -H "X-Api-Key: $OVERDUE_API_KEY" \\
  -H "Content-Type: application/json" -d '${json}'`;
  return [
    "## Create with the API",
    "The channel is used for all existing checks of the project. To use it for certain checks only, add their IDs as `checks`.",
    fence("sh", command),
    "The response contains the ID of the channel. [Test it](index.md#test-a-channel) next.",
  ];
}

// Examples of requests, as the dashboard previews them.

const NOW = Date.UTC(2026, 10, 15, 4, 0, 7);
const SITE = { name: "Overdue", url: "https://overdue.example.org" };
const PROJECT = { uuid: "00000000-0000-4000-8000-000000000000", name: "Production", tz: "UTC" };

const PROVIDERS: Providers = {
  twilioAccountSid: "ACaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
  twilioFrom: "+14155550100",
  twilioMessagingServiceSid: null,
  twilioWhatsappFrom: "+14155550100",
  twilioWhatsappDownSid: "HXaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
  twilioWhatsappUpSid: "HXbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
  signalUrl: "http://127.0.0.1:8080",
  signalAccount: null,
  appriseUrl: "https://apprise.example.org",
  appriseAllowUrls: false,
  matrixHomeserver: null,
  shellFolder: null,
  vapidPublicKey: null,
};

/** The requests of a kind about a check that goes down; null: it sends none, or none that can be read. */
export async function exampleRequest({ name, example }: AnyKind): Promise<string | null> {
  if (example === null) return null;
  const keys = { ...NO_KEYS, telegramToken: "your-token", twilioAuthToken: "your-token" };
  const { requests } = await previewMessage(
    { kind: name, config: example, event: "down" },
    { keys, providers: PROVIDERS, now: NOW, site: SITE, project: PROJECT, checkJson: () => ({}) },
  );
  return requests.length === 0 ? null : requests.map(requestText).join("\n\n");
}

type Request = { method: string; url: string; headers: Record<string, string>; body: string };

function requestText({ method, url, headers, body }: Request): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`${method} ${url}`, ...lines, ...(body === "" ? [] : ["", prettyJson(body)])].join("\n");
}

function prettyJson(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

function fence(language: string, text: string): string {
  return `\`\`\`${language}\n${text}\n\`\`\``;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`)
    .join("\n");
}

function code(text: string): string {
  return `\`${text}\``;
}
