// Telegram: chats that move, and servers without a bot.
import { beforeEach, describe, expect, test } from "vitest";
import { startTelegram, type TelegramReceiver } from "../../receivers/kinds/telegram.ts";
import { type Opened, useReceivers } from "../open-receiver.ts";
import { KEYS } from "../sample-kinds.ts";
import { DOWN } from "../sample-messages.ts";

const open = useReceivers();

describe("a Telegram chat", () => {
  let telegram: TelegramReceiver;
  let send: Opened["send"];

  beforeEach(async () => {
    ({ receiver: telegram, send } = await open("telegram", { started: startTelegram() }));
  });

  test("that was converted gets its message under the new ID, which is stored", async () => {
    telegram.migrated.set("-1001234567890", -1_009_876_543_210);
    const result = await send(DOWN);
    expect(result).toMatchObject({ kind: "sent", config: { chat_id: "-1009876543210", thread_id: 7 } });
    expect(telegram.received.map(({ json }) => json["chat_id"])).toEqual([
      "-1001234567890",
      "-1009876543210",
    ]);
  });

  test("that asks for patience in its own way is given it", async () => {
    const body = {
      ok: false,
      error_code: 429,
      description: "Too Many Requests",
      parameters: { retry_after: 33 },
    };
    telegram.behave({ kind: "answer", answer: { status: 429, body } });
    expect(await send(DOWN)).toMatchObject({ kind: "failed", retryAfterMs: 33_000 });
  });

  test("that is not connected yet, or has no bot, is not called", async () => {
    const config = { setup_code: "abcdefghijklmnopqrstuvwx" };
    expect(await send(DOWN, { config })).toMatchObject({
      kind: "failed",
      permanent: false,
      inDoubt: false,
    });
    const without = await open("telegram", { keys: { ...KEYS, telegramToken: null } });
    const result = await without.send(DOWN);
    expect(result).toMatchObject({ kind: "failed", reason: expect.stringMatching(/OVERDUE_TELEGRAM_TOKEN/) });
    expect([...telegram.received, ...without.receiver.received]).toEqual([]);
  });
});
