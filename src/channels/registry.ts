// The list of all channel kinds.
import type { ConfigRules } from "../core/channel.ts";
import { didYouMean } from "../lib/nearest-name.ts";
import { type DestinationPolicy, foreseenRefusal } from "../lib/outgoing-http.ts";
import { fieldsOf, readAddress, readConfig, unrepeatedSecrets, withMadeSecrets } from "./channel-config.ts";
import type { AnyKind } from "./channel-kind.ts";
import { alertmanager } from "./kinds/alertmanager.ts";
import { apprise } from "./kinds/apprise.ts";
import { bark } from "./kinds/bark.ts";
import { call } from "./kinds/call.ts";
import { dingtalk } from "./kinds/dingtalk.ts";
import { discord } from "./kinds/discord.ts";
import { email } from "./kinds/email.ts";
import { feishu } from "./kinds/feishu.ts";
import { github } from "./kinds/github.ts";
import { googlechat } from "./kinds/googlechat.ts";
import { gotify } from "./kinds/gotify.ts";
import { grafanairm } from "./kinds/grafanairm.ts";
import { group } from "./kinds/group.ts";
import { homeassistant } from "./kinds/homeassistant.ts";
import { incidentio } from "./kinds/incidentio.ts";
import { line } from "./kinds/line.ts";
import { matrix } from "./kinds/matrix.ts";
import { mattermost } from "./kinds/mattermost.ts";
import { msteamsw } from "./kinds/msteamsw.ts";
import { ntfy } from "./kinds/ntfy.ts";
import { opsgenie } from "./kinds/opsgenie.ts";
import { pagertree } from "./kinds/pagertree.ts";
import { pd } from "./kinds/pd.ts";
import { po } from "./kinds/po.ts";
import { pushbullet } from "./kinds/pushbullet.ts";
import { rocketchat } from "./kinds/rocketchat.ts";
import { shell } from "./kinds/shell.ts";
import { signal } from "./kinds/signal.ts";
import { slack } from "./kinds/slack.ts";
import { sms } from "./kinds/sms.ts";
import { sns } from "./kinds/sns.ts";
import { spike } from "./kinds/spike.ts";
import { telegram } from "./kinds/telegram.ts";
import { threema } from "./kinds/threema.ts";
import { trello } from "./kinds/trello.ts";
import { victorops } from "./kinds/victorops.ts";
import { webhook } from "./kinds/webhook.ts";
import { webpush } from "./kinds/webpush.ts";
import { wecom } from "./kinds/wecom.ts";
import { whatsapp } from "./kinds/whatsapp.ts";
import { zulip } from "./kinds/zulip.ts";

/** In the order of the docs. */
export const KINDS: readonly AnyKind[] = [
  email,
  webhook,
  slack,
  msteamsw,
  discord,
  telegram,
  googlechat,
  mattermost,
  rocketchat,
  zulip,
  matrix,
  signal,
  feishu,
  dingtalk,
  wecom,
  line,
  threema,
  ntfy,
  gotify,
  po,
  pushbullet,
  bark,
  webpush,
  homeassistant,
  apprise,
  sms,
  whatsapp,
  call,
  pd,
  opsgenie,
  victorops,
  pagertree,
  spike,
  incidentio,
  grafanairm,
  alertmanager,
  github,
  trello,
  sns,
  shell,
  group,
];

/** The kind with this name in the API, or null. */
export function kindNamed(name: string, kinds: readonly AnyKind[] = KINDS): AnyKind | null {
  return kinds.find((kind) => kind.name === name) ?? null;
}

const NAMES = KINDS.map(({ name }) => name);

export const CONFIG_RULES: ConfigRules = {
  read: (name, input) => {
    const kind = kindNamed(name);
    if (kind === null) {
      return {
        ok: false,
        text: `Unknown channel kind "${name}".${didYouMean(name, NAMES)} Valid kinds: ${NAMES.join(", ")}.`,
      };
    }
    return readConfig(kind, input, { strict: true });
  },
  change: (name, { before, given }) => {
    const read = CONFIG_RULES.read(name, { ...before, ...given });
    const kind = kindNamed(name);
    if (!read.ok || kind === null) return read;
    const text = unrepeatedSecrets(kind, { before, given, after: read.value });
    return text === null ? read : { ok: false, text };
  },
  complete: (name, config) => {
    const kind = kindNamed(name);
    if (kind === null) throw new Error("a configuration was validated for an unknown kind");
    return withMadeSecrets(kind, config);
  },
};

// Warnings about URLs in a configuration. No name is resolved and nothing is rejected: a channel may be created
// before the network is ready.

/** The kind that sends no HTTP requests, and the field with its address. */
const EMAIL = "email";
const EMAIL_ADDRESS = "value";

type Typed = { kind: string; config: Readonly<Record<string, unknown>> };

/** Where this server can send: allowed requests, and whether it sends email. */
export type Reach = DestinationPolicy & { sendsMail: boolean };

/** According to the settings. */
export function reachOf(set: { allowPrivateAddresses: boolean; smtpHost: string | null }): Reach {
  return { allowPrivate: set.allowPrivateAddresses, sendsMail: set.smtpHost !== null };
}

const SETTING = "OVERDUE_CHANNELS_ALLOW_PRIVATE_IPS";
const NO_MAIL =
  "This server cannot send email, so messages will fail. To enable email, an admin must set OVERDUE_SMTP_HOST.";

const TEXTS: Readonly<Record<NonNullable<ReturnType<typeof foreseenRefusal>>, (host: string) => string>> = {
  private: (host) =>
    `${host} is on a private network, and this server blocks requests to private networks, so messages will fail. An admin can allow them with ${SETTING}=true.`,
  never: (host) => `${host} is a reserved address. Requests to it are always blocked, so messages will fail.`,
  port: (host) =>
    `${host} uses a port that is reserved for a protocol other than HTTP. Requests to it are blocked, so messages will fail.`,
};

/** A sentence for each unreachable URL, by field. Invalid URLs are skipped. */
export function addressWarnings(
  { kind: name, config }: Typed,
  reach: Reach,
): { field: string; text: string }[] {
  const kind = kindNamed(name);
  if (kind === null) return [];
  return fieldsOf(kind).flatMap(([field, { format }]) => {
    const value = config[field];
    if (typeof value !== "string" || value === "") return [];
    if (name === EMAIL && field === EMAIL_ADDRESS) return reach.sendsMail ? [] : [{ field, text: NO_MAIL }];
    if (format !== "uri") return [];
    const address = readAddress(value);
    const url = address.ok ? URL.parse(address.value) : null;
    const problem = url === null ? null : foreseenRefusal(url, reach);
    return url === null || problem === null ? [] : [{ field, text: TEXTS[problem](url.host) }];
  });
}
