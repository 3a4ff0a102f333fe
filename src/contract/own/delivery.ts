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
    description: "The group through which the channel was notified. Null if it was notified directly.",
  }),
  kind: Type.Enum(["flip", "correction", "notice", "disabled", "operator", "test"], {
    description:
      "The type of message: a status change of a check (`flip`), the correction of an earlier alert (`correction`), a monitoring gap (`notice`), another channel that was disabled (`disabled`), a health problem of the server (`operator`), or a test (`test`).",
  }),
  check: Type.Union([Type.String(), Type.Null()], {
    description: "UUID of the check. Null if the message is not about a check, or the check was deleted.",
  }),
  check_name: MaybeText,
  state: Type.Enum(["pending", "sent", "merged", "withdrawn", "skipped", "dead"], {
    description:
      "`pending`: not sent yet. `sent`: accepted by the receiver. `merged`: sent as part of a later message. `withdrawn`: canceled because it no longer applied. `skipped`: the channel is not set up for this type of message. `dead`: failed permanently.",
  }),
  attempts: Type.Integer({ description: "Number of delivery attempts." }),
  created_at: Type.String({ format: "date-time" }),
  attempted_at: MaybeTime,
  next_try_at: MaybeTime,
  settled_at: MaybeTime,
  request: Type.Union([Type.String(), Type.Null()], {
    description: "Summary of the last request, without secrets.",
  }),
  response_code: Type.Union([Type.Integer(), Type.Null()]),
  response_excerpt: Type.Union([Type.String(), Type.Null()], {
    description: "Beginning of the receiver's response, without secrets.",
  }),
  reason: Type.Union([Type.String(), Type.Null()], {
    description: "Why the message was not sent, or has not been sent yet.",
  }),
  message: Type.Union([Type.String(), Type.Null()], {
    description: "ID of the oldest delivery in the message that included this one.",
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
      "The test delivery; for a group, one for each member. To see the result, get each delivery by its ID.",
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
