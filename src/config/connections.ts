// The object store and the guarded HTTP client, made from the settings.
import { SECOND_MS } from "../core/instant.ts";
import { PING_READ_BYTES_MAX } from "../core/limits.ts";
import type { MailSenderOptions } from "../lib/mail-sender.ts";
import { type ObjectStore, openObjectStore } from "../lib/object-store.ts";
import { type GuardedHttp, guardedHttp } from "../lib/outgoing-http.ts";
import type { Config } from "./config.ts";

/** Null if none is configured. When the signal is aborted, all its calls end. `bucket`: another one of the store. */
export function objectStoreOf(
  config: Config,
  { signal, bucket = config.s3Bucket }: { signal: AbortSignal; bucket?: string | null },
): ObjectStore | null {
  const endpoint = config.s3Endpoint;
  const accessKey = config.s3AccessKey;
  const secretKey = config.s3SecretKey;
  if (bucket === null || endpoint === null || accessKey === null || secretKey === null) return null;
  return openObjectStore({
    endpoint,
    bucket,
    region: config.s3Region,
    accessKey,
    secretKey,
    timeoutMs: config.s3TimeoutSeconds * SECOND_MS,
    objectBytesMax: PING_READ_BYTES_MAX,
    signal,
  });
}

const USER_AGENT = "Overdue";

/** Opens a client. Close it at the end; running requests then fail. */
export function openOutgoing(config: Pick<Config, "allowPrivateAddresses" | "outgoingProxy">): GuardedHttp {
  return guardedHttp({
    userAgent: USER_AGENT,
    allowPrivate: config.allowPrivateAddresses,
    proxyUrl: config.outgoingProxy,
  });
}

/** The configured mail server and its options, or null if there is none. */
export function mailServerOf(config: Config): MailSenderOptions | null {
  const host = config.smtpHost;
  if (host === null) return null;
  return {
    host,
    port: config.smtpPort,
    security: config.smtpSecurity,
    user: config.smtpUser,
    password: config.smtpPassword,
    clientName: siteHost(config),
    from: config.mailFrom ?? `${config.siteName.replace(/[<>"\r\n]/g, "")} <overdue@${siteHost(config)}>`,
    connectionsMax: config.smtpConnections,
    timeoutMs: config.smtpTimeoutSeconds * SECOND_MS,
  };
}

function siteHost({ siteUrl }: Config): string {
  return new URL(siteUrl).hostname;
}
