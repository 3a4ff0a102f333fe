import { expect, test, vi } from "vitest";
import { nextTick } from "../../src/exec/every.ts";
import { environmentFor, start, startRecorder } from "./recorder.ts";

test.each([
  [0, 100],
  [99, 100],
  [100, 200],
  [250, 300],
])("after %i ms, the next of the ticks every 100 ms is at %i", (now, at) => {
  expect(nextTick({ firstAt: 0, everyMs: 100, now })).toBe(at);
});

test("runs at once and then at each tick; SIGTERM ends it", async () => {
  const recorder = await startRecorder();
  const { child, ended } = start(
    ["exec", "-every", "2s", "--", "/bin/echo", "ran"],
    environmentFor(recorder.url),
  );
  await vi.waitFor(() => expect(recorder.sent().filter((sent) => sent === "")).toHaveLength(3), 60_000);
  child.kill("SIGTERM");
  const { signal, out } = await ended;
  expect(signal).toBe("SIGTERM");
  expect(out.startsWith("ran\nran\nran\n")).toBe(true);
  const starts = recorder.requests.filter(({ path }) => path.endsWith("/start"));
  expect(new Set(starts.map(({ query }) => query.get("rid"))).size).toBe(starts.length);
  expect((starts[2]?.atMs ?? 0) - (starts[0]?.atMs ?? 0)).toBeGreaterThan(2_000);
});

test("runs never overlap, and missed ticks are skipped", async () => {
  const recorder = await startRecorder();
  const { child, ended } = start(
    ["exec", "-every", "1s", "--", "sleep", "1.5"],
    environmentFor(recorder.url),
  );
  await vi.waitFor(() => expect(recorder.requests.length).toBeGreaterThanOrEqual(6), 60_000);
  child.kill("SIGTERM");
  await ended;
  expect(recorder.sent().slice(0, 6)).toEqual(["start", "", "start", "", "start", ""]);
});

test("SIGALRM runs the job now", async () => {
  const recorder = await startRecorder();
  const { child, ended } = start(["exec", "-every", "1h", "--", "true"], environmentFor(recorder.url));
  await vi.waitFor(() => expect(recorder.requests).toHaveLength(2), 60_000);
  await vi.waitFor(() => {
    child.kill("SIGALRM");
    expect(recorder.requests.length).toBeGreaterThanOrEqual(4);
  }, 60_000);
  child.kill("SIGTERM");
  expect((await ended).signal).toBe("SIGTERM");
});

test("SIGTERM during a run goes on to the job, which is reported", async () => {
  const recorder = await startRecorder();
  const script = "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.1; done";
  const { child, ended } = start(
    ["exec", "-every", "1h", "--", "/bin/sh", "-c", script],
    environmentFor(recorder.url),
  );
  child.stdout?.once("data", () => child.kill("SIGTERM"));
  const { signal, out } = await ended;
  expect({ signal, out }).toEqual({ signal: "SIGTERM", out: "ready\nbye\n" });
  expect(recorder.sent()).toEqual(["start", "7"]);
});
