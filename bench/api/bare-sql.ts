// Repeats the statements of one request on plain sessions, in its own process: measures the cost of the database and
// its driver. The first argument is its configuration.
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import pg from "pg";
import type { RecordedStatement } from "./recorded.ts";
import type { ApiStage, SampleCheck } from "./stage.ts";

export type BareOrder = {
  url: string;
  /** Buffers as { base64 }. */
  statements: readonly RecordedStatement[];
  /** The check in the recorded statements, which is replaced by another one each time; null if there is none. */
  sample: SampleCheck | null;
  /** Other checks: a UUID or a unique key in each line, and the ids in the same order. */
  namesPaths: ApiStage["namesPaths"];
  ids: readonly number[];
  /** A text that must be unique in each request. */
  counter: string;
  sessions: number;
  seconds: number;
};

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

type Replacing = {
  /** The recorded check and its replacement, if any. */
  check: { from: SampleCheck; to: SampleCheck } | null;
  /** An ID that a recorded statement returned, and the one that it has returned now. */
  returned: Map<number, number>;
  counter: { from: string; to: string };
};

/** A recorded value with the replacements of this request. */
function replaced(value: unknown, how: Replacing): unknown {
  if (Array.isArray(value)) return value.map((one) => replaced(one, how));
  if (typeof value === "object" && value !== null && "base64" in value) {
    return Buffer.from(String(value.base64), "base64");
  }
  if (typeof value === "number") {
    if (value === how.check?.from.id) return how.check.to.id;
    return how.returned.get(value) ?? value;
  }
  if (typeof value !== "string") return value;
  if (value === how.check?.from.uuid) return how.check.to.uuid;
  if (value === how.check?.from.uniqueKey) return how.check.to.uniqueKey;
  // Every other UUID was generated for a new row.
  if (UUID.test(value)) return randomUUID();
  return value.replaceAll(how.counter.from, how.counter.to);
}

async function repeat(client: pg.Client, order: BareOrder, targets: readonly SampleCheck[]) {
  let count = 0;
  const until = performance.now() + order.seconds * 1_000;
  while (performance.now() < until) {
    const to = targets[Math.floor(Math.random() * targets.length)];
    if (to === undefined) throw new Error("there are no checks");
    count += 1;
    const counter = { from: order.counter, to: `${process.pid}-${Math.random()}` };
    const check = order.sample === null ? null : { from: order.sample, to };
    const how: Replacing = { check, returned: new Map(), counter };
    for (const one of order.statements) {
      const values = one.values.map((value) => replaced(value, how));
      const { rows, rowCount } = await client.query<{ id?: unknown }>({
        text: one.text,
        ...(one.name !== null && { name: one.name }),
        ...(values.length > 0 && { values }),
      });
      const isNew = one.returnedId !== null && /^\s*insert/i.test(one.text);
      if (isNew && one.returnedId !== null) how.returned.set(one.returnedId, Number(rows[0]?.id));
      if ((rowCount ?? 0) !== one.rowCount) {
        throw new Error(`${one.name ?? one.text}: ${rowCount} rows instead of ${one.rowCount}`);
      }
    }
  }
  return count;
}

const order = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as BareOrder;
const linesOf = (path: string) => readFileSync(path, "utf8").trimEnd().split("\n");
const uniqueKeys = linesOf(order.namesPaths.uniqueKey);
const targets = linesOf(order.namesPaths.uuid).map((uuid, index) => ({
  uuid,
  uniqueKey: uniqueKeys[index] ?? "",
  id: order.ids[index] ?? 0,
}));
const clients = Array.from({ length: order.sessions }, () => new pg.Client({ connectionString: order.url }));
await Promise.all(clients.map((client) => client.connect()));
const begin = performance.now();
const counts = await Promise.all(clients.map((client) => repeat(client, order, targets)));
const elapsedMs = performance.now() - begin;
await Promise.all(clients.map((client) => client.end()));
console.log(JSON.stringify({ works: counts.reduce((sum, count) => sum + count, 0), elapsedMs }));
