// A configuration for each kind that sends by HTTP, and a sender that the tests of channels share.
import type { ChannelConfig } from "../../src/channels/channel-config.ts";
import { createSender, type Sender, type SenderOptions } from "../../src/channels/sender.ts";
import { checkSerializer } from "../../src/contract/check.ts";
import { VERSIONS } from "../../src/contract/versions.ts";
import { sha1Hex } from "../../src/lib/secrets.ts";
import { DISCORD_PATH } from "../receivers/discord.ts";
import { ROUTING_KEY } from "../receivers/pager-duty.ts";
import { SLACK_PATH } from "../receivers/slack.ts";
import { TELEGRAM_TOKEN } from "../receivers/telegram.ts";

export const SITE = { name: "Overdue", url: "https://overdue.example.org" };
export const DEDUPE_KEY = "6f1c1d0c-61b1-4bd0-8c4a-0f4f2f2f9d11";
export const WEBHOOK_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/** As somebody would send them to the API. */
export const CONFIGS: Readonly<Record<string, ChannelConfig>> = {
  webhook: {
    url_down: "https://hooks.example.org/down/$CODE?name=$NAME&at=$NOW",
    headers_down: { "Content-Type": "application/json", "X-Name": "$NAME ā", "X-Tag": "$TAG1/$TAG2" },
    body_down:
      '{"status": "$STATUS", "name": $NAME_JSON, "exit": $EXITSTATUS, "output": $BODY_JSON, "check": $JSON}',
    url_up: "hooks.example.org/up/$SLUG",
    method_up: "GET",
    url_notice: "https://hooks.example.org/notice",
    secret: WEBHOOK_SECRET,
  },
  slack: { url: `https://hooks.slack.com${SLACK_PATH}` },
  discord: { url: `https://discordapp.com${DISCORD_PATH}` },
  telegram: { chat_id: "-1001234567890", thread_id: 7 },
  ntfy: { topic: "overdue_alerts-7", priority: 4 },
  pd: { routing_key: ROUTING_KEY },
};

export function sampleSender(options: Pick<SenderOptions, "http"> & Partial<SenderOptions>): Sender {
  return createSender({
    mail: null,
    site: SITE,
    keys: { telegramToken: TELEGRAM_TOKEN, ntfyShToken: null },
    checkJson: (check, now) => {
      const showing = { column: VERSIONS.standard[3], endpoint: "getCheck", keyKind: "readWrite" } as const;
      const urls = { site: SITE.url, ping: `${SITE.url}/ping`, api: null };
      return JSON.parse(checkSerializer(showing, { urls, sha1Hex })(check, now).json) as Record<
        string,
        unknown
      >;
    },
    ...options,
  });
}

/** A channel as the store keeps it. */
export function sampleChannel(kind: string, config: ChannelConfig = CONFIGS[kind] ?? {}) {
  return {
    uuid: "0c8983c9-9d73-446f-adb5-0641fdacc9d4",
    kind,
    name: "#ops",
    config,
    projectZone: "Europe/Berlin",
  };
}
