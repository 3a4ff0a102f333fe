// Where a backup is: a file, or an object as s3://bucket/key.
import { createReadStream, existsSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Config } from "../config/config.ts";
import { type ObjectStore, ObjectStoreError } from "../lib/object-store.ts";
import type { BackupSink, BackupSource } from "../operations/backup.ts";
import { type CommandContext, CommandError, EXIT } from "./command-context.ts";

/** It has credentials of channels. */
const FILE_MODE = 0o600;
const READ_BYTES = 1024 * 1024;
const S3_URL = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])\/([^?#]{1,1024})$/;

export type PlaceOptions = { context: CommandContext; config: Config; signal: AbortSignal };

export type NewBackup = BackupSink & {
  /** Makes the backup visible under its name. */
  finish(): Promise<void>;
  /** Deletes what was written. */
  abort(): Promise<void>;
};

/** Begins a new backup. Throws CommandError if there is one of that name. */
export async function createBackup(place: string, options: PlaceOptions): Promise<NewBackup> {
  const { signal } = options;
  const target = isObject(place) ? await createObject(place, options) : await createFile(resolve(place));
  return {
    ...target,
    write: async (bytes) => {
      signal.throwIfAborted();
      await target.write(bytes);
    },
  };
}

function isObject(place: string): boolean {
  return place.startsWith("s3:");
}

function alreadyThere(place: string): CommandError {
  return new CommandError(
    `${place} already exists and is not overwritten. Choose another name, or delete it first.`,
  );
}

async function createFile(path: string): Promise<NewBackup> {
  if (existsSync(path)) throw alreadyThere(path);
  const partial = `${path}.partial-${process.pid}`;
  const file = await open(partial, "wx", FILE_MODE);
  return {
    write: (bytes) => file.writeFile(bytes),
    finish: async () => {
      await file.sync();
      await file.close();
      if (existsSync(path)) throw alreadyThere(path);
      await rename(partial, path);
      // The name is on disk, too.
      const folder = await open(dirname(path));
      await folder.sync();
      await folder.close();
    },
    abort: async () => {
      await file.close().catch(() => {});
      await rm(partial, { force: true });
    },
  };
}

async function createObject(place: string, options: PlaceOptions): Promise<NewBackup> {
  const { store, key } = await objectAt(place, options);
  return explained(place, async () => {
    const [first] = await store.list(key, { limit: 1 });
    if (first === key) throw alreadyThere(place);
    const upload = await store.upload(key);
    return {
      write: (bytes) => explained(place, () => upload.write(bytes)),
      finish: () => explained(place, () => upload.finish()),
      abort: () => upload.abort(),
    };
  });
}

/** A backup to read. */
export async function openBackup(place: string, options: PlaceOptions): Promise<BackupSource> {
  const { signal } = options;
  const path = resolve(place);
  const object = isObject(place) ? await objectAt(place, options) : null;
  return async function* read() {
    try {
      const bytes =
        object === null
          ? createReadStream(path, { highWaterMark: READ_BYTES })
          : object.store.download(object.key);
      for await (const chunk of bytes as AsyncIterable<Uint8Array>) {
        signal.throwIfAborted();
        yield chunk;
      }
    } catch (error) {
      throw explain(place, error);
    }
  };
}

async function objectAt(
  place: string,
  { context, config, signal }: PlaceOptions,
): Promise<{ store: ObjectStore; key: string }> {
  const [, bucket, key] = S3_URL.exec(place) ?? [];
  if (bucket === undefined || key === undefined) {
    throw new CommandError(`${place} is not a valid location. Use s3://bucket/key.`, EXIT.usage);
  }
  const store = await context.openObjects(config, { signal, bucket });
  if (store !== null) return { store, key };
  throw new CommandError(
    "Set OVERDUE_S3_ENDPOINT, OVERDUE_S3_ACCESS_KEY, and OVERDUE_S3_SECRET_KEY to use an s3:// location.",
    EXIT.usage,
  );
}

async function explained<T>(place: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw explain(place, error);
  }
}

function explain(place: string, error: unknown): unknown {
  if (!(error instanceof ObjectStoreError)) return error;
  if (error.kind === "missing") return new CommandError(`${place} does not exist. Correct the location.`);
  return new CommandError(
    `Cannot access ${place}: ${error.message}. Check the bucket, its permissions, and the S3 settings.`,
  );
}
