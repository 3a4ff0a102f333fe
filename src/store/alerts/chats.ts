// Telegram channels whose chat is connected later: by a code that somebody writes into the chat.
import type { Instant } from "../../core/instant.ts";
import { type Db, statement } from "../db.ts";
import type { Tx } from "../transaction.ts";
import { toTimestamp } from "../values.ts";

const IS_WAITING = "ch.kind = 'telegram' and ch.config ->> 'setup_code' <> ''";

const IS_ANY_WAITING = statement<{ is_waiting: boolean }>({
  name: "chats.is_any_waiting",
  text: `select exists (select from channels ch where ${IS_WAITING} and ch.created_at > $1) as is_waiting`,
});

/** Whether a code of a channel that was created after `since` has still to be written somewhere. */
export async function isAnyChatWaiting(db: Db, since: Instant): Promise<boolean> {
  const { rows } = await db.query(IS_ANY_WAITING, [toTimestamp(since)]);
  return rows[0]?.is_waiting === true;
}

// A changed channel gets a new chance, as in channels.update.
const CONNECT = statement<{ uuid: string; name: string; project_name: string }>({
  name: "chats.connect",
  text: `update channels ch set config = ch.config || $2::jsonb, disabled_at = null, disabled_reason = null,
      failure_count = 0, hold_until_at = null, revision = revision + 1
    from projects p
    where ${IS_WAITING} and ch.config ->> 'setup_code' = $1 and ch.created_at > $3 and p.id = ch.project_id
    returning ch.uuid, ch.name, p.name as project_name`,
});

export type ConnectedChannel = { uuid: string; name: string; projectName: string };

/** Gives the channel of this code the fields of `config`, which have to end its code. Null: there is none, or no more. */
export async function connectChat(
  tx: Tx,
  { code, config, since }: { code: string; config: object; since: Instant },
): Promise<ConnectedChannel | null> {
  const { rows } = await tx.query(CONNECT, [code, JSON.stringify(config), toTimestamp(since)]);
  const [row] = rows;
  return row === undefined ? null : { uuid: row.uuid, name: row.name, projectName: row.project_name };
}
