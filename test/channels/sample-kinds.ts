// A configuration and a receiver for each kind that sends by HTTP, found in test/receivers/kinds/, and a sender that the
// tests of channels share.
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import type { ChannelConfig } from "../../src/channels/channel-config.ts";
import { createSender, type Sender, type SenderOptions } from "../../src/channels/sender.ts";
import type { ProviderKeys, Providers } from "../../src/channels/providers.ts";
import { checkSerializer } from "../../src/contract/check.ts";
import { VERSIONS } from "../../src/contract/versions.ts";
import { sha1Hex } from "../../src/lib/secrets.ts";
import { TELEGRAM_TOKEN } from "../receivers/kinds/telegram.ts";
import { VAPID } from "../receivers/kinds/webpush.ts";
import type { KindReceiver } from "../receivers/receiver.ts";
import { TWILIO_ACCOUNT, TWILIO_TOKEN } from "../receivers/twilio.ts";

export const SITE = { name: "Overdue", url: "https://overdue.example.org" };
export const DEDUPE_KEY = "6f1c1d0c-61b1-4bd0-8c4a-0f4f2f2f9d11";

const FOLDER = join(import.meta.dirname, "..", "receivers", "kinds");

/** The receivers by kind. */
export const RECEIVERS: Readonly<Record<string, KindReceiver>> = Object.fromEntries(
  await Promise.all(
    readdirSync(FOLDER).map(async (file): Promise<[string, KindReceiver]> => {
      const { receiver } = (await import(join(FOLDER, file))) as { receiver: KindReceiver };
      return [basename(file, ".ts"), receiver];
    }),
  ),
);

/** As somebody would send them to the API. */
export const CONFIGS: Readonly<Record<string, ChannelConfig>> = Object.fromEntries(
  Object.entries(RECEIVERS).map(([kind, { config }]) => [kind, config]),
);

export const KEYS: ProviderKeys = {
  telegramToken: TELEGRAM_TOKEN,
  ntfyShToken: null,
  twilioAuthToken: TWILIO_TOKEN,
  pushoverToken: null,
  matrixToken: null,
  vapidPrivateKey: VAPID.privateKey,
};

export const PROVIDERS: Providers = {
  twilioAccountSid: TWILIO_ACCOUNT,
  twilioFrom: "+14155550100",
  twilioMessagingServiceSid: null,
  twilioWhatsappFrom: "+14155550101",
  twilioWhatsappDownSid: "HXaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
  twilioWhatsappUpSid: "HXbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
  signalUrl: "https://signal.example.org",
  signalAccount: null,
  appriseUrl: "https://apprise.example.org",
  appriseAllowUrls: true,
  matrixHomeserver: null,
  shellFolder: null,
  vapidPublicKey: VAPID.publicKey,
};

export function sampleSender(options: Pick<SenderOptions, "http"> & Partial<SenderOptions>): Sender {
  return createSender({
    adminHttp: options.http,
    mail: null,
    site: SITE,
    keys: KEYS,
    providers: PROVIDERS,
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
