// A real Home Assistant passes on to a phone what its kind sends, renders nothing of it, and refuses as documented.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { AlertMessage } from "../../../src/core/message.ts";
import { type GuardedHttp, guardedHttp } from "../../../src/lib/outgoing-http.ts";
import { objectsOf, type Receiver, startReceiver } from "../../receivers/receiver.ts";
import {
  isHomeAssistantInstalled,
  type RealHomeAssistant,
  startHomeAssistant,
  WHY_SKIPPED,
} from "../../support/home-assistant.ts";
import { DEDUPE_KEY, sampleChannel, sampleSender } from "../sample-kinds.ts";
import { ALL, DOWN, downNamed, HOSTILE_NAMES, NOW, UP } from "../sample-messages.ts";

const RATE_LIMITS = { successful: 1, errors: 0, maximum: 500, resetsAt: "2126-01-01T00:00:00.000Z" };
const TEMPLATES = ["{{ 7 * 7 }}", "{% set a = 1 %}{{ a }}", "{# gone #}", "{{ unclosed"];

describe.skipIf(!isHomeAssistantInstalled)(`with a real Home Assistant${WHY_SKIPPED}`, () => {
  let push: Receiver;
  let server: RealHomeAssistant;
  let http: GuardedHttp;
  beforeAll(async () => {
    push = await startReceiver(() => ({ answer: { status: 201, body: { rateLimits: RATE_LIMITS } } }));
    server = await startHomeAssistant({ pushUrl: `${push.url}/push` });
    http = guardedHttp({ allowPrivate: true, userAgent: "Overdue" });
  });
  beforeEach(() => {
    push.received.length = 0;
  });
  afterAll(async () => {
    await http.close();
    await server.stop();
    await push.close();
  });

  const send = (message: AlertMessage, changes: object = {}) => {
    const { url, token, service } = server;
    const channel = sampleChannel("homeassistant", { url, token, service, ...changes });
    return sampleSender({ http }).send(channel, message, { dedupeKey: DEDUPE_KEY, attempt: 1, now: NOW });
  };
  const pushed = () => push.received.map(({ json }) => json);

  test("an up has the tag of its down, and both open the check", async () => {
    for (const message of [DOWN, UP]) expect(await send(message)).toMatchObject({ kind: "sent", code: 200 });
    const [down, up] = pushed();
    expect(down).toMatchObject({
      push_token: "token-of-the-phone",
      title: expect.stringMatching(/is DOWN$/),
      message: expect.stringMatching(/^Down since/),
      data: { tag: expect.stringMatching(/^[0-9a-f]{40}$/), ttl: 0, priority: "high" },
    });
    const [data] = objectsOf([down?.["data"]]);
    const { tag, url, clickAction } = data ?? {};
    expect(up).toMatchObject({ title: expect.stringMatching(/is UP$/), data: { tag, url, clickAction } });
  });

  test.each(Object.entries(ALL))("the phone gets the message: %s", async (_name, message) => {
    expect(await send(message)).toMatchObject({ kind: "sent", code: 200 });
    expect(push.received).toHaveLength(1);
  });

  test.each([...TEMPLATES, ...HOSTILE_NAMES])("the phone gets the name %j as it was sent", async (name) => {
    expect(await send(downNamed(name))).toMatchObject({ kind: "sent", code: 200 });
    const [{ title, message } = {}] = pushed();
    expect(message).toMatch(/^Down since/);
    if (TEMPLATES.includes(name)) expect(String(title).replaceAll("\u2060", "")).toBe(`${name} is DOWN`);
  });

  test("a token that is refused disables the channel, and a missing action does not", async () => {
    expect(await send(DOWN, { token: "not-a-token" })).toMatchObject({ code: 401, permanent: true });
    expect(await send(DOWN, { service: "mobile_app_gone" })).toMatchObject({ code: 400, permanent: false });
    expect(push.received).toEqual([]);
  });
});
