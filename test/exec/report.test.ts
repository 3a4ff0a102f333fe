// What is sent when, and for how long the wrapper tries.
import { createServer } from "node:net";
import { readdirSync } from "node:fs";
import { describe, expect, test, vi } from "vitest";
import { environmentFor, newFolder, run, start, startRecorder } from "./recorder.ts";

const queued = (environment: Record<string, string | undefined>) => {
  try {
    return readdirSync(environment["OVERDUE_QUEUE"] ?? "");
  } catch {
    return [];
  }
};

describe("requests", () => {
  test("by UUID, with headers and without run ID", async () => {
    const recorder = await startRecorder();
    const uuid = "0f3a4b5c-1111-4222-8333-444455556666";
    await run(
      ["exec", "-uuid", uuid, "-no-run-id", "-no-start-ping", "-req-header", "X-Team: ops", "--", "true"],
      environmentFor(recorder.url),
    );
    expect(recorder.requests).toHaveLength(1);
    expect(recorder.requests[0]).toMatchObject({ path: uuid, headers: { "x-team": "ops" } });
    expect(recorder.requests[0]?.query.toString()).toBe("");
  });

  test("-create sends the settings of the new check with each ping", async () => {
    const recorder = await startRecorder();
    const flags = ["-create", "--name", "Nightly job", "--tag", "a", "--tag=b", "--schedule", "30 2 * * *"];
    const more = ["--tz", "Europe/Berlin", "--grace", "1h30m"];
    await run(["exec", ...flags, ...more, "--", "true"], environmentFor(recorder.url));
    for (const { query } of recorder.requests) {
      query.delete("rid");
      expect(Object.fromEntries(query)).toEqual({
        create: "1",
        name: "Nightly job",
        tags: "a b",
        schedule: "30 2 * * *",
        tz: "Europe/Berlin",
        grace: "5400",
      });
    }
    expect(recorder.sent()).toEqual(["start", ""]);
  });

  test("the warning of a server is shown", async () => {
    const recorder = await startRecorder();
    recorder.answer = (response) => response.setHeader("Overdue-Warning", "Invalid schedule").end();
    const { err } = await run(["exec", "--", "true"], environmentFor(recorder.url));
    expect(err).toBe("overdue exec: Warning of the server: Invalid schedule\n");
  });

  test("a redirect is followed on the same host only", async () => {
    const recorder = await startRecorder();
    const other = await startRecorder();
    recorder.answer = (response, { path }) => {
      const location = path.endsWith("/start")
        ? `${recorder.url}/moved`
        : other.url.replace("127.0.0.1", "localhost");
      if (path === "moved") response.end();
      else response.writeHead(301, { Location: location }).end();
    };
    const { err } = await run(["exec", "-api-retries", "0", "--", "true"], environmentFor(recorder.url));
    expect(recorder.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "POST secret-ping-key/job/start",
      "POST moved",
      "POST secret-ping-key/job",
    ]);
    expect(other.requests).toEqual([]);
    expect(err).toMatch(/HTTP 301\. Queued in /);
  });

  test("--dry-run prints requests without secrets, and runs the job", async () => {
    const recorder = await startRecorder();
    const { out, err } = await run(
      ["exec", "--dry-run", "-req-header", "X-Secret: hush", "--", "/bin/echo", "ran"],
      environmentFor(recorder.url),
    );
    expect(out).toBe("ran\n");
    expect(recorder.requests).toEqual([]);
    expect(err).toMatch(
      /^overdue exec: Dry run: POST http:\S+\/ping\/secr…\/job\/start\?rid=\S+ \(0 bytes, header X-Secret\)$/m,
    );
    expect(err).toMatch(/job\?rid=\S+ \(4 bytes/);
    expect(err).not.toMatch(/secret-ping|hush/);
  });
});

describe("retries", () => {
  test.each([429, 500, 503, 408])("HTTP %i is tried again", async (status) => {
    const recorder = await startRecorder();
    let failures = 0;
    recorder.answer = (response, { path }) => {
      if (!path.endsWith("/start") && failures++ < 2) response.statusCode = status;
      response.end();
    };
    const { err } = await run(["exec", "--", "true"], environmentFor(recorder.url));
    expect(recorder.sent()).toEqual(["start", "", "", ""]);
    const [, first, second, third] = recorder.requests.map(({ atMs }) => atMs);
    expect(Number(second) - Number(first)).toBeGreaterThanOrEqual(799);
    expect(Number(third) - Number(second)).toBeGreaterThanOrEqual(1_599);
    expect(err).toBe("");
  });

  test.each([400, 404, 409])("HTTP %i is not tried again and not queued", async (status) => {
    const recorder = await startRecorder();
    recorder.answer = (response) => response.writeHead(status).end();
    const environment = environmentFor(recorder.url);
    const { code, err } = await run(["exec", "-no-start-ping", "--", "/bin/sh", "-c", "exit 6"], environment);
    expect(code).toBe(6);
    expect(recorder.sent()).toEqual(["6"]);
    expect(err).toMatch(
      new RegExp(`^overdue exec: Not reported: HTTP ${status} from 127\\.0\\.0\\.1:\\d+\\.\n$`),
    );
    expect(queued(environment)).toEqual([]);
  });

  test("Retry-After is respected", async () => {
    const recorder = await startRecorder();
    recorder.answer = (response) => {
      if (recorder.requests.length === 1) response.writeHead(503, { "Retry-After": "3" });
      response.end();
    };
    await run(["exec", "-no-start-ping", "--", "true"], environmentFor(recorder.url));
    const [first, second] = recorder.requests.map(({ atMs }) => atMs);
    expect(Number(second) - Number(first)).toBeGreaterThanOrEqual(2_399);
  });

  test("-api-retries limits the tries", async () => {
    const recorder = await startRecorder();
    recorder.answer = (response) => response.writeHead(500).end();
    await run(["exec", "-no-start-ping", "-api-retries=1", "--", "true"], environmentFor(recorder.url));
    expect(recorder.requests).toHaveLength(2);
  });

  test("the end waits for the answer to the start", async () => {
    const recorder = await startRecorder();
    recorder.answer = (response, { path }) => {
      if (path.endsWith("/start")) setTimeout(() => response.end(), 1_000);
      else response.end();
    };
    await run(["exec", "--", "true"], environmentFor(recorder.url));
    const [first, second] = recorder.requests.map(({ atMs }) => atMs);
    expect(Number(second) - Number(first)).toBeGreaterThanOrEqual(950);
  });

  test("the job starts before an address that swallows requests answers, and the report ends in time", async () => {
    const sockets = new Set<{ destroy(): void }>();
    const server = createServer((socket) => sockets.add(socket.on("error", () => {})));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    const environment = environmentFor(`http://127.0.0.1:${port}/ping`);
    const startedAt = performance.now();
    const { child, ended } = start(["exec", "--report-for", "3s", "--", "/bin/echo", "ran"], environment);
    await new Promise((resolve) => child.stdout?.once("data", resolve));
    expect(performance.now() - startedAt).toBeLessThan(3_500);
    const { code, ms, err } = await ended;
    for (const socket of sockets) socket.destroy();
    server.close();
    expect(code).toBe(0);
    // Four seconds for the start, which had begun before.
    expect(ms).toBeLessThan(15_000);
    expect(err).toContain("Queued in");
    expect(queued(environment)).toHaveLength(1);
  });

  test("SIGTERM while reporting: queued at once", async () => {
    const recorder = await startRecorder();
    recorder.answer = (response) => response.writeHead(503, { "Retry-After": "10" }).end();
    const environment = environmentFor(recorder.url);
    const { child, ended } = start(["exec", "-no-start-ping", "--", "/bin/sh", "-c", "exit 3"], environment);
    await vi.waitFor(() => expect(recorder.requests).toHaveLength(1), 60_000);
    const stoppedAt = performance.now();
    child.kill("SIGTERM");
    expect((await ended).code).toBe(3);
    expect(performance.now() - stoppedAt).toBeLessThan(5_000);
    expect(queued(environment)).toHaveLength(1);
  });
});

describe("overdue ping", () => {
  test.each([
    [["job"], "", "job", "body\n"],
    [["job", "start"], "", "job/start", ""],
    [["job", "fail"], "", "job/fail", "body\n"],
    [["job", "log"], "", "job/log", "body\n"],
    [
      ["job", "42", "--rid", "0f3a4b5c-1111-4222-8333-444455556666"],
      "rid=0f3a4b5c-1111-4222-8333-444455556666",
      "job/42",
      "body\n",
    ],
    [["-create", "job", "success"], "create=1", "job", "body\n"],
  ])("%j", async (args, query, path, body) => {
    const recorder = await startRecorder();
    expect((await run(["ping", ...args], environmentFor(recorder.url), "body\n")).code).toBe(0);
    expect(recorder.requests).toHaveLength(1);
    expect(recorder.requests[0]).toMatchObject({ path: `secret-ping-key/${path}`, body });
    expect(recorder.requests[0]?.query.toString()).toBe(query);
  });

  test("by UUID", async () => {
    const recorder = await startRecorder();
    const uuid = "0F3A4B5C-1111-4222-8333-444455556666";
    await run(["ping", uuid], environmentFor(recorder.url, { PING_KEY: undefined }));
    expect(recorder.requests[0]?.path).toBe(uuid);
  });

  test.each([[[]], [["job", "maybe"]], [["job", "256"]], [["job", "log", "more"]], [["-banana", "job"]]])(
    "mistakes end with code 2: %j",
    async (args) => {
      const recorder = await startRecorder();
      expect((await run(["ping", ...args], environmentFor(recorder.url))).code).toBe(2);
      expect(recorder.requests).toEqual([]);
    },
  );

  test("an end that cannot be sent is queued, a start is not", async () => {
    const environment = environmentFor("http://127.0.0.1:1/ping", { OVERDUE_QUEUE: newFolder() });
    expect((await run(["ping", "--report-for=0", "job"], environment)).code).toBe(0);
    expect(queued(environment)).toHaveLength(1);
    expect((await run(["ping", "--report-for=0", "job", "start"], environment)).code).toBe(1);
    expect(queued(environment)).toHaveLength(1);
  });
});
