// Letters to the owner of a project about one of its channels, for news that no channel is left to carry.
import { randomUUID } from "node:crypto";
import type { Instant } from "../../../core/instant.ts";
import { insertLetter } from "../../../store/alerts/letters.ts";
import type { Tx } from "../../../store/transaction.ts";

export type OwnerLetter = { channelId: number; at: Instant } & (
  | { kind: "unverified"; about: { address: string } }
  | { kind: "disabled"; about: { reason: string } }
);

/** Owes the owner of a channel's project a letter. */
export async function tellOwner(tx: Tx, { kind, channelId, about, at }: OwnerLetter): Promise<void> {
  await insertLetter(tx, { uuid: randomUUID(), kind, accountId: null, channelId, about, createdAt: at });
}
