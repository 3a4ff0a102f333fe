// Fills the log as an edge would that receives this many pings at the same time, but without HTTP.
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import type { AcceptedSignal } from "../../src/core/signal.ts";
import { LogIntake } from "../../src/intake/log-intake.ts";
import { KafkaTopic } from "../../src/lib/kafka.ts";
import type { LogStage } from "./log-stage.ts";

const UUID_LENGTH = 36;
const LINE_LENGTH = UUID_LENGTH + 1;

/** Appends at least this many signals of random checks; returns how many. */
export async function fillLog(
  { address, partitions, scale }: Pick<LogStage, "address" | "partitions" | "scale">,
  { signals, together }: { signals: number; together: number },
): Promise<number> {
  const uuids = readFileSync(scale.uuidsPath, "latin1");
  const checkCount = uuids.length / LINE_LENGTH;
  const topic = await KafkaTopic.open(address);
  const intake = new LogIntake({
    newEdge: randomUUID,
    partitions,
    append: (given) => topic.append(given),
    isBusy: (partition) => topic.isBusy(partition),
    now: () => Date.now(),
    monotonic: () => performance.now(),
    known: { knows: () => true, remember: () => {}, remove: () => {} },
    find: () => Promise.resolve("unknown"),
    create: () => Promise.resolve("unknown"),
    refusal: () => null,
    onError: () => {},
  });
  const accept = () => {
    const at = Math.floor(Math.random() * checkCount) * LINE_LENGTH;
    return intake.accept(success(uuids.slice(at, at + UUID_LENGTH)), { create: false, network: null });
  };
  let count = 0;
  try {
    await intake.enter();
    while (count < signals) {
      const results = await Promise.all(Array.from({ length: together }, accept));
      if (results.some(({ kind }) => kind !== "recorded")) throw new Error("the log was not filled");
      count += together;
    }
    if (!(await intake.leave())) throw new Error("the log was not filled");
  } finally {
    await topic.close();
  }
  return count;
}

/** A ping as an edge takes it. */
export function success(uuid: string): AcceptedSignal {
  return {
    target: { by: "uuid", uuid },
    source: { by: "http", action: "success", method: "GET" },
    rid: null,
    exitStatus: null,
    scheme: "http",
    remoteAddr: "127.0.0.1",
    ua: "curl/8.5.0",
    body: null,
    at: Date.now(),
  };
}
