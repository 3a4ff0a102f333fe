// The order of starting and stopping, and what happens if a part fails.
import { expect, test } from "vitest";
import { createLog } from "./log.ts";
import { type Service, startServices } from "./service.ts";

const log = createLog({ level: "fatal" });
const options = { log, stopTimeoutMs: 1_000 };

/** A service that records its calls, and can be made to fail. */
function recorded(name: string, events: string[], faults: Partial<Service> = {}): Service {
  return {
    name,
    start: async () => {
      await faults.start?.();
      events.push(`start ${name}`);
    },
    stop: async () => {
      events.push(`stop ${name}`);
      await faults.stop?.();
    },
  };
}

const fail = async () => {
  throw new Error("planted");
};

test("services start in order and stop in reverse", async () => {
  const events: string[] = [];
  const running = await startServices(
    [recorded("a", events), recorded("b", events), recorded("c", events)],
    options,
  );
  expect(await running.stop()).toEqual([]);
  expect(events).toEqual(["start a", "start b", "start c", "stop c", "stop b", "stop a"]);
});

test("one that does not start stops those before it, never itself or those after it", async () => {
  const events: string[] = [];
  const services = [recorded("a", events), recorded("b", events, { start: fail }), recorded("c", events)];
  await expect(startServices(services, options)).rejects.toThrow("planted");
  expect(events).toEqual(["start a", "stop a"]);
});

test("one that fails to stop is named, and the others are still stopped", async () => {
  const events: string[] = [];
  const running = await startServices(
    [recorded("a", events), recorded("b", events, { stop: fail })],
    options,
  );
  expect(await running.stop()).toEqual(["b"]);
  expect(events.at(-1)).toBe("stop a");
});

test("one that never stops is abandoned when the time limit is reached", async () => {
  const events: string[] = [];
  const hangs = { stop: () => new Promise<void>(() => {}) };
  const running = await startServices([recorded("a", events), recorded("b", events, hangs)], {
    log,
    stopTimeoutMs: 20,
  });
  expect(await running.stop()).toContain("b");
  expect(events.at(-1)).toBe("stop a");
});

test("stopping twice stops once", async () => {
  const events: string[] = [];
  const running = await startServices([recorded("a", events)], options);
  await Promise.all([running.stop(), running.stop()]);
  expect(events).toEqual(["start a", "stop a"]);
});
