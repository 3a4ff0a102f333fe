// The loop that connects Telegram chats to channels. It asks the bot only while a channel waits for its chat. Several
// processes may do this at once: a code is good for one of them, and Telegram turns away whoever asks meanwhile.
import { type ChatCode, greetChat, hearCodes } from "../../channels/telegram/telegram-set-up.ts";
import type { Instant } from "../../core/instant.ts";
import type { Log } from "../../lib/log.ts";
import { type Loop, loopService, type TickResult } from "../../lib/loop.ts";
import type { LoopMetrics } from "../../lib/metrics.ts";
import type { GuardedHttp } from "../../lib/outgoing/guarded-http.ts";
import { OutgoingError } from "../../lib/outgoing/outgoing-error.ts";
import { connectWaiting, isAnybodyWaiting } from "../../operations/alerts/connect-chat.ts";
import type { Database } from "../../store/db.ts";
import { readDatabaseClock } from "../../store/instance.ts";
import { whileInService } from "../in-service.ts";

const IDLE_MS = 5_000;

export type ChatSetUp = {
  database: Database;
  http: Pick<GuardedHttp, "send">;
  token: string;
  siteName: string;
  log: Log;
};

/** How a look went: where the next one begins, and what kept it from hearing anything. */
export type Looked = { offset: number; isMore: boolean; trouble: string | null };

/** One look at what was written to the bot. `offset` is where the last look ended; 0 at first. */
export async function connectChats(
  setUp: ChatSetUp,
  { now, offset }: { now: Instant; offset: number },
): Promise<Looked> {
  const { database, http, token } = setUp;
  const nothing = { offset, isMore: false };
  if (!(await isAnybodyWaiting(database, now))) return { ...nothing, trouble: null };
  const heard = await reachable(() => hearCodes({ http, token }, offset));
  if (!heard.ok) return { ...nothing, trouble: heard.text };
  for (const one of heard.codes) await connectOne(setUp, { ...one, now });
  return { offset: heard.nextOffset, isMore: heard.isMore, trouble: null };
}

async function connectOne(
  { database, http, token, siteName, log }: ChatSetUp,
  { code, chat, now }: ChatCode & { now: Instant },
): Promise<void> {
  const channel = await connectWaiting(database, { code, chat, now });
  if (channel === null) return;
  log.info({ channel: channel.uuid }, "Telegram chat connected");
  const { projectName } = channel;
  const greeted = await reachable(() => greetChat({ http, token }, { chat, projectName, siteName }));
  if (!greeted.ok)
    log.warn({ reason: greeted.text }, "could not send the welcome message to a Telegram chat");
}

/** That Telegram cannot be reached is no fault of ours; whoever waits for a chat goes on waiting. */
async function reachable<T extends { ok: true }>(
  ask: () => Promise<T | { ok: false; text: string }>,
): Promise<T | { ok: false; text: string }> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof OutgoingError)) throw error;
    return { ok: false, text: error.message };
  }
}

/** The loop around it. A trouble is logged when it begins, and not at every look. */
export function chatSetUpLoop(setUp: ChatSetUp, metrics: LoopMetrics): Loop {
  let offset = 0;
  let trouble: string | null = null;
  return loopService("chat-set-up", {
    idleMs: IDLE_MS,
    log: setUp.log,
    metrics,
    // Whoever asks the bot takes the codes away from the server in service.
    tick: whileInService(setUp.database, async (): Promise<TickResult> => {
      const now = await readDatabaseClock(setUp.database);
      const looked = await connectChats(setUp, { now, offset });
      if (looked.trouble !== null && looked.trouble !== trouble) {
        setUp.log.warn({ reason: looked.trouble }, "could not fetch setup codes from Telegram");
      }
      ({ offset, trouble } = looked);
      return looked.isMore ? "again" : "idle";
    }),
  });
}
