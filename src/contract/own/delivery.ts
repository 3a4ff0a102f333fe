// Deliveries in our own API: what was told through a channel, how often it was tried, and what came of it.
import { type Static, Type } from "typebox";
import type { Instant } from "../../core/instant.ts";
import { isoMicroseconds } from "../timestamp.ts";
import { MaybeTime, shownTime, Uuid } from "./channel.ts";
import { NextCursor } from "./page.ts";

const MaybeText = Type.Union([Type.String(), Type.Null()]);

export const DeliverySchema = Type.Object({
  id: Type.String(),
  channel: Uuid,
  group: Type.Union([Uuid, Type.Null()], {
    description: "The group by which the channel was told; null: directly.",
  }),
  kind: Type.Enum(["flip", "correction", "notice", "disabled", "operator", "test"], {
    description:
      "What it is about: a change of a check, a change that was taken back, time that could not be watched, another channel that was given up, the installation itself, or nothing but a test.",
  }),
  check: Type.Union([Type.String(), Type.Null()], {
    description: "The UUID of the check that it is about. Null: none, or it is deleted.",
  }),
  check_name: MaybeText,
  state: Type.Enum(["pending", "sent", "merged", "withdrawn", "skipped", "dead"], {
    description:
      "`pending`: not settled yet. `sent`: taken by the receiver. `merged`: told together with a later one. `withdrawn`: no longer true before it was told. `skipped`: the channel does not want to hear of it. `dead`: given up.",
  }),
  attempts: Type.Integer({ description: "Tries that were begun." }),
  created_at: Type.String({ format: "date-time" }),
  attempted_at: MaybeTime,
  next_try_at: MaybeTime,
  settled_at: MaybeTime,
  request: Type.Union([Type.String(), Type.Null()], {
    description: "What was sent where, in a line, at the last try. Without secrets.",
  }),
  response_code: Type.Union([Type.Integer(), Type.Null()]),
  response_excerpt: Type.Union([Type.String(), Type.Null()], {
    description: "The beginning of what the receiver answered. Without secrets.",
  }),
  reason: Type.Union([Type.String(), Type.Null()], { description: "Why it was not sent, or not yet." }),
  message: Type.Union([Type.String(), Type.Null()], {
    description: "The oldest delivery of the message that this one was told with.",
  }),
});

export type DeliveryJson = Static<typeof DeliverySchema>;

export const DeliveryListSchema = Type.Object({
  deliveries: Type.Array(DeliverySchema),
  next_cursor: NextCursor,
});

export const PlannedTestSchema = Type.Object({
  deliveries: Type.Array(DeliverySchema, {
    description:
      "The test; of a group one for each member. Read each again by its id to see what came of it.",
  }),
});

/** What a delivery has that can be seen. */
export type PresentableDelivery = {
  id: number;
  channel: { uuid: string };
  groupUuid: string | null;
  kind: DeliveryJson["kind"];
  check: { uuid: string; name: string } | null;
  state: DeliveryJson["state"];
  attemptCount: number;
  createdAt: Instant;
  attemptedAt: Instant | null;
  nextTryAt: Instant | null;
  settledAt: Instant | null;
  requestSummary: string | null;
  responseCode: number | null;
  responseExcerpt: string | null;
  reason: string | null;
  messageId: number | null;
};

export function presentDelivery(delivery: PresentableDelivery): DeliveryJson {
  const { check, messageId } = delivery;
  return {
    id: String(delivery.id),
    channel: delivery.channel.uuid,
    group: delivery.groupUuid,
    kind: delivery.kind,
    check: check?.uuid ?? null,
    check_name: check?.name ?? null,
    state: delivery.state,
    attempts: delivery.attemptCount,
    created_at: isoMicroseconds(delivery.createdAt),
    attempted_at: shownTime(delivery.attemptedAt),
    next_try_at: shownTime(delivery.nextTryAt),
    settled_at: shownTime(delivery.settledAt),
    request: delivery.requestSummary,
    response_code: delivery.responseCode,
    response_excerpt: delivery.responseExcerpt,
    reason: delivery.reason,
    message: messageId === null ? null : String(messageId),
  };
}
