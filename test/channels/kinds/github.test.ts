// GitHub: one open issue for each problem, found by its mark.
import { beforeEach, describe, expect, test } from "vitest";
import { CONFIG_RULES } from "../../../src/channels/registry.ts";
import { SEND_MS_MAX } from "../../../src/core/limits.ts";
import type { OutgoingRequest } from "../../../src/lib/outgoing-http.ts";
import { type GitHubReceiver, type Issue, startGitHub } from "../../receivers/kinds/github.ts";
import { type Opened, useReceivers } from "../open-receiver.ts";
import { CONFIGS, sampleChannel } from "../sample-kinds.ts";
import { DOWN, downNamed, GROUP_DOWN, GROUP_UP, NOW, TAKEN_BACK, TEST, UP } from "../sample-messages.ts";

const open = useReceivers();
const MARK = "<!-- overdue a6c7b0a8a66bed0df66abfdab3c77736861703ee -->";

describe("GitHub", () => {
  let github: GitHubReceiver;
  let opened: Opened;
  beforeEach(async () => {
    opened = await open("github", { started: startGitHub() });
    github = opened.receiver as GitHubReceiver;
  });
  const send: Opened["send"] = (...given) => opened.send(...given);
  /** As a later message, with another dedupe key. */
  const later = (message: typeof DOWN, dedupeKey = "later") =>
    opened.sender.send(sampleChannel("github"), message, { dedupeKey, attempt: 1, now: NOW });
  const shown = () => github.issues.map(({ state, comments }) => [state, comments.length]);
  const issue = (given: Partial<Issue>): Issue => ({
    number: github.issues.length + 1,
    title: "Another one",
    body: MARK,
    labels: ["ops", "cron job"],
    state: "open",
    author_association: "MEMBER",
    comments: [],
    ...given,
  });

  test("opens one issue for a message, however often it is tried", async () => {
    expect(await send(DOWN)).toMatchObject({ kind: "sent", code: 201 });
    expect(await send(DOWN, { attempt: 2 })).toMatchObject({ kind: "sent", code: 200, excerpt: null });
    expect(shown()).toEqual([["open", 0]]);
    expect(github.issues[0]).toMatchObject({
      title: "Nightly <backup> of *db_1* is DOWN",
      labels: ["ops", "cron job"],
    });
  });

  test("comments on the open issue, and closes it when the check is up", async () => {
    await send(DOWN);
    await later({ ...DOWN, isRepeat: true });
    expect(shown()).toEqual([["open", 1]]);
    expect(await later(UP)).toMatchObject({ kind: "sent", summary: "PATCH api.github.com" });
    expect(shown()).toEqual([["closed", 2]]);
    expect(github.issues[0]?.comments[1]).toContain("is UP**\n\nUp since 2026-11-15 05:12");
    await later(DOWN, "again");
    expect(shown()).toEqual([
      ["closed", 2],
      ["open", 0],
    ]);
  });

  test("does not repeat a comment if the issue could not be closed, and ends in time", async () => {
    await send(DOWN);
    let isBroken = true;
    let timeoutMs = 0;
    const http = {
      send: async ({ url, method, headers = {}, body = "", ...request }: OutgoingRequest) => {
        timeoutMs += request.timeoutMs ?? Infinity;
        if (method === "PATCH" && isBroken) return { status: 502, headers: {}, text: "" };
        const to = url.replace("https://api.github.com", github.url);
        const answer = await fetch(to, { method, headers, ...(method === "GET" ? {} : { body }) });
        return { status: answer.status, headers: {}, text: await answer.text() };
      },
    };
    const flaky = await open("github", { http });
    const up = (attempt: number) =>
      flaky.sender.send(sampleChannel("github"), UP, { dedupeKey: "up", attempt, now: NOW });
    expect(await up(1)).toMatchObject({ kind: "failed", code: 502 });
    isBroken = false;
    timeoutMs = 0;
    expect(await up(2)).toMatchObject({ kind: "sent" });
    expect(shown()).toEqual([["closed", 1]]);
    // Two more pages could have been read.
    expect(timeoutMs).toBeLessThanOrEqual(SEND_MS_MAX / 2);
    expect(github.problems).toEqual([]);
  });

  test("closes the issue of a wrong alert and of a group", async () => {
    await send(DOWN);
    await send(GROUP_DOWN);
    await later(TAKEN_BACK);
    await opened.sender.send(sampleChannel("github"), GROUP_UP, { dedupeKey: "up", attempt: 1, now: NOW });
    expect(shown()).toEqual([
      ["closed", 1],
      ["closed", 1],
    ]);
  });

  test("has nothing to do when a check is up that has no issue", async () => {
    await send(TEST);
    expect(await send(UP)).toMatchObject({ kind: "sent", code: 200 });
    expect(shown()).toEqual([["open", 0]]);
  });

  test.each<[string, Partial<Issue>]>([
    ["is closed", { state: "closed" }],
    ["is a stranger's", { author_association: "NONE" }],
    ["is a pull request", { pull_request: {} }],
    ["has other labels", { labels: ["ops"] }],
    ["has another key", { body: "<!-- overdue 0000 -->" }],
  ])("leaves an issue alone that %s", async (_what, given) => {
    github.issues.push(issue(given));
    await send(DOWN);
    expect(github.issues).toHaveLength(2);
    expect(github.issues[0]?.comments).toEqual([]);
  });

  test.each([
    [149, 0],
    [150, 1],
  ])("with %i long issues changed since, it opens %i more", async (count, more) => {
    github.issues.push(issue({}));
    for (let other = 0; other < count; other += 1) {
      github.issues.push(issue({ body: "x".repeat(2_000) }));
    }
    const before = github.issues.length;
    await send(DOWN);
    expect(github.issues.length - before).toBe(more);
  });

  test("opens an issue if the list cannot be read", async () => {
    const requests: string[] = [];
    const http = {
      send: async ({ method }: { method: string }) => {
        requests.push(method);
        return { status: 200, headers: {}, text: method === "GET" ? '[{"number": 1, "bo' : "{}" };
      },
    };
    const cut = await open("github", { http });
    expect(await cut.send(DOWN)).toMatchObject({ kind: "sent" });
    expect(requests).toEqual(["GET", "POST"]);
  });

  test("disables no channel because an issue has gone while it was commented on", async () => {
    const http = {
      send: async ({ method }: { method: string }) =>
        method === "GET"
          ? { status: 200, headers: {}, text: JSON.stringify([issue({})]) }
          : { status: 410, headers: {}, text: '{"message": "This issue was deleted"}' },
    };
    const gone = await open("github", { http });
    expect(await gone.send(DOWN)).toMatchObject({ kind: "failed", permanent: false, code: 410 });
  });

  test("finds no mark in what other people wrote", async () => {
    const mark = "<!-- overdue 0000 -->";
    const { lastPing } = DOWN;
    await send({ ...downNamed(mark), lastPing: lastPing && { ...lastPing, body: mark } });
    expect(github.issues[0]?.body.match(/<!-- /g)).toHaveLength(2);
  });

  test("is notified of recoveries only to close issues, and of notices only if asked", () => {
    const subscribed = (config: object) =>
      (["down", "up", "notice"] as const).filter((what) =>
        opened.sender.isSubscribed(sampleChannel("github", { ...CONFIGS["github"], ...config }), what),
      );
    expect(subscribed({})).toEqual(["down", "up"]);
    expect(subscribed({ close_on_up: false })).toEqual(["down"]);
    expect(subscribed({ notice: true })).toEqual(["down", "up", "notice"]);
  });

  test.each([
    { repo: "shop" },
    { repo: "a/b/c" },
    { repo: "a/../b" },
    { labels: "x".repeat(51) },
    { labels: Array.from({ length: 11 }, (_none, number) => `l${number}`).join() },
  ])("%j is rejected", (config) => {
    expect(CONFIG_RULES.read("github", { ...CONFIGS["github"], ...config })).toMatchObject({ ok: false });
  });
});
