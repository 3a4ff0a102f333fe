// The accounts of the server at providers, which channels of all projects use.
import type { VapidKeys } from "../lib/web-push.ts";

/** The server's credentials at providers. Each is removed from everything that is stored or logged. */
export type ProviderKeys = {
  telegramToken: string | null;
  ntfyShToken: string | null;
  twilioAuthToken: string | null;
  pushoverToken: string | null;
  matrixToken: string | null;
  vapidPrivateKey: string | null;
};

/** What is not secret about the server's accounts at providers. */
export type Providers = {
  twilioAccountSid: string | null;
  /** The number that sends text messages and calls. */
  twilioFrom: string | null;
  twilioMessagingServiceSid: string | null;
  twilioWhatsappFrom: string | null;
  /** Message templates for WhatsApp. */
  twilioWhatsappDownSid: string | null;
  twilioWhatsappUpSid: string | null;
  /** The HTTP address of signal-cli, and its account if it has several. */
  signalUrl: string | null;
  signalAccount: string | null;
  appriseUrl: string | null;
  /** Channels may name any Apprise URL. */
  appriseAllowUrls: boolean;
  matrixHomeserver: string | null;
  /** The folder with the programs that channels may run. */
  shellFolder: string | null;
  vapidPublicKey: string | null;
};

/** The settings; accounts have the same names. */
export type ProviderSettings = Omit<ProviderKeys, "vapidPrivateKey"> & Omit<Providers, "vapidPublicKey">;

/** The accounts according to the settings. */
export function providersOf(
  config: ProviderSettings,
  vapid: VapidKeys | null,
): { keys: ProviderKeys; providers: Providers } {
  return {
    keys: {
      telegramToken: config.telegramToken,
      ntfyShToken: config.ntfyShToken,
      twilioAuthToken: config.twilioAuthToken,
      pushoverToken: config.pushoverToken,
      matrixToken: config.matrixToken,
      vapidPrivateKey: vapid?.privateKey ?? null,
    },
    providers: {
      twilioAccountSid: config.twilioAccountSid,
      twilioFrom: config.twilioFrom,
      twilioMessagingServiceSid: config.twilioMessagingServiceSid,
      twilioWhatsappFrom: config.twilioWhatsappFrom,
      twilioWhatsappDownSid: config.twilioWhatsappDownSid,
      twilioWhatsappUpSid: config.twilioWhatsappUpSid,
      signalUrl: config.signalUrl,
      signalAccount: config.signalAccount,
      appriseUrl: config.appriseUrl,
      appriseAllowUrls: config.appriseAllowUrls,
      matrixHomeserver: config.matrixHomeserver,
      shellFolder: config.shellFolder,
      vapidPublicKey: vapid?.publicKey ?? null,
    },
  };
}
