// What mail has to know of a channel besides its configuration: whether its address has agreed, whose it is, and in
// which time zone its reader lives.
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";

const MARK_VERIFIED = statement({
  name: "channels.mark_verified",
  text: `update channels set verified_address = $2, revision = revision + 1
    where id = $1 and verified_address is distinct from $2`,
});

/** Notes that an address has agreed; null: it has to be asked again. False: it was so already, or the channel is gone. */
export async function markVerified(
  tx: Tx,
  { channelId, address }: { channelId: number; address: string | null },
): Promise<boolean> {
  return (await tx.query(MARK_VERIFIED, [channelId, address])).count === 1;
}

const FIND_RECIPIENT = statement<{ verified_address: string | null; tz: string | null }>({
  name: "channels.find_recipient",
  text: `select ch.verified_address, own.tz
    from channels ch
    left join accounts a on a.email = lower($2)
    left join preferences own on own.account_id = a.id
    where ch.uuid = $1`,
});

/** Which address of a channel has agreed, and the zone that the account with `address` has chosen, if any. */
export async function findRecipient(
  db: Db,
  { channelUuid, address }: { channelUuid: string; address: string },
): Promise<{ verifiedAddress: string | null; zone: string | null } | null> {
  const { rows } = await db.query(FIND_RECIPIENT, [channelUuid, address]);
  const [row] = rows;
  return row === undefined ? null : { verifiedAddress: row.verified_address, zone: row.tz };
}

const IS_MEMBER = statement({
  name: "channels.is_address_of_member",
  text: `select from members m join accounts a on a.id = m.account_id
    where m.project_id = $1 and a.email = lower($2)`,
});

/** Whether an address is that of somebody who may enter the project. */
export async function isAddressOfMember(
  db: Db,
  { projectId, address }: { projectId: number; address: string },
): Promise<boolean> {
  return (await db.query(IS_MEMBER, [projectId, address])).count > 0;
}

const NOTE_ERROR = statement({
  name: "channels.note_error",
  text: "update channels set last_error = $2 where id = $1",
});

/** What went wrong after a message had been sent; the channel goes on being used. */
export async function noteChannelError(
  tx: Tx,
  { channelId, error }: { channelId: number; error: string },
): Promise<void> {
  await tx.query(NOTE_ERROR, [channelId, error]);
}
