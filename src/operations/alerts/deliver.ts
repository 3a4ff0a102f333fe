// Sends what is owed: claim, look how things are now, send, settle. No transaction is open while something is sent,
// and whoever dies on the way leaves a claim behind that runs out, so that the same message is sent again.
import type { AlertMessage } from "../../core/alerts/message.ts";
import type { Hearing, Rate, SendResult } from "../../core/alerts/sending.ts";
import type { Instant } from "../../core/instant.ts";
import type { ObjectStore } from "../../lib/object-store.ts";
import type { Channel, ChannelInProject } from "../../store/alerts/channels.ts";
import type { Database, Db } from "../../store/db.ts";
import { readBody } from "../bodies/read-body.ts";
import { type Claim, claimDeliveries } from "./claim-deliveries.ts";
import { Neighbours } from "./neighbours.ts";
import { type Prepared, prepareClaims } from "./prepare-messages.ts";
import { type Ended, settleClaims, type Settled } from "./settle-deliveries.ts";

/** How messages leave the house. Whoever calls the operations hands this in. */
export type Ports = {
  /**
   * Sends a message within SEND_MS_MAX. When it throws, nothing is settled, as if the process had been killed: the
   * message is sent again when the claim has run out.
   */
  send: (channel: ChannelInProject, message: AlertMessage, sending: SendingFacts) => Promise<SendResult>;
  /** Whether a channel wants to hear of that. */
  hears: (channel: Channel, what: Hearing) => boolean;
  /** How many messages channels of a kind take; null: as many as there are. */
  rateOf: (kind: string) => Rate | null;
  /** Where bodies may have been moved to. */
  objects?: Pick<ObjectStore, "get"> | null;
  /** How the other checks of a project are. Absent: read for each message; null: messages say nothing about them. */
  neighbours?: Neighbours | null;
};

export type SendingFacts = { dedupeKey: string; attempt: number; now: Instant };

type Moment = { now: () => Instant; ports: Ports };

/** Makes the messages of claims with what the ports say. */
export function prepareFor(
  db: Db,
  claims: readonly Claim[],
  { now, ports }: { now: Instant; ports: Ports },
): Promise<Prepared[]> {
  const { hears, neighbours = new Neighbours({ maxAgeMs: 0 }) } = ports;
  return prepareClaims(db, claims, { now, hears, neighbours });
}

/** Sends one prepared message. Reads the body that belongs to it first, wherever that is. */
export async function sendPrepared(
  db: Db,
  prepared: Extract<Prepared, { kind: "send" }>,
  { now, ports }: Moment,
): Promise<Extract<Ended, { result: SendResult }>> {
  const { claim, channel } = prepared;
  const message = await withBody(db, prepared, ports);
  const at = now();
  const sending = { dedupeKey: claim.dedupeKey, attempt: claim.attempt, now: at };
  const result = await ports.send(channel, message, sending);
  return { prepared, result, durationMs: now() - at };
}

const lenient = new TextDecoder("utf-8");

/** An alert does not wait for a body that cannot be read just now. */
async function withBody(
  db: Db,
  { claim, message }: Extract<Prepared, { kind: "send" }>,
  { objects = null }: Ports,
): Promise<AlertMessage> {
  if ((message.kind !== "down" && message.kind !== "up") || !message.lastPing?.bodySize) return message;
  const { lastPing } = message;
  const checkId = claim.deliveries[0].checkId ?? 0;
  const read = await readBody(db, { objects, checkId, n: lastPing.n }).catch(() => null);
  return read?.kind === "found"
    ? { ...message, lastPing: { ...lastPing, body: lenient.decode(read.body) } }
    : message;
}

/** One after the other, settled together. */
async function deliverAll(database: Database, claims: readonly Claim[], moment: Moment): Promise<Settled[]> {
  const { now, ports } = moment;
  const ended: Ended[] = [];
  for (const prepared of await prepareFor(database, claims, { now: now(), ports })) {
    ended.push(prepared.kind === "send" ? await sendPrepared(database, prepared, moment) : { prepared });
  }
  return ended.length === 0 ? [] : settleClaims(database, ended, { now: now() });
}

/** Messages that are claimed and settled together where nobody waits for them. */
const DUE_BATCH_MAX = 100;

/** Delivers everything that is due, once: what fails now is due later. For whoever has time of his own. */
export async function deliverDue(
  database: Database,
  { now, ports }: { now: Instant; ports: Ports },
): Promise<Settled[]> {
  const settled: Settled[] = [];
  let after = 0;
  let isFruitless = true;
  for (;;) {
    const options = { now, limit: DUE_BATCH_MAX, sendsMax: DUE_BATCH_MAX, rateOf: ports.rateOf, after };
    const claimed = await claimDeliveries(database, options);
    settled.push(...(await deliverAll(database, claimed.claims, { now: () => now, ports })));
    if (claimed.claims.length > 0) isFruitless = false;
    after = claimed.after;
    if (after !== 0) continue;
    // All channels have been visited. What somebody else holds is due, too, and may take more than one call to pass.
    if (isFruitless) return settled;
    isFruitless = true;
  }
}
