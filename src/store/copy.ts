// Bulk data over a connection with COPY, in PostgreSQL's text format: one line for each row. The driver knows the
// messages of COPY, but has no query that uses them.
import type { Duplex } from "node:stream";
import pg from "pg";

/** What a query sees of the connection. */
type Wire = { stream: Duplex; sendCopyFromChunk(chunk: Buffer): void; endCopyFrom(): void };

/** One message holds at most this much; the driver copies it. */
const MESSAGE_BYTES_MAX = 256 * 1024;

/** Receives data. It copies what it needs before it returns, and returns a promise if the sender has to wait. */
export type CopySink = (chunk: Buffer) => Promise<void> | null;

/** Runs `copy … to stdout`. An error of the sink ends the connection, because the server cannot be told to stop. */
export async function copyOut(
  client: pg.ClientBase,
  { text, sink }: { text: string; sink: CopySink },
): Promise<void> {
  const done = Promise.withResolvers<void>();
  let waiting = Promise.resolve();
  let waitingCount = 0;
  let failure: { error: unknown } | null = null;
  const waitFor = async (wait: Promise<void>, stream: Duplex) => {
    waitingCount += 1;
    stream.pause();
    try {
      await wait;
    } catch (error) {
      failure ??= { error };
      stream.destroy(new Error("the copy was given up"));
    }
    waitingCount -= 1;
    if (waitingCount === 0) stream.resume();
  };
  class ToStdout extends pg.Query {
    handleCopyData({ chunk }: { chunk: Buffer }, { stream }: Wire): void {
      const wait = failure === null ? sink(chunk) : null;
      if (wait !== null) waiting = waitFor(wait, stream);
    }
  }
  const query = new ToStdout({ text }, (error) => {
    if (error) done.reject(error);
    else done.resolve();
  });
  client.query(query);
  try {
    await done.promise;
  } finally {
    // The last parts may still be on their way.
    await waiting;
    throwFailure(failure);
  }
}

/** The error of the sink explains more than that of the connection which it has ended. */
function throwFailure(failure: { error: unknown } | null): void {
  if (failure !== null) throw failure.error;
}

export type CopyIn = {
  /** Resolves when the next chunk may be written. Rejects with the error of the server. */
  write(chunk: Buffer): Promise<void>;
  /** Resolves when the server has taken everything. */
  end(): Promise<void>;
};

/** Begins `copy … from stdin`. If the caller stops before the end, it ends the connection. */
export async function copyIn(client: pg.ClientBase, { text }: { text: string }): Promise<CopyIn> {
  const ready = Promise.withResolvers<Wire>();
  const done = Promise.withResolvers<void>();
  class FromStdin extends pg.Query {
    handleCopyInResponse(wire: Wire): void {
      ready.resolve(wire);
    }
  }
  const query = new FromStdin({ text }, (error) => {
    if (error) done.reject(error);
    else done.resolve();
  });
  // Reported to whoever writes next.
  done.promise.catch(() => {});
  client.query(query);
  const wire = await Promise.race([ready.promise, done.promise.then(() => ready.promise)]);
  const drained = (stream: Duplex) =>
    new Promise<void>((resolve) => {
      if (stream.writableNeedDrain) stream.once("drain", resolve);
      else resolve();
    });
  return {
    write: async (chunk) => {
      for (let at = 0; at < chunk.length; at += MESSAGE_BYTES_MAX) {
        wire.sendCopyFromChunk(chunk.subarray(at, at + MESSAGE_BYTES_MAX));
        await Promise.race([drained(wire.stream), done.promise]);
      }
    },
    end: async () => {
      wire.endCopyFrom();
      await done.promise;
    },
  };
}
