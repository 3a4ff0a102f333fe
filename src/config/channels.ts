// The settings of channels: how messages leave the house, and what the installation has with providers.
import { optionalSetting, setting } from "./setting.ts";
import { booleanKind, proxyUrlKind, tokenKind } from "../lib/setting-value.ts";

export const CHANNEL_SETTINGS = {
  allowPrivateAddresses: setting({
    key: "OVERDUE_CHANNELS_ALLOW_PRIVATE_IPS",
    group: "Channels",
    kind: booleanKind,
    fallback: false,
    secret: false,
    meaning:
      "Allow channels to send requests to private IP addresses, such as a chat server on your network. Anyone who can create a channel can then send requests to any host that this process can reach, except link-local addresses and cloud metadata services.",
    example: "true",
    aliases: ["INTEGRATIONS_ALLOW_PRIVATE_IPS"],
  }),
  outgoingProxy: optionalSetting({
    key: "OVERDUE_OUTGOING_PROXY",
    group: "Channels",
    kind: proxyUrlKind,
    fallbackMeans: "none; requests are sent directly",
    secret: true,
    meaning:
      "An HTTP proxy for requests to channels. Destinations are checked before a request is sent to the proxy, so this process must be able to resolve their host names.",
    example: "http://proxy.example.org:3128",
  }),
  telegramToken: optionalSetting({
    key: "OVERDUE_TELEGRAM_TOKEN",
    group: "Channels",
    kind: tokenKind,
    fallbackMeans: "none; Telegram channels are disabled",
    secret: true,
    meaning: "The token of the Telegram bot that sends messages. Create a bot with @BotFather.",
    example: "123456789:token-of-the-bot",
    aliases: ["TELEGRAM_TOKEN"],
  }),
  ntfyShToken: optionalSetting({
    key: "OVERDUE_NTFY_SH_TOKEN",
    group: "Channels",
    kind: tokenKind,
    fallbackMeans: "none; requests to ntfy.sh are anonymous",
    secret: true,
    meaning: "The access token for https://ntfy.sh, used by channels without their own token.",
    example: "tk_secret-of-ntfy",
    aliases: ["NTFY_SH_TOKEN"],
  }),
} as const;
