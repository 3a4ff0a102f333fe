// One browser stream: the order of events, heartbeats, and when it is closed.
import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LiveHub, openWatcher, STREAMS_PER_OWNER_MAX } from "./live-hub.ts";

/** A stub response: what was written, and how much of it is unread. */
class FakeResponse extends EventEmitter {
  text = "";
  status = 0;
  writableLength = 0;
  destroyed = false;
  writableEnded = false;
  readonly socket = Object.assign(new EventEmitter(), { readableEnded: false });

  writeHead(status: number): void {
    this.status = status;
  }
  write(text: string): void {
    this.text += text;
  }
  destroy(): void {
    this.destroyed = true;
    this.emit("close");
  }
  end(): void {
    this.writableEnded = true;
    this.emit("close");
  }
}

function open(owner = "account 1", { isHalfClosed = false } = {}) {
  const response = new FakeResponse();
  response.socket.readableEnded = isHalfClosed;
  const onClose = vi.fn<() => void>();
  const watcher = openWatcher(response as unknown as ServerResponse, {
    projectId: 1,
    owner,
    sessionId: 1,
    onClose,
  });
  return { response, watcher, onClose };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a watcher", () => {
  test("that closed its half before the stream began is dropped once the stream is registered", () => {
    const { response, onClose } = open("account 1", { isHalfClosed: true });
    expect(onClose).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect([response.destroyed, onClose.mock.calls.length]).toEqual([true, 1]);
  });

  test("receives what it missed before newer events", () => {
    const { response, watcher } = open();
    watcher.send("second;");
    watcher.begin("first;");
    watcher.send("third;");
    expect(response.status).toBe(200);
    expect(response.text).toBe("retry: 2000\n\nfirst;second;third;");
  });

  test("is disconnected when too much is queued before it begins", () => {
    const { response, watcher } = open();
    const text = "x".repeat(1024 * 1024);
    for (let i = 0; i < 4; i += 1) watcher.send(text);
    expect(response.destroyed).toBe(false);
    watcher.send(text);
    expect(response.destroyed).toBe(true);
  });

  test("receives a heartbeat every five seconds, until it disconnects", () => {
    const { response, onClose } = open();
    vi.advanceTimersByTime(31_000);
    expect(response.text.match(/^event: heartbeat\ndata: .+\n\n/gm)).toHaveLength(6);
    response.socket.emit("end");
    expect(response.destroyed).toBe(true);
    expect(onClose).toHaveBeenCalledOnce();
    vi.advanceTimersByTime(31_000);
    expect(response.text.match(/^event: heartbeat\ndata: .+\n\n/gm)).toHaveLength(6);
  });

  test("is disconnected when it stops reading", () => {
    const { response, watcher, onClose } = open();
    watcher.begin("");
    response.writableLength = 5 * 1024 * 1024;
    watcher.send("one event too many");
    expect(response.destroyed).toBe(true);
    expect(onClose).toHaveBeenCalledOnce();
    watcher.send("nobody reads this");
    expect(response.text).not.toContain("nobody");
  });
});

describe("the hub", () => {
  const hub = () =>
    new LiveHub({
      database: { query: () => Promise.reject(new Error("nobody watches: nothing is to be asked")) },
      now: () => 0,
      monitoringGap: () => null,
    });

  test("sends no queries without watchers", async () => {
    await expect(hub().tick()).resolves.toBeUndefined();
  });

  test("limits the streams of each account and API key", () => {
    const crowded = hub();
    for (let n = 0; n < STREAMS_PER_OWNER_MAX; n++) crowded.add(open("key 7").watcher, 1);
    expect(crowded.refusalFor("key 7")).toMatch(/Too many open streams/);
    expect(crowded.refusalFor("account 7")).toBeNull();
  });

  test("ends all streams while the database is unavailable, and accepts new ones afterwards", async () => {
    const away = hub();
    const { response, watcher } = open();
    away.add(watcher, 1);
    await expect(away.tick()).rejects.toThrow("nobody watches");
    expect(response.writableEnded, "one look may fail").toBe(false);
    await expect(away.tick()).rejects.toThrow("nobody watches");
    expect(response.writableEnded).toBe(true);
    away.remove(watcher);
    await expect(away.tick(), "nobody is left to be told").resolves.toBeUndefined();
    expect(away.refusalFor("account 1")).toBeNull();
  });

  test("ends all streams when it is closed, and accepts no more", () => {
    const closing = hub();
    const { response, watcher } = open();
    closing.add(watcher, 1);
    expect(closing.size).toBe(1);
    closing.close();
    expect(response.writableEnded).toBe(true);
    expect(closing.refusalFor("account 1")).toMatch(/shutting down/);
    closing.remove(watcher);
    expect(closing.size).toBe(0);
  });
});
