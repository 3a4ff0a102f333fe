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
      "Whether channels may call addresses of your own network, such as a chat server beside this one. Whoever may create a channel can then make requests to everything that this process reaches, except for link-local addresses and the metadata services of cloud providers.",
    example: "true",
    aliases: ["INTEGRATIONS_ALLOW_PRIVATE_IPS"],
  }),
  outgoingProxy: optionalSetting({
    key: "OVERDUE_OUTGOING_PROXY",
    group: "Channels",
    kind: proxyUrlKind,
    fallbackMeans: "none; receivers are called directly",
    secret: true,
    meaning:
      "An HTTP proxy that messages to channels go through. Where they go is judged before the proxy hears of it, so that this process has to be able to look up the names of receivers.",
    example: "http://proxy.example.org:3128",
  }),
  telegramToken: optionalSetting({
    key: "OVERDUE_TELEGRAM_TOKEN",
    group: "Channels",
    kind: tokenKind,
    fallbackMeans: "none; Telegram channels cannot be used",
    secret: true,
    meaning: "The token of the Telegram bot that writes the messages; @BotFather makes one.",
    example: "123456789:token-of-the-bot",
    aliases: ["TELEGRAM_TOKEN"],
  }),
  ntfyShToken: optionalSetting({
    key: "OVERDUE_NTFY_SH_TOKEN",
    group: "Channels",
    kind: tokenKind,
    fallbackMeans: "none; ntfy.sh is called without one",
    secret: true,
    meaning: "A token for https://ntfy.sh, for channels that have none of their own.",
    example: "tk_secret-of-ntfy",
    aliases: ["NTFY_SH_TOKEN"],
  }),
} as const;
