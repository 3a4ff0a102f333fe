// Matrix: rooms that the account has yet to join, repetitions, and whose account it is.
import { beforeEach, describe, expect, test } from "vitest";
import { SEND_MS_MAX } from "../../../src/core/limits.ts";
import type { OutgoingRequest } from "../../../src/lib/outgoing-http.ts";
import { ALIAS, MATRIX_TOKEN, type MatrixReceiver, ROOM, startMatrix } from "../../receivers/kinds/matrix.ts";
import { type Opened, useReceivers } from "../open-receiver.ts";
import { CONFIGS, KEYS, PROVIDERS } from "../sample-kinds.ts";
import { DOWN, NOTICE, UP } from "../sample-messages.ts";

const open = useReceivers();
const OWN = { ...CONFIGS["matrix"] };

describe("a Matrix room", () => {
  let matrix: MatrixReceiver;
  let send: Opened["send"];

  beforeEach(async () => {
    ({ receiver: matrix, send } = await open("matrix", { started: startMatrix() }));
  });

  const requests = () =>
    matrix.received.map(({ method, path }) => `${method} ${path.includes("/join/") ? "join" : "send"}`);

  test("gets a repeated message once", async () => {
    const [first, second] = [await send(DOWN), await send(DOWN, { attempt: 2 })];
    expect(second.excerpt).toBe(first.excerpt);
    expect(matrix.events.size).toBe(1);
  });

  test("that is known by its alias is joined, and its ID is stored", async () => {
    const config = { ...OWN, room: ALIAS };
    matrix.bot.isMember = false;
    expect(await send(DOWN, { config })).toMatchObject({ kind: "sent", config: { ...OWN, room: ROOM } });
    expect(requests()).toEqual(["POST join", "PUT send"]);
  });

  test("that the account was invited to is joined when a message is refused", async () => {
    matrix.bot.isMember = false;
    const result = await send(UP);
    expect(result).toMatchObject({ kind: "sent" });
    expect(result).not.toHaveProperty("config");
    expect(requests()).toEqual(["PUT send", "POST join", "PUT send"]);
  });

  test.each([ALIAS, ROOM])("%s that the account may not join ends the channel", async (room) => {
    Object.assign(matrix.bot, { isMember: false, isInvited: false });
    expect(await send(DOWN, { config: { ...OWN, room } })).toMatchObject({
      kind: "failed",
      permanent: true,
      reason: "The account is not allowed to send to the room: invite it to the room (HTTP 403)",
    });
    expect(matrix.events.size).toBe(0);
  });

  test("is given up in time, however slow the homeserver is", async () => {
    let timeoutMs = 0;
    const http = {
      send: async ({ method, ...request }: OutgoingRequest) => {
        timeoutMs += request.timeoutMs ?? Infinity;
        return method === "PUT"
          ? { status: 403, headers: {}, text: '{"errcode":"M_FORBIDDEN"}' }
          : { status: 200, headers: {}, text: `{"room_id":"${ROOM}"}` };
      },
    };
    await (await open("matrix", { http })).send(DOWN);
    expect(timeoutMs).toBeLessThanOrEqual(SEND_MS_MAX);
  });

  test.each([
    "",
    { room_id: "#ops:example.org" },
    { room_id: "!with space" },
    { room_id: `!${"x".repeat(300)}` },
  ])("whose homeserver names it %j after joining is tried again", async (body) => {
    matrix.behave({ kind: "answer", answer: { status: 200, body } });
    const result = await send(DOWN, { config: { ...OWN, room: ALIAS } });
    expect(result).toMatchObject({ kind: "failed", permanent: false });
  });

  test("gets notices that clients do not ring for", async () => {
    await send(NOTICE);
    await send(UP);
    expect(matrix.received.map(({ json }) => json["msgtype"])).toEqual(["m.notice", "m.text"]);
  });

  test("is waited for as long as it asks", async () => {
    const body = { errcode: "M_LIMIT_EXCEEDED", retry_after_ms: 4_321 };
    matrix.behave({ kind: "answer", answer: { status: 429, body } });
    expect(await send(DOWN)).toMatchObject({ kind: "failed", retryAfterMs: 4_321 });
  });
});

describe("the account of the server", () => {
  const homeserver = "https://matrix.example.org";
  const ours = {
    keys: { ...KEYS, matrixToken: MATRIX_TOKEN },
    providers: { ...PROVIDERS, matrixHomeserver: homeserver },
  };
  const nowhere = {
    send: async () => {
      throw new Error("the other client is used");
    },
  };

  test("is used by a channel without its own, with the client for addresses from the settings", async () => {
    const { receiver } = await open("matrix", ours);
    const http = { send: nowhere.send };
    const adminHttp = {
      send: async () => ({ status: 401, headers: {}, text: '{"errcode":"M_UNKNOWN_TOKEN"}' }),
    };
    const { send } = await open("matrix", { ...ours, http, adminHttp });
    // A refused token is a problem of the server: it must not disable all channels.
    expect(await send(DOWN, { config: { room: ROOM } })).toMatchObject({ permanent: false, isOurs: true });
    expect(receiver.received).toEqual([]);
  });

  test("is never used at another homeserver", async () => {
    const { send, receiver } = await open("matrix", ours);
    const config = { room: ROOM, homeserver: "https://elsewhere.example.org" };
    expect(await send(DOWN, { config })).toMatchObject({
      kind: "failed",
      permanent: false,
      reason: expect.stringMatching(/needs a homeserver and a token/),
    });
    expect(receiver.received).toEqual([]);
  });

  test("is not needed by a channel with its own", async () => {
    const { send } = await open("matrix", { adminHttp: nowhere });
    expect(await send(DOWN)).toMatchObject({ kind: "sent" });
    const without = await open("matrix");
    expect(await without.send(DOWN, { config: { room: ROOM } })).toMatchObject({
      kind: "failed",
      permanent: false,
      inDoubt: false,
    });
  });
});
