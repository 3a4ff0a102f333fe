// Connects a chat to the channel that waits for it. Whoever can write the channel's code into a chat may have it told
// there; the code is good for one chat, and for a day.
import { DAY_MS, type Instant } from "../../core/instant.ts";
import { connectChat, type ConnectedChannel, isAnyChatWaiting } from "../../store/alerts/chats.ts";
import type { Database } from "../../store/db.ts";
import { inTransaction } from "../../store/transaction.ts";

const CODE_MS_MAX = DAY_MS;

export type Chat = { id: string; type: string; name: string; threadId: number };

/** Whether anybody waits for a chat: otherwise nobody needs to be asked for codes. */
export function isAnybodyWaiting(database: Database, now: Instant): Promise<boolean> {
  return isAnyChatWaiting(database, now - CODE_MS_MAX);
}

/** The channel that the code has connected to the chat; null when the code is not, or no longer, good. */
export function connectWaiting(
  database: Database,
  { code, chat, now }: { code: string; chat: Chat; now: Instant },
): Promise<ConnectedChannel | null> {
  const { id: chat_id, type: chat_type, name: chat_name, threadId: thread_id } = chat;
  const config = { chat_id, chat_type, chat_name, thread_id, setup_code: "" };
  return inTransaction(database, (tx) => connectChat(tx, { code, config, since: now - CODE_MS_MAX }));
}
