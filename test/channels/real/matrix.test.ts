// Matrix on a real homeserver: what the kind sends is read back as another member of the room sees it.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ChannelConfig } from "../../../src/channels/channel-config.ts";
import type { AlertMessage } from "../../../src/core/message.ts";
import { type GuardedHttp, guardedHttp } from "../../../src/lib/outgoing-http.ts";
import {
  isSynapseInstalled,
  startSynapse,
  type SynapseServer,
  WHY_SKIPPED,
} from "../../support/synapse-server.ts";
import { sampleChannel, sampleSender } from "../sample-kinds.ts";
import { DOWN, EXTREME, NOTICE, NOW, UP } from "../sample-messages.ts";

describe.skipIf(!isSynapseInstalled)(`Matrix, on a real homeserver${WHY_SKIPPED}`, () => {
  let synapse: SynapseServer;
  let http: GuardedHttp;
  let [ada, bot] = ["", ""];

  beforeAll(async () => {
    http = guardedHttp({ allowPrivate: true, userAgent: "Overdue" });
    synapse = await startSynapse();
    ada = await synapse.register("ada");
    bot = await synapse.register("bot");
  });
  afterAll(async () => {
    await synapse?.stop();
    await http.close();
  });

  /** A private room of Ada's. */
  async function createRoom(given: { alias?: string; invite: string[] }): Promise<string> {
    const body = { room_alias_name: given.alias, invite: given.invite, preset: "private_chat" };
    return String((await synapse.call(ada, { method: "POST", path: "createRoom", body }))["room_id"]);
  }

  /** The messages in a room, oldest first. */
  async function messagesIn(room: string): Promise<Record<string, unknown>[]> {
    const filter = encodeURIComponent('{"types":["m.room.message"]}');
    const path = `rooms/${encodeURIComponent(room)}/messages?dir=b&limit=50&filter=${filter}`;
    const { chunk } = await synapse.call(ada, { method: "GET", path });
    return (chunk as { content: Record<string, unknown> }[]).map(({ content }) => content).toReversed();
  }

  function send(
    message: AlertMessage,
    given: { dedupeKey: string; config: ChannelConfig; attempt?: number },
  ) {
    const { dedupeKey, config, attempt = 1 } = given;
    const sender = sampleSender({ http });
    return sender.send(sampleChannel("matrix", config), message, { dedupeKey, attempt, now: NOW });
  }

  test("a message that is repeated arrives once, and the next one after it", async () => {
    const room = await createRoom({ alias: "ops", invite: ["@bot:overdue.test"] });
    const alias = { homeserver: synapse.url, token: bot, room: "#ops:overdue.test" };
    const first = await send(DOWN, { dedupeKey: "one", config: alias });
    const config = { ...alias, room };
    expect(first).toMatchObject({ kind: "sent", code: 200, config });
    const second = await send(DOWN, { dedupeKey: "one", config, attempt: 2 });
    expect(second).toMatchObject({ kind: "sent", excerpt: first.excerpt });
    for (const [dedupeKey, message] of Object.entries({ two: UP, three: NOTICE, four: EXTREME })) {
      expect(await send(message, { dedupeKey, config })).toMatchObject({ kind: "sent" });
    }
    const messages = await messagesIn(room);
    expect(messages.map(({ msgtype, body }) => [msgtype, String(body).split("\n")[0]])).toEqual([
      ["m.text", "🔴 Nightly <backup> of *db_1* is DOWN"],
      ["m.text", "🟢 Nightly <backup> of *db_1* is UP"],
      ["m.notice", "🟡 Monitoring gap: Nightly <backup> of *db_1* and 11 more"],
      ["m.text", expect.stringMatching(/^🔴 .* is DOWN$/)],
    ]);
    expect(messages[0]?.["formatted_body"]).toContain("<b>Nightly &lt;backup&gt; of *db_1* is DOWN</b><br>");
  });

  test("a room is joined by its ID after an invitation; without one, it ends the channel", async () => {
    const room = await createRoom({ invite: [] });
    const config = { homeserver: synapse.url, token: bot, room };
    expect(await send(DOWN, { dedupeKey: "five", config })).toMatchObject({
      permanent: true,
      reason: expect.stringMatching(/invite it to the room/),
    });
    const body = { user_id: "@bot:overdue.test" };
    await synapse.call(ada, { method: "POST", path: `rooms/${encodeURIComponent(room)}/invite`, body });
    expect(await send(DOWN, { dedupeKey: "five", config })).toMatchObject({ kind: "sent" });
    expect(await messagesIn(room)).toHaveLength(1);
  });

  test("an unknown alias or token ends the channel", async () => {
    const config = { homeserver: synapse.url, token: bot, room: "#nowhere:overdue.test" };
    expect(await send(DOWN, { dedupeKey: "six", config })).toMatchObject({
      permanent: true,
      reason: "The room does not exist (HTTP 404)",
    });
    expect(await send(DOWN, { dedupeKey: "six", config: { ...config, token: "wrong" } })).toMatchObject({
      permanent: true,
      reason: "The homeserver rejected the token (HTTP 401)",
    });
  });
});
