// The spool's thread. It handles everything that has arrived while the disk was busy as one group, so that many
// batches share a sync, and responds only when the group is on disk.
import { parentPort, workerData } from "node:worker_threads";
import type { ThreadCall, ThreadReply } from "../thread-calls.ts";
import type { Refusal, SpoolAnswer, SpoolOptions, SpoolRequest, SpoolState } from "./messages.ts";
import { refusalOf, SpoolFiles } from "./open-files.ts";

type Call = ThreadCall<SpoolRequest>;
type AppendCall = { id: number; request: Extract<SpoolRequest, { kind: "append" }> };

/** A group is closed at this size, so that no batch waits long because of later ones. */
const GROUP_BYTES_MAX = 8 * 1024 * 1024;

const NOTHING: SpoolState = {
  batches: 0,
  signals: 0,
  bytes: 0,
  hasRoom: true,
  full: false,
  failed: null,
  isRemoved: false,
  files: [],
  emptyOrphans: [],
  lostFiles: [],
};

const port = parentPort;
if (port === null) throw new Error("this file must run in a worker thread");
const queue: Call[] = [];
let keeper: SpoolFiles | null = null;
let isWoken = false;

port.on("message", (call: Call) => {
  queue.push(call);
  wake();
});

function wake(): void {
  if (isWoken) return;
  isWoken = true;
  // By then everything that was pending in the port is in the queue.
  setImmediate(() => {
    isWoken = false;
    work();
    if (queue.length > 0) wake();
  });
}

function work(): void {
  const appends = takeAppends();
  if (appends.length > 0) appendAll(appends);
  else {
    const call = queue.shift();
    if (call !== undefined) answerOne(call);
  }
  keeper?.tidy();
}

function takeAppends(): AppendCall[] {
  const taken: AppendCall[] = [];
  let bytes = 0;
  while (bytes < GROUP_BYTES_MAX) {
    const next = queue[0];
    if (next?.request.kind !== "append") break;
    queue.shift();
    taken.push({ id: next.id, request: next.request });
    bytes += next.request.payload.length;
  }
  return taken;
}

function appendAll(calls: readonly AppendCall[]): void {
  let refusals: readonly (Refusal | null)[];
  try {
    refusals = opened().append(calls.map(({ request }) => request));
  } catch (error) {
    const refusal = refusalOf(error);
    refusals = calls.map(() => refusal);
  }
  const state = keeper?.state() ?? NOTHING;
  for (const [index, { id }] of calls.entries()) reply(id, { refusal: refusals[index] ?? null, state });
}

function answerOne({ id, request }: Call): void {
  try {
    const answer = answerTo(request);
    reply(id, { refusal: null, ...answer, state: keeper?.state() ?? NOTHING });
  } catch (error) {
    reply(id, { refusal: refusalOf(error), state: keeper?.state() ?? NOTHING });
  }
  if (request.kind === "close") port?.close();
}

function answerTo(request: SpoolRequest): Omit<SpoolAnswer, "refusal" | "state"> {
  switch (request.kind) {
    case "open":
      keeper = new SpoolFiles(workerData as SpoolOptions);
      return {};
    case "oldest":
      return { batch: opened().oldest() };
    case "remove":
      return { removed: opened().remove(request.batch) };
    case "adopt":
      opened().adopt();
      return {};
    case "releaseIntakes":
      opened().releaseIntakes(request.intakeIds);
      return {};
    case "close":
      keeper?.close(request);
      keeper = null;
      return {};
    case "append":
      throw new Error("appends must be handled in groups");
  }
}

function opened(): SpoolFiles {
  if (keeper === null) throw new Error("the spool is not open");
  return keeper;
}

function reply(id: number, answer: SpoolAnswer): void {
  const { payload } = answer.batch ?? {};
  // The bytes of a batch are transferred, not copied.
  const transfer = payload?.buffer instanceof ArrayBuffer ? [payload.buffer] : [];
  port?.postMessage({ id, answer } satisfies ThreadReply<SpoolAnswer>, transfer);
}
