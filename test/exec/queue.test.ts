// Reports that could not be sent: kept within limits, sent later with their time, and none lost by a crash.
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { enqueue, flushQueue, queueFolder, type QueuedEnd } from "../../src/exec/queue.ts";
import type { Sender } from "../../src/exec/report.ts";
import { environmentFor, newFolder, type Recorder, run, start, startRecorder } from "./recorder.ts";

const DEAD = "http://127.0.0.1:1/ping";
const SENDER: Sender = { userAgent: "test", environment: {}, tryMs: 4_000, retriesMax: 0 };

const endOf = (baseUrl: string, more: Partial<QueuedEnd> = {}): QueuedEnd => ({
  target: { baseUrl, handle: ["key", "job"], query: [], headers: {} },
  suffix: "3",
  runId: "0f3a4b5c-1111-4222-8333-444455556666",
  body: Buffer.from("output\n"),
  late: { endedAtMs: Date.now(), ranMs: 1_500 },
  acceptsLateEnds: true,
  ...more,
});

const flushAll = (folder: string) =>
  flushQueue(folder, { sender: SENDER, servers: new Map(), filesMax: Infinity, deadline: Infinity });

/** Queues ends at different times. */
function fill(folder: string, recorder: Recorder, count: number): void {
  const now = Date.now();
  for (let index = 0; index < count; index += 1) {
    enqueue(folder, endOf(recorder.url, { late: { endedAtMs: now - index, ranMs: 1 } }));
  }
}

/** Ends by run and time, as the server counts them. */
const distinct = (recorder: Recorder) =>
  new Set(
    recorder.requests
      .filter(({ query }) => query.has("at"))
      .map(({ query }) => `${query.get("rid")} ${query.get("at")}`),
  );

describe("a job while the server is down", () => {
  test("is queued, and sent with its time after the next report", async () => {
    const environment = environmentFor(DEAD);
    const folder = environment["OVERDUE_QUEUE"] ?? "";
    const before = Date.now();
    const down = await run(["exec", "--report-for=0", "--", "/bin/sh", "-c", "echo x; exit 3"], environment);
    expect(down.code).toBe(3);
    expect(down.err).toContain(`Queued in ${folder}.`);
    const [name = ""] = readdirSync(folder);
    expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);

    const recorder = await startRecorder();
    const entry = readFileSync(join(folder, name), "utf8");
    writeFileSync(join(folder, name), entry.replace(DEAD, recorder.url));
    await run(["exec", "--", "true"], { ...environment, HC_API_URL: recorder.url });
    expect(recorder.sent()).toEqual(["start", "", "3"]);
    const { query, body } = recorder.requests[2] ?? { query: new URLSearchParams(), body: "" };
    expect(Date.parse(query.get("at") ?? "")).toBeGreaterThanOrEqual(before);
    expect(Number(query.get("ran"))).toBeGreaterThan(0);
    expect(query.get("rid")).not.toBe(recorder.requests[0]?.query.get("rid"));
    expect(body).toBe("x\n");
    expect(readdirSync(folder)).toEqual([]);
  });

  test("a start is never queued", async () => {
    const environment = environmentFor(DEAD);
    const { child, ended } = start(["exec", "-api-retries=0", "--", "sleep", "60"], environment);
    await vi.waitFor(() => expect(child.pid).toBeDefined());
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    child.kill("SIGKILL");
    await ended;
    expect(() => readdirSync(environment["OVERDUE_QUEUE"] ?? "")).toThrow("ENOENT");
  });

  test("OVERDUE_QUEUE=off: nothing is stored", async () => {
    const { err } = await run(
      ["exec", "--report-for=0", "--", "true"],
      environmentFor(DEAD, { OVERDUE_QUEUE: "off" }),
    );
    expect(err).toContain("The queue is off.");
  });
});

describe("overdue flush", () => {
  test("sends everything, the oldest first, and prints the result", async () => {
    const recorder = await startRecorder();
    const folder = newFolder();
    const now = Date.now();
    for (const age of [1, 3, 2]) {
      enqueue(
        folder,
        endOf(recorder.url, { suffix: String(age), late: { endedAtMs: now - age * 1_000, ranMs: 1 } }),
      );
    }
    const { code, out } = await run(["flush", "--json"], environmentFor(DEAD, { OVERDUE_QUEUE: folder }));
    expect({ code, out: JSON.parse(out) }).toEqual({
      code: 0,
      out: { sent: 3, dropped: 0, left: 0, reason: null },
    });
    expect(recorder.sent()).toEqual(["3", "2", "1"]);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("keeps what cannot be sent (exit code 1), drops what is refused, and goes on with other servers", async () => {
    const recorder = await startRecorder();
    recorder.answer = (response, { path }) => response.writeHead(path.includes("gone") ? 404 : 200).end();
    const folder = newFolder();
    enqueue(folder, endOf(DEAD));
    enqueue(folder, endOf(DEAD));
    enqueue(
      folder,
      endOf(recorder.url, {
        target: { baseUrl: recorder.url, handle: ["key", "gone"], query: [], headers: {} },
      }),
    );
    enqueue(folder, endOf(recorder.url));
    const { code, out } = await run(["flush"], environmentFor(DEAD, { OVERDUE_QUEUE: folder }));
    expect(out).toMatch(/^Sent 1, dropped 1, 2 left \(connect ECONNREFUSED 127\.0\.0\.1:1\)\.\n$/);
    expect(code).toBe(1);
  });

  test("a server that does not announce late ends gets a log entry", async () => {
    const recorder = await startRecorder();
    recorder.answer = (response) => response.end();
    const folder = newFolder();
    enqueue(folder, endOf(recorder.url, { acceptsLateEnds: null }));
    expect(await flushAll(folder)).toMatchObject({ sent: 1, left: 0 });
    expect(recorder.sent()).toEqual(["log"]);
    expect(recorder.requests[0]?.query.has("at")).toBe(false);
    expect(recorder.requests[0]?.body).toMatch(
      /^Reported late\. The run ended at \d{4}-\S+Z after 1\.5 s: exit code 3\.\noutput\n$/,
    );
  });

  test("a server whose announcements are not known gets a log entry, and the end if it announces late ends", async () => {
    const recorder = await startRecorder();
    const folder = newFolder();
    enqueue(folder, endOf(recorder.url, { acceptsLateEnds: null }));
    enqueue(folder, endOf(recorder.url, { acceptsLateEnds: null }));
    expect(await flushAll(folder)).toMatchObject({ sent: 2, left: 0 });
    expect(recorder.sent()).toEqual(["log", "3", "3"]);
  });
});

describe("crashes", () => {
  test("between sending and deleting: sent again as the same end", async () => {
    const recorder = await startRecorder();
    const folder = newFolder();
    fill(folder, recorder, 5);
    // The answer to the third never arrives: the process is killed while it waits.
    const answer = recorder.answer;
    recorder.answer = (response, request) => {
      if (recorder.requests.length !== 3) answer(response, request);
    };
    const { child, ended } = start(["flush"], environmentFor(DEAD, { OVERDUE_QUEUE: folder }));
    await vi.waitFor(() => expect(recorder.requests).toHaveLength(3), 60_000);
    child.kill("SIGKILL");
    await ended;
    expect(readdirSync(folder)).toHaveLength(3);
    recorder.answer = answer;
    const { code, out } = await run(["flush"], environmentFor(DEAD, { OVERDUE_QUEUE: folder }));
    expect({ code, out }).toEqual({ code: 0, out: "Sent 3, dropped 0, 0 left.\n" });
    expect(recorder.requests).toHaveLength(6);
    expect(distinct(recorder).size).toBe(5);
  });

  test("two processes send each end once", async () => {
    const recorder = await startRecorder();
    const folder = newFolder();
    fill(folder, recorder, 40);
    const environment = environmentFor(DEAD, { OVERDUE_QUEUE: folder });
    await Promise.all([run(["flush"], environment), run(["flush"], environment)]);
    expect(recorder.requests).toHaveLength(40);
    expect(distinct(recorder).size).toBe(40);
    expect(readdirSync(folder)).toEqual([]);
  });

  test("what another process is sending is left alone, for a minute", async () => {
    const recorder = await startRecorder();
    const folder = newFolder();
    enqueue(folder, endOf(recorder.url));
    const [name = ""] = readdirSync(folder);
    renameSync(join(folder, name), join(folder, `${name}.${process.ppid}-${Date.now()}`));
    expect(await flushAll(folder)).toMatchObject({ sent: 0, left: 1 });
    const [claimed = ""] = readdirSync(folder);
    renameSync(join(folder, claimed), join(folder, `${name}.${process.ppid}-${Date.now() - 61_000}`));
    expect(await flushAll(folder)).toMatchObject({ sent: 1, left: 0 });
  });

  test("a damaged file is dropped", async () => {
    const folder = newFolder();
    enqueue(folder, endOf(DEAD));
    const [name = ""] = readdirSync(folder);
    writeFileSync(join(folder, name), "{");
    expect(await flushAll(folder)).toMatchObject({ dropped: 1, left: 0 });
  });

  test.each<[string, (text: string) => string]>([
    ["null", () => "null"],
    ["a body that is no text", (text) => text.replace(/"body":"[^"]*"/, '"body":5')],
    ["a time that is none", (text) => text.replace(/"endedAtMs":\d+/, '"endedAtMs":1e20')],
    ["a query that is none", (text) => text.replace('"query":[]', '"query":5')],
    ["a header that cannot be sent", (text) => text.replace('"headers":{}', '"headers":{"a b":"c"}')],
    ["a URL of a file", (text) => text.replace(/http:[^"]*/, "file:///tmp")],
    ["more bytes than the queue may have", (text) => text.replace("{", `{${" ".repeat(10_000_000)}`)],
  ])("a file with %s is dropped, and the next is sent", async (_, damage) => {
    const recorder = await startRecorder();
    const folder = newFolder();
    fill(folder, recorder, 2);
    const [name = ""] = readdirSync(folder).toSorted();
    writeFileSync(join(folder, name), damage(readFileSync(join(folder, name), "utf8")));
    expect(await flushAll(folder)).toMatchObject({ sent: 1, dropped: 1, left: 0 });
  });

  test("what is no file is left alone: a named pipe would block", async () => {
    const recorder = await startRecorder();
    const folder = newFolder();
    fill(folder, recorder, 1);
    execFileSync("mkfifo", [join(folder, `${"1".repeat(13)}-${"a".repeat(16)}.json`)]);
    mkdirSync(join(folder, `${"2".repeat(13)}-${"a".repeat(16)}.json`));
    const flush = await run(["flush"], environmentFor(DEAD, { OVERDUE_QUEUE: folder }));
    expect(flush).toMatchObject({ code: 0, out: "Sent 1, dropped 0, 0 left.\n" });
    expect(() => fill(folder, recorder, 1)).not.toThrow();
  });
});

describe("limits", () => {
  test("1,000 files: the oldest goes", () => {
    const folder = newFolder();
    const now = Date.now();
    for (let index = 0; index < 1_001; index += 1) {
      writeFileSync(join(folder, `${now - 1_001 + index}-${String(index).padStart(16, "0")}.json`), "{}");
    }
    enqueue(folder, endOf(DEAD, { late: { endedAtMs: now, ranMs: 1 } }));
    const names = readdirSync(folder).toSorted();
    expect(names).toHaveLength(1_000);
    expect(names[0]).toContain(`${now - 999}-`);
  });

  test("10 MB, and 100 kB each", () => {
    const folder = newFolder();
    const now = Date.now();
    for (let index = 0; index < 5; index += 1) {
      writeFileSync(
        join(folder, `${now - 10 + index}-${String(index).padStart(16, "0")}.json`),
        Buffer.alloc(4_000_000),
      );
    }
    enqueue(folder, endOf(DEAD, { body: Buffer.alloc(5_000_000, "x"), late: { endedAtMs: now, ranMs: 1 } }));
    const names = readdirSync(folder).toSorted();
    expect(names).toHaveLength(3);
    expect(statSync(join(folder, names[2] ?? "")).size).toBeLessThan(140_000);
  });

  test("7 days", async () => {
    const folder = newFolder();
    const old = Date.now() - 7 * 86_400_000 - 1;
    writeFileSync(join(folder, `${old}-${"0".repeat(16)}.json`), "{}");
    enqueue(folder, endOf(DEAD));
    expect(readdirSync(folder)).toHaveLength(1);
    enqueue(folder, endOf(DEAD, { late: { endedAtMs: old, ranMs: 1 } }));
    expect(readdirSync(folder)).toHaveLength(1);
  });

  test("after a report, 20 files", async () => {
    const recorder = await startRecorder();
    const folder = newFolder();
    fill(folder, recorder, 25);
    await run(["exec", "--", "true"], environmentFor(recorder.url, { OVERDUE_QUEUE: folder }));
    expect(distinct(recorder).size).toBe(20);
    expect(readdirSync(folder)).toHaveLength(5);
  });
});

test.each([
  [{ OVERDUE_QUEUE: "/q", STATE_DIRECTORY: "/s" }, "/q"],
  [{ OVERDUE_QUEUE: "off" }, null],
  [{ STATE_DIRECTORY: "/var/lib/a:/var/lib/b" }, "/var/lib/a/overdue/queue"],
])("the folder of the queue with %j", (environment, folder) => {
  expect(queueFolder(environment)).toBe(folder);
});
