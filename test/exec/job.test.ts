// What a job sees and what becomes of it: its output, signals and exit code, as without the wrapper.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { environmentFor, newFolder, run, start, startRecorder } from "./recorder.ts";

const NO_SERVER = "http://127.0.0.1:1/ping";
const exec = (...command: string[]) => ["exec", "--report-for", "0", "--", ...command];
const shell = (script: string) => exec("/bin/sh", "-c", script);

describe("output", () => {
  test("stdout and stderr stay separate, and both are sent", async () => {
    const recorder = await startRecorder();
    const ended = await run(
      ["exec", "--", "/bin/sh", "-c", "echo out; echo err >&2; exit 3"],
      environmentFor(recorder.url),
    );
    expect(ended).toMatchObject({ code: 3, signal: null, out: "out\n", err: "err\n" });
    expect(recorder.sent()).toEqual(["start", "3"]);
    const [first, second] = recorder.requests;
    expect(second?.body.split("\n").toSorted()).toEqual(["", "err", "out"]);
    expect(second).toMatchObject({
      method: "POST",
      path: "secret-ping-key/job/3",
      headers: { "content-type": "text/plain", "user-agent": expect.stringMatching(/^overdue-exec\/\d/) },
    });
    expect(second?.query.get("rid")).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4/);
    expect(first?.query.get("rid")).toBe(second?.query.get("rid"));
  });

  test("--merge keeps the order of both streams", async () => {
    const recorder = await startRecorder();
    const script = "for i in 1 2 3 4 5 6 7 8 9; do echo $i; echo e$i >&2; done";
    const { out, err } = await run(
      ["exec", "--merge", "--", "/bin/sh", "-c", script],
      environmentFor(recorder.url),
    );
    const expected = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((i) => `${i}\ne${i}\n`).join("");
    expect({ out, err }).toEqual({ out: expected, err: "" });
    expect(recorder.requests[1]?.body).toBe(expected);
  });

  test.each([
    ["always", 0, "out\n", "err\n"],
    ["never", 1, "", ""],
    ["on-failure", 0, "", ""],
    ["on-failure", 1, "out\n", "err\n"],
  ])("--echo %s with exit code %i", async (echo, code, out, err) => {
    const recorder = await startRecorder();
    const script = `echo out; echo err >&2; exit ${code}`;
    const ended = await run(
      ["exec", "--echo", echo, "--", "/bin/sh", "-c", script],
      environmentFor(recorder.url),
    );
    expect(ended).toMatchObject({ code, out, err });
    expect(recorder.requests[1]?.body.split("\n").toSorted()).toEqual(["", "err", "out"]);
  });

  test.each([
    ["-quiet", "", "err\n"],
    ["-silent", "", ""],
  ])("%s discards", async (flag, out, err) => {
    const recorder = await startRecorder();
    const ended = await run(
      ["exec", flag, "--", "/bin/sh", "-c", "echo out; echo err >&2"],
      environmentFor(recorder.url),
    );
    expect(ended).toMatchObject({ code: 0, out, err });
    expect(recorder.requests[1]?.body).toBe(err);
  });

  test("-no-output-in-ping prints and does not send", async () => {
    const recorder = await startRecorder();
    const ended = await run(
      ["exec", "-no-output-in-ping", "--", "/bin/echo", "secret"],
      environmentFor(recorder.url),
    );
    expect(ended.out).toBe("secret\n");
    expect(recorder.requests[1]?.body).toBe("");
  });

  test("the body is the end, within the limit of the server, from the start of a character", async () => {
    const recorder = await startRecorder();
    recorder.answer = (response) => response.setHeader("Ping-Body-Limit", "101").end();
    const { out } = await run(
      ["exec", "--", "/bin/sh", "-c", "printf '%0300d' 0 | sed s/0/€/g"],
      environmentFor(recorder.url),
    );
    expect(out).toBe("€".repeat(300));
    const body = recorder.requests[1]?.body ?? "";
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(101);
    expect(body).toMatch(/^\[overdue\] Earlier output omitted\. Last \d+ bytes:\n€+$/);
  });

  test("the answer to the start may arrive after the output has ended", async () => {
    const recorder = await startRecorder();
    recorder.answer = (response, { path }) => {
      response.setHeader("Ping-Body-Limit", "20000");
      setTimeout(() => response.end(), path.endsWith("/start") ? 1_500 : 0);
    };
    const { code, ms } = await run(
      ["exec", "--", "/bin/sh", "-c", "yes | head -c 500000"],
      environmentFor(recorder.url),
    );
    expect(code).toBe(0);
    expect(ms).toBeLessThan(20_000);
    expect(recorder.requests[1]?.body).toMatch(/^\[overdue\] Earlier output omitted\. Last 199\d\d bytes:\n/);
  });

  test("100 MB arrive as they were written", async () => {
    const recorder = await startRecorder();
    const folder = newFolder();
    const job = "head -c 100000000 /dev/zero | tr '\\\\0' x";
    const pipeline = `'${process.execPath}' src/main.ts exec -- sh -c "${job}" | wc -c >'${folder}/count'`;
    const child = spawn("/bin/sh", ["-c", pipeline], { env: environmentFor(recorder.url), stdio: "ignore" });
    await new Promise((resolve) => child.once("exit", resolve));
    expect(readFileSync(join(folder, "count"), "utf8").trim()).toBe("100000000");
    expect(recorder.requests[1]?.body).toMatch(
      /^\[overdue\] Earlier output omitted\. Last 99\d\d bytes:\nx+$/,
    );
  });

  test("standard input reaches the job", async () => {
    expect((await run(exec("/bin/cat"), environmentFor(NO_SERVER), "given\n")).out).toBe("given\n");
  });

  test("a job whose reader is gone ends as without us", async () => {
    const { child, ended } = start(exec("yes"), environmentFor(NO_SERVER));
    child.stdout?.once("data", () => child.stdout?.destroy());
    expect(await ended).toMatchObject({ code: 141 });
  });

  test("a process that the job leaves behind delays the report by two seconds", async () => {
    const recorder = await startRecorder();
    const { code, ms } = await run(
      ["exec", "--", "/bin/sh", "-c", "sleep 20 & echo started"],
      environmentFor(recorder.url),
    );
    expect(code).toBe(0);
    expect(ms).toBeLessThan(18_000);
    expect(recorder.requests[1]?.body).toContain("Another process still holds the output open");
  });

  test.each([
    ["without a folder for temporary files", { TMPDIR: "/nonexistent" }],
    ["without tee, tail and mkfifo", { PATH: "/nonexistent" }],
    ["without PATH", { PATH: undefined }],
  ])("%s, the job runs and is reported", async (_name, environment) => {
    const recorder = await startRecorder();
    const ended = await run(
      ["exec", "--", "/bin/sh", "-c", "echo out; echo err >&2; exit 5"],
      environmentFor(recorder.url, environment),
    );
    expect(ended).toMatchObject({ code: 5, out: "out\n", err: "err\n" });
    expect(recorder.requests[1]?.body.split("\n").toSorted()).toEqual(["", "err", "out"]);
  });

  test("leaves no temporary files", async () => {
    const folder = newFolder();
    await run(shell("echo x"), environmentFor(NO_SERVER, { TMPDIR: folder, OVERDUE_QUEUE: "off" }));
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe("exit codes", () => {
  test.each([
    ["of the job", ["/bin/sh", "-c", "exit 77"], 77, "77"],
    ["of a command that does not exist", ["no-such-command"], 127, "fail"],
    ["of a file that is not executable", ["/etc/passwd"], 126, "fail"],
    ["of a directory", ["/tmp"], 126, "fail"],
  ])("%s", async (_name, command, code, sent) => {
    const recorder = await startRecorder();
    expect((await run(["exec", "--", ...command], environmentFor(recorder.url))).code).toBe(code);
    expect(recorder.sent()).toEqual(["start", sent]);
  });

  test.each(["SIGTERM", "SIGKILL", "SIGABRT", "SIGSEGV"] as const)("a job killed by %s", async (signal) => {
    const recorder = await startRecorder();
    const ended = await run(
      ["exec", "--", "/bin/sh", "-c", `ulimit -c 0; kill -${signal.slice(3)} $$`],
      environmentFor(recorder.url),
    );
    expect(ended).toMatchObject({ code: null, signal });
    expect(recorder.requests[1]?.body).toBe(`[overdue] Killed by ${signal}.\n`);
    expect(Number(recorder.sent()[1])).toBeGreaterThan(128);
  });

  test.each([
    [["-on-success", "exit-code"], "true", "0"],
    [["-on-success", "log"], "true", "log"],
    [["-on-nonzero-exit", "fail"], "false", "fail"],
    [["-on-nonzero-exit=success"], "false", ""],
    [["-on-exec-fail", "exit-code"], "no-such-command", "127"],
  ])("%j %s sends %j", async (flags, command, sent) => {
    const recorder = await startRecorder();
    await run(["exec", ...flags, "--", command], environmentFor(recorder.url));
    expect(recorder.sent()).toEqual(["start", sent]);
  });

  test("--timeout ends the job with SIGTERM, then SIGKILL; exit code 124", async () => {
    const recorder = await startRecorder();
    const script = "trap 'echo ignored' TERM; echo ready; while :; do sleep 0.1; done";
    const ended = await run(
      ["exec", "--timeout", "3s", "--kill-after", "1s", "--", "/bin/sh", "-c", script],
      environmentFor(recorder.url),
    );
    expect(ended).toMatchObject({ code: 124, out: "ready\nignored\n" });
    expect(recorder.sent()).toEqual(["start", "124"]);
    expect(recorder.requests[1]?.body).toContain("[overdue] Stopped after the time limit of 3 s.");
  });
});

describe("signals", () => {
  test.each(["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGINT", "SIGQUIT"] as const)(
    "%s goes on to the job, which decides",
    async (signal) => {
      const script = `trap 'echo got; exit 9' ${signal.slice(3)}; echo ready; while :; do sleep 0.1; done`;
      const { child, ended } = start(shell(script), environmentFor(NO_SERVER));
      child.stdout?.once("data", () => child.kill(signal));
      expect(await ended).toMatchObject({ code: 9, out: "ready\ngot\n" });
    },
  );

  test("kill -9 of the wrapper harms neither the job nor its output", async () => {
    const folder = newFolder();
    const done = join(folder, "done");
    const script = `echo first; while [ ! -e '${folder}/go' ]; do sleep 0.05; done; echo more; echo err >&2; echo done >'${done}'; echo last`;
    const { child, ended } = start(shell(script), environmentFor(NO_SERVER));
    let out = "";
    let err = "";
    child.stdout?.on("data", (text: string) => {
      out += text;
    });
    child.stderr?.on("data", (text: string) => {
      err += text;
    });
    await vi.waitFor(() => expect(out).toBe("first\n"), 60_000);
    child.kill("SIGKILL");
    await ended;
    writeFileSync(join(folder, "go"), "");
    await vi.waitFor(() => expect(out).toBe("first\nmore\nlast\n"), 60_000);
    await vi.waitFor(() => expect(err).toBe("err\n"), 60_000);
    expect(readFileSync(done, "utf8")).toBe("done\n");
  });
});

describe("the job runs exactly once, whatever is wrong", () => {
  const cases: [string, string[], Record<string, string | undefined>][] = [
    ["no address", [], { HC_API_URL: undefined }],
    ["an address that is none", ["-api-url", "::::"], {}],
    ["no check", [], { CHECK_SLUG: undefined }],
    ["no key", [], { PING_KEY: undefined }],
    ["a key file that does not exist", [], { PING_KEY: "file:/nonexistent" }],
    ["a key file that is a directory", ["-ping-key=file:/tmp"], {}],
    ["a key file without end", ["-ping-key", "file:/dev/zero"], {}],
    ["an unknown flag", ["-banana"], {}],
    ["an unknown flag with a value", ["--banana", "split"], {}],
    ["a flag without value", ["-slug"], {}],
    [
      "values that are none",
      ["--timeout", "soon", "-api-retries", "x", "--echo=maybe", "-create=perhaps"],
      {},
    ],
    ["a header that is none", ["-req-header", "nonsense\u0000"], {}],
    ["-help and -version beside a command", ["--help", "-version"], {}],
    ["a queue that cannot be written", [], { OVERDUE_QUEUE: "/proc/nonexistent/queue" }],
    ["an unusable HOME", [], { HOME: "/nonexistent", XDG_STATE_HOME: "/dev/null" }],
  ];
  test.each(cases)("%s", async (_name, flags, environment) => {
    const folder = newFolder();
    const script = `echo run >>'${folder}/runs'; exit 4`;
    const args = ["exec", "--report-for=0", ...flags.map((flag) => flag.replace("\u0000", "")), "--"];
    const ended = await run([...args, "/bin/sh", "-c", script], environmentFor(NO_SERVER, environment));
    expect(ended.code).toBe(4);
    expect(readFileSync(join(folder, "runs"), "utf8")).toBe("run\n");
    for (const line of ended.err.trim().split("\n")) expect(line).toMatch(/^overdue exec: [A-Z-]/);
    expect(ended.err).not.toContain("secret-ping-key");
  });

  test("--strict refuses instead, with code 2", async () => {
    const folder = newFolder();
    const ended = await run(
      ["exec", "--strict", "-banana", "--", "/bin/sh", "-c", `echo run >'${folder}/runs'`],
      environmentFor(NO_SERVER),
    );
    expect(ended).toMatchObject({ code: 2, out: "" });
    expect(ended.err).toContain("Unknown flag -banana");
    expect(existsSync(join(folder, "runs"))).toBe(false);
  });

  test("a strict job without mistakes runs", async () => {
    expect(
      (await run(["exec", "--strict", "--report-for=0", "--", "true"], environmentFor(NO_SERVER))).code,
    ).toBe(0);
  });

  test("a job gets its arguments as they are, and its environment", async () => {
    const args = ["a b", "", "$HOME", "*", "'", "--", "-x"];
    const { out } = await run(exec("/usr/bin/printf", "%s|", ...args), environmentFor(NO_SERVER));
    expect(out).toBe(args.map((arg) => `${arg}|`).join(""));
    const { out: variables } = await run(exec("/usr/bin/env"), environmentFor(NO_SERVER, { ONE: "1" }));
    expect(variables).toContain("ONE=1\n");
    expect(variables).not.toContain("RES_OPTIONS");
  });

  test("through a symbolic link in PATH, as npm installs it", async () => {
    const folder = newFolder();
    mkdirSync(join(folder, "bin"));
    symlinkSync("/bin/echo", join(folder, "bin", "linked"));
    const { out } = await run(
      exec("linked", "x"),
      environmentFor(NO_SERVER, { PATH: `${folder}/bin:/usr/bin:/bin` }),
    );
    expect(out).toBe("x\n");
  });
});
