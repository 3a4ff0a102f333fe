// The stream falls back to polling when it is refused, resumes from its cursor, and never does both at once.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LiveStream } from "./live-stream.ts";

/** A fake of the browser's EventSource, controlled by the test. */
class FakeSource extends EventTarget {
  static readonly CLOSED = 2;
  static made: FakeSource[] = [];
  readonly url: string;
  readyState = 0;

  constructor(url: string) {
    super();
    this.url = url;
    FakeSource.made.push(this);
  }

  close(): void {
    this.readyState = FakeSource.CLOSED;
  }

  refuse(): void {
    this.readyState = FakeSource.CLOSED;
    this.dispatchEvent(new Event("error"));
  }

  say(name: string, data: string, lastEventId: string): void {
    this.dispatchEvent(Object.assign(new Event(name), { data, lastEventId }));
  }
}

const addresses = { stream: "http://x/live", changes: "http://x/changes" };
const states: string[] = [];
const events: string[] = [];
const sink = {
  onEvent: ({ name, data }: { name: string; data: string }) => events.push(`${name} ${data}`),
  onState: (state: string) => states.push(state),
};
const asked = vi.fn<(url: string) => Promise<unknown>>();

beforeEach(() => {
  vi.useFakeTimers();
  FakeSource.made = [];
  states.length = 0;
  events.length = 0;
  asked.mockReset().mockResolvedValue({
    ok: true,
    json: async () => ({ events: [{ name: "checks", data: { n: 1 } }], cursor: "9" }),
  });
  vi.stubGlobal("EventSource", FakeSource);
  vi.stubGlobal("fetch", asked);
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const newest = () => FakeSource.made.at(-1) ?? expect.fail("no stream was opened");

describe("The stream", () => {
  test("starts at the cursor and passes on events", () => {
    const stream = new LiveStream(addresses, "5", sink);
    newest().dispatchEvent(new Event("open"));
    newest().say("checks", "{}", "6");
    expect([newest().url, states, events]).toEqual(["http://x/live?cursor=5", ["live"], ["checks {}"]]);
    stream.close();
  });

  test("that is refused is retried from its cursor, and after three failures replaced by polling", async () => {
    const stream = new LiveStream(addresses, "5", sink);
    newest().say("checks", "{}", "6");
    newest().refuse();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(newest().url).toBe("http://x/live?cursor=6");
    newest().refuse();
    await vi.advanceTimersByTimeAsync(5_000);
    newest().refuse();
    await vi.advanceTimersByTimeAsync(1);
    expect(asked).toHaveBeenLastCalledWith("http://x/changes?cursor=6", expect.anything());
    expect([states.at(-1), events.at(-1)]).toEqual(["polling", 'checks {"n":1}']);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(asked).toHaveBeenLastCalledWith("http://x/changes?cursor=9", expect.anything());
    stream.close();
  });

  test("that a proxy buffers is replaced by polling, and tried again later", async () => {
    const stream = new LiveStream(addresses, "5", sink);
    await vi.advanceTimersByTimeAsync(10_001);
    expect([newest().readyState, states.at(-1)]).toEqual([FakeSource.CLOSED, "polling"]);
    await vi.advanceTimersByTimeAsync(6 * 60_000);
    expect(FakeSource.made.length).toBeGreaterThan(1);
    stream.close();
  });

  test("is reopened as soon as an unreachable server responds", async () => {
    asked.mockResolvedValue({ ok: false, status: 503 });
    const stream = new LiveStream(addresses, "5", sink);
    await vi.advanceTimersByTimeAsync(10_001);
    expect(states.at(-1)).toBe("reconnecting");
    const made = FakeSource.made.length;
    asked.mockResolvedValue({ ok: true, json: async () => ({ events: [], cursor: "9" }) });
    await vi.advanceTimersByTimeAsync(10_000);
    expect([FakeSource.made.length, newest().url]).toEqual([made + 1, "http://x/live?cursor=9"]);
    newest().dispatchEvent(new Event("open"));
    expect(states.at(-1)).toBe("live");
    const count = asked.mock.calls.length;
    await vi.advanceTimersByTimeAsync(11_000);
    expect(asked).toHaveBeenCalledTimes(count);
    stream.close();
  });

  test.each([401, 403, 404])(
    "that is answered with %s reports it, instead of retrying forever",
    async (status) => {
      asked.mockResolvedValue({ ok: false, status });
      const stream = new LiveStream(addresses, "5", sink);
      await vi.advanceTimersByTimeAsync(10_001);
      expect(events).toEqual([expect.stringMatching(/^reload /)]);
      stream.close();
    },
  );

  test("is requested with a timeout, and a late response is ignored", async () => {
    const late = Promise.withResolvers<unknown>();
    asked.mockReturnValue(late.promise);
    const stream = new LiveStream(addresses, "5", sink);
    await vi.advanceTimersByTimeAsync(10_001);
    expect(asked).toHaveBeenLastCalledWith(
      "http://x/changes?cursor=5",
      expect.objectContaining({ signal: expect.any(AbortSignal) }),
    );
    stream.restart("3");
    late.resolve({ ok: true, json: async () => ({ events: [{ name: "checks", data: {} }], cursor: "9" }) });
    await vi.advanceTimersByTimeAsync(1);
    expect(events).toEqual([]);
    newest().refuse();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(newest().url).toBe("http://x/live?cursor=3");
    stream.close();
  });

  test("that is restarted during a poll ignores the response of that poll", async () => {
    const stream = new LiveStream(addresses, "5", sink);
    await vi.advanceTimersByTimeAsync(10_001);
    stream.restart("3");
    newest().dispatchEvent(new Event("open"));
    const before = asked.mock.calls.length;
    await vi.advanceTimersByTimeAsync(11_000);
    expect(asked).toHaveBeenCalledTimes(before);
    expect(newest().url).toBe("http://x/live?cursor=3");
    stream.close();
  });

  test("restarts at the older cursor when a tab joins: existing tabs have not read newer events", () => {
    const stream = new LiveStream(addresses, "5", sink);
    stream.restart("9");
    expect(newest().url).toBe("http://x/live?cursor=5");
    stream.restart("3");
    expect(newest().url).toBe("http://x/live?cursor=3");
    // Compared as numbers: as text, ten would come before nine.
    stream.restart("10");
    expect(newest().url).toBe("http://x/live?cursor=3");
    stream.close();
  });

  test("without events is reopened from its cursor; a heartbeat is enough to keep it", async () => {
    const stream = new LiveStream(addresses, "5", sink);
    newest().dispatchEvent(new Event("open"));
    newest().say("checks", "{}", "6");
    for (let call = 0; call < 8; call += 1) {
      await vi.advanceTimersByTimeAsync(5_000);
      newest().say("heartbeat", "{}", "");
    }
    expect([FakeSource.made.length, states]).toEqual([1, ["live"]]);
    await vi.advanceTimersByTimeAsync(12_000);
    expect([FakeSource.made.length, newest().url]).toEqual([2, "http://x/live?cursor=6"]);
    expect(FakeSource.made[0]?.readyState).toBe(FakeSource.CLOSED);
    expect(states).toEqual(["live", "reconnecting"]);
    expect(events).toEqual(["checks {}"]);
    stream.close();
  });

  test("that is refused is polled once in ten seconds, and not twice", async () => {
    const stream = new LiveStream(addresses, "5", sink);
    for (let refusal = 0; refusal < 3; refusal += 1) {
      newest().refuse();
      if (refusal < 2) await vi.advanceTimersByTimeAsync(5_000);
    }
    await vi.advanceTimersByTimeAsync(1);
    const before = asked.mock.calls.length;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked.mock.calls.length - before).toBe(6);
    stream.close();
  });
});
