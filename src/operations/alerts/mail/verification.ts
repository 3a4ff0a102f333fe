// Addresses that alerts are mailed to: asking them first, their answers, and telling the owner when there is none.
// A link is judged by whoever holds the instance's secret; see core/alerts/mail-tokens.ts.
import { randomUUID } from "node:crypto";
import { countedAddress } from "../../../core/accounts/attempt-rules.ts";
import { OWNER_TOLD_EVERY_DAYS, VERIFICATION_EVERY_MS } from "../../../core/alerts/letters.ts";
import { type ChannelAddress, isTokenFor, type Signing } from "../../../core/alerts/mail-tokens.ts";
import { AppError } from "../../../core/errors.ts";
import { DAY_MS, type Instant } from "../../../core/instant.ts";
import { findProjectOwner } from "../../../store/accounts/projects.ts";
import {
  type Channel,
  findChannelById,
  findChannelByUuid,
  findChannelsByIds,
} from "../../../store/alerts/channels.ts";
import { findNewestLetter, insertLetter } from "../../../store/alerts/letters.ts";
import { isAddressOfMember, markVerified } from "../../../store/alerts/mail-channels.ts";
import type { Database, Db } from "../../../store/db.ts";
import type { Tx } from "../../../store/transaction.ts";
import { inRetriedTransaction } from "../../changing/retried.ts";
import { countAttemptsIn } from "../../accounts/sign-in/attempts.ts";
import { giveUpChannel } from "../give-up-channel.ts";
import { tellOwner } from "./tell-owner.ts";

/** The address of a mail channel; null of any other. */
export function mailAddressOf({ kind, config }: Pick<Channel, "kind" | "config">): string | null {
  const value: unknown = config["value"];
  return kind === "email" && typeof value === "string" ? value : null;
}

/** Whether the address that a mail channel has now has agreed to be written to. */
export function isVerified(channel: Pick<Channel, "kind" | "config" | "verifiedAddress">): boolean {
  return channel.verifiedAddress !== null && channel.verifiedAddress === mailAddressOf(channel);
}

export type VerificationRequest = {
  channelId: number;
  address: string;
  at: Instant;
  /** False: this installation asks nobody. */
  isRequired: boolean;
  /** Ask even who was asked a moment ago, or has agreed: whoever said no must say yes again. */
  repeat: boolean;
};

/**
 * Sees to it that the address of a new or changed mail channel is verified: at once where nobody has to be asked, or
 * by a letter. AppError `rate_limited` when the owner of the project has asked too many.
 */
export async function askForVerification(
  tx: Tx,
  request: VerificationRequest,
): Promise<"verified" | "asked"> {
  const { channelId, address, at, isRequired, repeat } = request;
  const channel = await findChannelById(tx, channelId);
  if (channel === null) throw new AppError("not_found", "The channel does not exist.");
  if (!repeat && channel.verifiedAddress === address) return "verified";
  const { projectId } = channel;
  if (!isRequired || (await isAddressOfMember(tx, { projectId, address }))) {
    await markVerified(tx, { channelId, address });
    return "verified";
  }
  if (repeat) await markVerified(tx, { channelId, address: null });
  const asked = await findNewestLetter(tx, { channelId, kind: "verification" });
  const isFresh = asked?.about["address"] === address && asked.createdAt > at - VERIFICATION_EVERY_MS;
  if (!repeat && isFresh) return "asked";
  // Of the account and not by its letters: those are deleted with their channels, which must not make room for more.
  const owner = String((await findProjectOwner(tx, projectId))?.id ?? 0);
  const attempts = [
    { kind: "verification", subject: owner },
    { kind: "verificationOfAddress", subject: `${owner} ${countedAddress(address)}` },
  ] as const;
  await countAttemptsIn(tx, attempts, { now: at });
  const about = { address };
  await insertLetter(tx, {
    uuid: randomUUID(),
    kind: "verification",
    accountId: null,
    channelId,
    about,
    createdAt: at,
  });
  return "asked";
}

/** What a link in a mail stands for. */
export type LinkedChannel = { channel: Channel; address: string; projectName: string };

export type ChannelLink = {
  channelUuid: string;
  token: string;
  purpose: "verify" | "unsubscribe";
  signing: Signing;
};

/** The channel that a link names; null when there is none, or the link is not of our making. */
export async function findLinkedChannel(db: Db, link: ChannelLink): Promise<LinkedChannel | null> {
  const found = await findChannelByUuid(db, link.channelUuid);
  const address = found === null ? null : mailAddressOf(found);
  // Asked even where there is nothing to ask about, so that the time it takes tells nothing.
  const of: ChannelAddress = { channelUuid: link.channelUuid, address: address ?? "" };
  const isGood = isTokenFor(link.token, { signing: link.signing, purpose: link.purpose, of });
  if (found === null || address === null || !isGood) return null;
  const [channel] = await findChannelsByIds(db, [found.id]);
  return channel === undefined ? null : { channel, address, projectName: channel.projectName };
}

/** Whoever reads an address agrees to be written to. Null: the link is not good. */
export function verifyChannel(
  database: Database,
  link: Omit<ChannelLink, "purpose">,
): Promise<LinkedChannel | null> {
  return inRetriedTransaction(database, async (tx) => {
    const linked = await findLinkedChannel(tx, { ...link, purpose: "verify" });
    if (linked !== null) await markVerified(tx, { channelId: linked.channel.id, address: linked.address });
    return linked;
  });
}

/**
 * Whoever reads an address wants no more of it: the channel is disabled, its owner told, and the address has to be
 * asked anew before it is ever used again. Null: the link is not good.
 */
export function unsubscribeChannel(
  database: Database,
  { at, ...link }: Omit<ChannelLink, "purpose"> & { at: Instant },
): Promise<LinkedChannel | null> {
  return inRetriedTransaction(database, async (tx) => {
    const linked = await findLinkedChannel(tx, { ...link, purpose: "unsubscribe" });
    if (linked === null) return null;
    await giveUpChannel(tx, { channelId: linked.channel.id, reason: "Unsubscribed by the recipient", at });
    await markVerified(tx, { channelId: linked.channel.id, address: null });
    return linked;
  });
}

/** Tells the owner of a channel, by mail, that alerts are lost because nobody agreed to them; once in a while. */
export function tellUnverified(
  database: Database,
  { channelUuid, at }: { channelUuid: string; at: Instant },
): Promise<void> {
  return inRetriedTransaction(database, async (tx) => {
    const channel = await findChannelByUuid(tx, channelUuid);
    if (channel === null) return;
    const told = await findNewestLetter(tx, { channelId: channel.id, kind: "unverified" });
    if (told !== null && told.createdAt > at - OWNER_TOLD_EVERY_DAYS * DAY_MS) return;
    const address = mailAddressOf(channel) ?? "";
    await tellOwner(tx, { kind: "unverified", channelId: channel.id, about: { address }, at });
  });
}
