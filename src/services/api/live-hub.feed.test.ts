// The updates of a project's watchers: each change once, the newest version, in batches, and removed checks.
import { describe, expect, test } from "vitest";
import type { ChecksEvent } from "../../contract/api/live.ts";
import { NEW_STATE } from "../../core/state.ts";
import type { LeanCheck } from "../../store/check-lists.ts";
import { ProjectFeed } from "./live-hub.ts";

const NOW = Date.UTC(2026, 10, 16, 12);

function check(uuid: string, change: number, status: "up" | "down" = "up"): LeanCheck {
  return {
    id: 1,
    uuid,
    projectId: 1,
    name: uuid,
    slug: "",
    tags: "",
    timing: {
      kind: "simple",
      timeoutSeconds: 60,
      graceSeconds: 60,
      schedule: "",
      tz: "UTC",
      manualResume: false,
      rules: null,
    },
    state: { ...NEW_STATE, status },
    lastDurationMs: null,
    downAt: null,
    down: null,
    channelCount: 0,
    lastXid: change,
    change,
    readingOrder: change,
  };
}

function nextRows(feed: ProjectFeed): (ChecksEvent & { ids: string[] }) | null {
  const message = feed.next(5, NOW);
  if (message?.name !== "checks") return null;
  return { ...message.data, ids: message.data.checks.map(({ id }) => id) };
}

describe("a feed", () => {
  test("sends a change once, even if it is read again, and then the next one", () => {
    const feed = new ProjectFeed();
    feed.take([check("a", 7)]);
    expect(nextRows(feed)).toMatchObject({ ids: ["a"], removed: [], total: 5 });
    feed.take([check("a", 7)]);
    expect(nextRows(feed)).toBeNull();
    feed.take([check("a", 9)]);
    expect(nextRows(feed)?.ids).toEqual(["a"]);
  });

  test("drops changes that cannot be read again", () => {
    const feed = new ProjectFeed();
    feed.take([check("a", 7)]);
    nextRows(feed);
    feed.dropBefore(8);
    feed.take([check("a", 7)]);
    expect(nextRows(feed)?.ids).toEqual(["a"]);
  });

  test("sends thousands in batches, those that are down first, and only the newest version of each", () => {
    const feed = new ProjectFeed();
    feed.take(Array.from({ length: 1_500 }, (_, n) => check(`c${n}`, 1)));
    feed.take([check("down", 2, "down"), check("c1400", 3)]);
    const first = nextRows(feed);
    expect(first?.ids).toHaveLength(1_000);
    expect(first?.ids[0]).toBe("down");
    expect(feed.isDrained).toBe(false);
    const second = nextRows(feed);
    expect(second?.ids).toHaveLength(501);
    expect(second?.checks.find(({ id }) => id === "c1400")?.change).toBe(3);
    expect(feed.isDrained).toBe(true);
  });

  test("detects a removed check by the number of checks, and names it", () => {
    const feed = new ProjectFeed();
    expect(feed.isOff(2)).toBe(true);
    expect(feed.compare(new Set(["a", "b"]))).toEqual([]);
    expect(feed.isOff(2)).toBe(false);
    feed.take([check("a", 1), check("c", 1)]);
    expect(feed.isOff(2)).toBe(true);
    expect(feed.compare(new Set(["b", "c", "d"]))).toEqual(["d"]);
    expect(nextRows(feed)).toMatchObject({ ids: ["c"], removed: ["a"] });
  });
});
