// What a test of a channel tells: a check that does not exist, in a state that every kind has words for.
import type { FlipMessage, TestMessage } from "../core/alerts/message.ts";
import { DEFAULT_SETTINGS } from "../core/check.ts";
import { DAY_MS } from "../core/instant.ts";
import { NEW_STATE } from "../core/machine/state.ts";

const PING_COUNT = 42;

/**
 * The message that a test sends. `uuid` names the check that it makes up; `direction` is "up" for channels that do
 * not want to hear of anything going down.
 */
export function exampleMessage(
  { at, projectName }: TestMessage,
  { uuid, direction }: { uuid: string; direction: "down" | "up" },
): FlipMessage {
  const isDown = direction === "down";
  const lastPingAt = at - DAY_MS;
  const pinged = { lastPingAt, newestAt: lastPingAt, pingCount: PING_COUNT };
  const silence = isDown ? { deadlineAt: at, from: "up" as const } : null;
  return {
    kind: direction,
    at,
    check: {
      uuid,
      badgeUuid: uuid,
      projectName,
      settings: { ...DEFAULT_SETTINGS, name: "TEST", slug: "test" },
      state: { ...NEW_STATE, ...pinged, status: direction, silence },
      channelUuids: [],
      createdAt: lastPingAt,
    },
    flips: [{ at, from: isDown ? "up" : "down", to: direction, reason: isDown ? "timeout" : "success" }],
    corrections: [],
    since: at,
    reason: isDown ? "timeout" : "success",
    downtimeMs: isDown ? null : DAY_MS,
    lastPing: {
      n: PING_COUNT,
      kind: "success",
      at: lastPingAt,
      exitStatus: null,
      durationMs: null,
      scheme: "http",
      remoteAddr: null,
      ua: "",
      bodySize: null,
      body: null,
    },
    otherChecks: null,
  };
}
