// Mails that came back: what a delivery report means for the channel or the person that it was sent to.
import {
  type Bounce,
  bounceVerdict,
  isOurBounce,
  readBounceLocalPart,
  type Signing,
} from "../../../core/alerts/mail-tokens.ts";
import type { Instant } from "../../../core/instant.ts";
import { DELIVERY_ERROR_LENGTH_MAX } from "../../../core/limits.ts";
import { findChannelById, findChannelByUuid } from "../../../store/alerts/channels.ts";
import { findLetterByUuid, type Letter } from "../../../store/alerts/letters.ts";
import { noteChannelError } from "../../../store/alerts/mail-channels.ts";
import type { Database } from "../../../store/db.ts";
import { findAccountById } from "../../../store/accounts/projects.ts";
import type { Tx } from "../../../store/transaction.ts";
import { inRetriedTransaction } from "../../changing/retried.ts";
import { giveUpChannel } from "../give-up-channel.ts";
import { stopMails } from "./preferences.ts";
import { mailAddressOf } from "./verification.ts";

export type DeliveryReport = {
  /** The part before the @ of the address that it came to. */
  localPart: string;
  /** For instance 5.1.1; empty when the mail has none. */
  status: string;
  /** What the other server said; may be empty. */
  diagnostic: string;
};

/** What became of a report. Whoever sent it is told, so that it can be found in a log. */
export type BounceOutcome = "done" | "badSignature" | "ignored" | "channelNotFound" | "accountNotFound";

/** Takes a report. It is believed only if it came to an address that we made for that mail. */
export function takeBounce(
  database: Database,
  report: DeliveryReport,
  { signing, now }: { signing: Signing; now: Instant },
): Promise<BounceOutcome> {
  const bounce = readBounceLocalPart(report.localPart);
  if (bounce === null) return Promise.resolve("badSignature");
  const given: Given = { bounce, report, signing, now };
  return inRetriedTransaction(database, (tx) =>
    bounce.kind === "n" ? ofChannel(tx, given) : ofLetter(tx, given),
  );
}

type Given = { bounce: Bounce; report: DeliveryReport; signing: Signing; now: Instant };

async function ofChannel(tx: Tx, { bounce, report, signing, now }: Given): Promise<BounceOutcome> {
  const channel = await findChannelByUuid(tx, bounce.uuid);
  const address = channel === null ? null : mailAddressOf(channel);
  if (channel === null || address === null) return "channelNotFound";
  if (!isOurBounce(bounce, { signing, address, now })) return "badSignature";
  const verdict = bounceVerdict(report.status);
  if (verdict === "ignored") return "ignored";
  const reason = reasonOf(report);
  await noteChannelError(tx, { channelId: channel.id, error: reason });
  if (verdict === "permanent") await giveUpChannel(tx, { channelId: channel.id, reason, at: now });
  return "done";
}

async function ofLetter(tx: Tx, { bounce, report, signing, now }: Given): Promise<BounceOutcome> {
  const letter = await findLetterByUuid(tx, bounce.uuid);
  if (letter === null) return "accountNotFound";
  return letter.accountId === null
    ? ofChannelLetter(tx, { letter, bounce, report, signing, now })
    : ofPerson(tx, { accountId: letter.accountId, bounce, report, signing, now });
}

/** Nobody can agree by an address that does not exist; whoever owns the channel sees why. */
async function ofChannelLetter(
  tx: Tx,
  { letter, bounce, report, signing, now }: Given & { letter: Letter },
): Promise<BounceOutcome> {
  const channel = letter.channelId === null ? null : await findChannelById(tx, letter.channelId);
  const address = channel === null ? null : mailAddressOf(channel);
  if (channel === null || address === null || letter.kind !== "verification") return "ignored";
  if (!isOurBounce(bounce, { signing, address, now })) return "badSignature";
  if (bounceVerdict(report.status) === "ignored") return "ignored";
  await noteChannelError(tx, { channelId: channel.id, error: reasonOf(report) });
  return "done";
}

/** Reports and reminders to an address that does not exist are turned off. */
async function ofPerson(
  tx: Tx,
  { accountId, bounce, report, signing, now }: Given & { accountId: number },
): Promise<BounceOutcome> {
  const account = await findAccountById(tx, accountId);
  if (account === null) return "accountNotFound";
  if (!isOurBounce(bounce, { signing, address: account.email, now })) return "badSignature";
  const verdict = bounceVerdict(report.status);
  if (verdict === "ignored") return "ignored";
  if (verdict === "permanent") await stopMails(tx, accountId);
  return "done";
}

function reasonOf({ status, diagnostic }: DeliveryReport): string {
  const said = diagnostic.replaceAll("\0", "").replace(/\s+/g, " ").trim();
  return `The email bounced (${status})${said === "" ? "" : `: ${said}`}`
    .slice(0, DELIVERY_ERROR_LENGTH_MAX)
    .toWellFormed();
}
