// Apprise: more than 100 other services, through an Apprise API server whose URL an admin has set.
import { below, configSchema, textField } from "../config-fields.ts";
import { httpKind } from "../http-kind.ts";
import { notTried } from "../http-request.ts";
import { fullText, linkLines, PLAIN, plainWith, withoutMentions, withoutTags } from "../layout.ts";
import { clipStart, type Tone } from "../message-text.ts";

const TITLE_LENGTH_MAX = 200;
const LIMITS = { max: 4_000, output: 1_000, value: 200, names: 2_000 } as const;
const TYPES: Readonly<Record<Tone, string>> = { bad: "failure", good: "success", notice: "warning" };
const NO_GATEWAY = "Apprise is not enabled on this server: OVERDUE_APPRISE_URL is not set";
const NO_URLS = "Apprise URLs are not allowed on this server: OVERDUE_APPRISE_ALLOW_URLS is not set";

/** Text that mentions no one in any service. */
function literal(text: string): string {
  return withoutMentions(withoutTags(text));
}

const DIALECT = plainWith(literal);

const schema = configSchema({
  target: textField({
    about:
      "The key of a configuration stored on the Apprise API server. If OVERDUE_APPRISE_ALLOW_URLS is set, also an Apprise URL, such as discord://ID/TOKEN.",
    lengthMax: 512,
    pattern: "^([A-Za-z0-9_-]{1,64}|[a-z0-9]+://\\S+)$",
    must: "a key of 1 to 64 letters, digits, hyphens, or underscores, or an Apprise URL",
    secret: true,
  }),
  tag: textField({
    about: "Notify only services with this tag. Leave blank to notify all services in the configuration.",
    lengthMax: 200,
    fallback: "",
  }),
});

function isUrl(target: string): boolean {
  return target.includes("://");
}

const gateway = httpKind({
  name: "apprise",
  title: "Apprise",
  about:
    "Sends notifications to more than 100 other services through the Apprise API server that an admin has set up.",
  category: "automation",
  icon: null,
  example: { target: "ops" },
  guide: [
    "An admin runs an [Apprise API](https://github.com/caronc/apprise-api) server and sets `OVERDUE_APPRISE_URL` to its URL.",
    "Open that server in a browser, open the configuration manager, add the [URLs of your services](https://github.com/caronc/apprise/wiki), and save them under a key.",
    "Enter the key in the form. To notify only some of the services, also enter a tag.",
  ],
  schema,
  validate: ({ target, tag }) =>
    isUrl(target) && tag !== "" ? "A tag can be used only with a key, not with an Apprise URL." : null,
  unavailable: ({ providers }) => (providers.appriseUrl === null ? NO_GATEWAY : null),
  isSubscribed: () => true,
  rate: { perMinute: 30, burst: 10 },
  request: ({ words, config, out }) => ({
    url: below(out.providers.appriseUrl ?? "", isUrl(config.target) ? "notify/" : `notify/${config.target}`),
    isAdminUrl: true,
    json: {
      ...(isUrl(config.target) ? { urls: config.target } : {}),
      ...(config.tag === "" ? {} : { tag: config.tag }),
      title: clipStart(literal(words.headline), TITLE_LENGTH_MAX),
      body: fullText(words, DIALECT, { limits: LIMITS, ends: linkLines(words, PLAIN) }),
      type: TYPES[words.tone],
      format: "text",
    },
  }),
  // 204 means that the server has no configuration with this key.
  answers: {
    ok: [{ status: 200 }],
  },
});

export const apprise: typeof gateway = {
  ...gateway,
  // The Apprise API server sends requests to any host of a URL, also on private networks.
  send: async (message, config, out) =>
    isUrl(config.target) && !out.providers.appriseAllowUrls
      ? notTried(NO_URLS)
      : gateway.send(message, config, out),
};
