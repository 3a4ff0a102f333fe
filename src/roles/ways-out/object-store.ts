// The object store as the settings name it, for every role that writes there or reads from it.
import type { Config } from "../../config.ts";
import { PING_READ_BYTES_MAX } from "../../core/limits.ts";
import { SECOND_MS } from "../../core/instant.ts";
import { type ObjectStore, openObjectStore } from "../../lib/object-store.ts";

/** Null when none is configured. When the signal fires, all its calls end. */
export function objectStoreOf(config: Config, { signal }: { signal: AbortSignal }): ObjectStore | null {
  const bucket = config.s3Bucket;
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
