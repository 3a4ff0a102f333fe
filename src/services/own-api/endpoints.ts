// The endpoints of our own API: each reads what it was asked, calls one operation, and presents what comes back.
import { addressWarnings } from "../../channels/config/address-warnings.ts";
import { shownConfig } from "../../channels/config/channel-config.ts";
import { CONFIG_RULES } from "../../channels/config/config-rules.ts";
import { KINDS, kindNamed } from "../../channels/registry.ts";
import {
  type ChannelJson,
  channelTag,
  presentChannel,
  presentKind,
  readIfMatch,
} from "../../contract/own/channel.ts";
import { presentDelivery } from "../../contract/own/delivery.ts";
import { cursorOf, readPage } from "../../contract/own/page.ts";
import type { OwnEndpoint } from "../../core/access.ts";
import { readChannelRequest } from "../../core/alerts/channel-request.ts";
import { AppError, type Checked } from "../../core/errors.ts";
import { IDEMPOTENCY_KEY_LENGTH_MAX } from "../../core/limits.ts";
import { deleteChannel, updateChannel } from "../../operations/alerts/channels/change-channel.ts";
import { getChannel } from "../../operations/alerts/channels/changing-channels.ts";
import { createChannel, type Once } from "../../operations/alerts/channels/create-channel.ts";
import {
  getDelivery,
  listChannelPage,
  listChecksOfChannel,
  listDeliveries,
  retryDelivery,
  testChannel,
} from "../../operations/alerts/channels/delivery-log.ts";
import { isVerified } from "../../operations/alerts/mail/verification.ts";
import type { ManagedChannel } from "../../store/alerts/managed-channels.ts";
import type { Answer, Exchange, Handler, House } from "./exchange.ts";

function checked<T>(read: Checked<T>): T {
  if (!read.ok) throw new AppError("invalid", read.text);
  return read.value;
}

function shown(channel: ManagedChannel, { destinations }: House): ChannelJson {
  const kind = kindNamed(channel.kind);
  return presentChannel({
    ...channel,
    // Of a kind that a newer release has left behind nobody can say what is secret.
    shownConfig: kind === null ? {} : shownConfig(kind, channel.config),
    isVerified: channel.kind === "email" ? isVerified(channel) : null,
    warnings: addressWarnings(channel, destinations),
  });
}

/** What a key sees of a channel: a read-only key no address and nothing of what was sent to it. */
function seen(channel: ManagedChannel, { key }: Exchange, house: House): Partial<ChannelJson> {
  const { uuid: id, kind, name } = channel;
  return key.kind === "readOnly" ? { id, kind, name } : shown(channel, house);
}

function tagged(channel: ManagedChannel, json: object): Answer {
  return { status: 200, headers: { ETag: channelTag(channel) }, json };
}

/** By whom and when a change is made. */
function changing({ key, now }: Exchange) {
  return { by: { accountId: null, keyId: key.id }, at: now };
}

function nameOf({ projectId, channel }: Exchange) {
  return { projectId, uuid: channel };
}

const KEY = new RegExp(`^[\\x21-\\x7e]{1,${IDEMPOTENCY_KEY_LENGTH_MAX}}$`);

function onceOf({ headers, body }: Exchange): Once | null {
  const given = headers["idempotency-key"];
  if (given === undefined) return null;
  if (typeof given !== "string" || !KEY.test(given)) {
    const text = `Idempotency-Key must be 1 to ${IDEMPOTENCY_KEY_LENGTH_MAX} printable ASCII characters without spaces.`;
    throw new AppError("invalid", text);
  }
  return { key: given, request: JSON.stringify(body) };
}

const create: Handler = async (exchange, house) => {
  const { database, mailVerification, baseUrl } = house;
  const {
    kind,
    name = "",
    config = {},
    isEnabled = true,
    checks = "*",
  } = checked(readChannelRequest(exchange.body));
  if (kind === undefined) throw new AppError("invalid", "kind is required.");
  const { channel, made } = await createChannel(database, {
    projectId: exchange.projectId,
    kind,
    name,
    config,
    isEnabled,
    checks,
    once: onceOf(exchange),
    rules: CONFIG_RULES,
    mailVerification,
    ...changing(exchange),
  });
  const answer = tagged(channel, { ...shown(channel, house), made });
  return {
    ...answer,
    status: 201,
    headers: { ...answer.headers, Location: `${baseUrl}/channels/${channel.uuid}` },
  };
};

const update: Handler = async (exchange, house) => {
  const channel = await updateChannel(house.database, {
    ...nameOf(exchange),
    change: checked(readChannelRequest(exchange.body)),
    expected: readIfMatch(exchange.headers["if-match"]),
    rules: CONFIG_RULES,
    mailVerification: house.mailVerification,
    ...changing(exchange),
  });
  return tagged(channel, shown(channel, house));
};

const HANDLERS: Readonly<Record<OwnEndpoint, Handler>> = {
  listKinds: async () => ({ status: 200, json: { kinds: KINDS.map(presentKind) } }),
  listChannels: async (exchange, house) => {
    const { query, projectId } = exchange;
    const { items, next } = await listChannelPage(house.database, { projectId, ...checked(readPage(query)) });
    const channels = items.map((one) => seen(one, exchange, house));
    return { status: 200, json: { channels, next_cursor: cursorOf(next) } };
  },
  createChannel: create,
  getChannel: async (exchange, house) => {
    const channel = await getChannel(house.database, nameOf(exchange));
    return tagged(channel, seen(channel, exchange, house));
  },
  updateChannel: update,
  deleteChannel: async (exchange, { database }) => {
    const expected = readIfMatch(exchange.headers["if-match"]);
    await deleteChannel(database, { ...nameOf(exchange), expected, ...changing(exchange) });
    return { status: 204, json: null };
  },
  listChecksOfChannel: async (exchange, { database }) => {
    const page = { ...nameOf(exchange), ...checked(readPage(exchange.query)) };
    const { items, next } = await listChecksOfChannel(database, page);
    const checks = items.map(({ uuid, name }) => ({ id: uuid, name }));
    return { status: 200, json: { checks, next_cursor: cursorOf(next) } };
  },
  testChannel: async (exchange, { database }) => {
    const planned = await testChannel(database, { ...nameOf(exchange), ...changing(exchange) });
    return { status: 202, json: { deliveries: planned.map(presentDelivery) } };
  },
  listDeliveries: async (exchange, { database }) => {
    const page = { ...nameOf(exchange), ...checked(readPage(exchange.query)) };
    const { items, next } = await listDeliveries(database, page);
    const deliveries = items.map(presentDelivery);
    return { status: 200, json: { deliveries, next_cursor: cursorOf(next) } };
  },
  getDelivery: async (exchange, { database }) => {
    const { projectId, delivery: deliveryId } = exchange;
    const found = await getDelivery(database, { projectId, deliveryId });
    return { status: 200, json: presentDelivery(found) };
  },
  retryDelivery: async (exchange, { database }) => {
    const { projectId, delivery: deliveryId, now: at } = exchange;
    const due = await retryDelivery(database, { projectId, deliveryId, at });
    return { status: 202, json: presentDelivery(due) };
  },
};

/** Who answers an endpoint. */
export function handlerOf(endpoint: OwnEndpoint): Handler {
  return HANDLERS[endpoint];
}
