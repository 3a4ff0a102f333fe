// The routes about channels: the same operations as those of the API, called by people.
import { addressWarnings } from "../../../channels/config/address-warnings.ts";
import { CONFIG_RULES } from "../../../channels/config/config-rules.ts";
import { KINDS } from "../../../channels/registry.ts";
import {
  ChannelChange,
  ChannelPartQuery,
  type HeardChecks,
  NewChannel,
  TypedConfig,
} from "../../../contract/web/channels.ts";
import { ROWS_PAGE_MAX } from "../../../contract/web/requests/sizes.ts";
import { AppError } from "../../../core/errors.ts";
import { CHANNELS_LISTED_MAX } from "../../../core/limits.ts";
import { deleteChannel, updateChannel } from "../../../operations/alerts/channels/change-channel.ts";
import { getChannel } from "../../../operations/alerts/channels/changing-channels.ts";
import { createChannel } from "../../../operations/alerts/channels/create-channel.ts";
import {
  getDelivery,
  listChannelPage,
  listChecksOfChannel,
  listDeliveries,
  retryDelivery,
  testChannel,
} from "../../../operations/alerts/channels/delivery-log.ts";
import { listAudit } from "../../../operations/accounts/audit.ts";
import type { WebHouse } from "../house.ts";
import { type AccountAsk, channelRoute, projectRoute, WebRefusal, type WebRoute } from "../route.ts";
import { changedBy } from "../serving/changed-by.ts";
import { pathNumber } from "../serving/path-number.ts";
import { presentChannel, presentDelivery, presentKind, toldBy } from "./present-channels.ts";

const DELIVERIES_PER_PAGE = 50;

export const channelRoutes: readonly WebRoute[] = [
  projectRoute({
    name: "channels.list",
    method: "GET",
    path: "/web/api/projects/:project/channels",
    access: "view",
    answer: async ({ house, project }) => {
      const page = await listChannelPage(house.database, {
        projectId: project.id,
        from: null,
        limit: CHANNELS_LISTED_MAX,
      });
      return {
        json: {
          channels: page.items.map((channel) => presentChannel(channel, house.destinations)),
          kinds: KINDS.map(presentKind),
          told: toldBy(page.items, {
            asksFirst: house.mailVerification,
            sendsMail: house.destinations.sendsMail,
          }),
        },
      };
    },
  }),
  projectRoute({
    name: "channels.create",
    method: "POST",
    path: "/web/api/projects/:project/channels",
    access: "editChannels",
    body: NewChannel,
    answer: async ({ house, project, body, ...ask }) => {
      const { channel, made } = await createChannel(house.database, {
        projectId: project.id,
        ...body,
        isEnabled: true,
        checks: body.checks ?? [],
        once: null,
        ...rulesOf(house),
        ...changingBy(ask),
      });
      return { status: 201, json: { channel: presentChannel(channel, house.destinations), made } };
    },
  }),
  projectRoute({
    name: "channels.warnings",
    method: "POST",
    path: "/web/api/projects/:project/channels/warnings",
    access: "editChannels",
    body: TypedConfig,
    answer: async ({ house, body }) => ({ json: { warnings: addressWarnings(body, house.destinations) } }),
  }),
  channelRoute({
    name: "channel.change",
    method: "PATCH",
    path: "/web/api/channels/:channel",
    access: "editChannels",
    body: ChannelChange,
    answer: async ({ house, project, channel, body, ...ask }) => {
      const { version, ...change } = body;
      const which = { projectId: project.id, uuid: channel.uuid };
      try {
        const changed = await updateChannel(house.database, {
          ...which,
          change,
          expected: version === undefined ? null : [version],
          ...rulesOf(house),
          ...changingBy(ask),
        });
        return { json: presentChannel(changed, house.destinations) };
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== "precondition_failed") throw error;
        throw await overtakenChannel(house, { ...which, accountId: ask.account.id, now: ask.now });
      }
    },
  }),
  channelRoute({
    name: "channel.delete",
    method: "DELETE",
    path: "/web/api/channels/:channel",
    access: "editChannels",
    answer: async ({ house, project, channel, ...ask }) => {
      const which = { projectId: project.id, uuid: channel.uuid };
      await deleteChannel(house.database, { ...which, expected: null, ...changingBy(ask) });
      return { json: {} };
    },
  }),
  channelRoute({
    name: "channel.test",
    method: "POST",
    path: "/web/api/channels/:channel/test",
    access: "testChannel",
    answer: async ({ house, project, channel, ...ask }) => {
      const which = { projectId: project.id, uuid: channel.uuid };
      const planned = await testChannel(house.database, { ...which, ...changingBy(ask) });
      return { status: 202, json: { deliveries: planned.map(presentDelivery) } };
    },
  }),
  channelRoute({
    name: "channel.deliveries",
    method: "GET",
    path: "/web/api/channels/:channel/deliveries",
    access: "view",
    query: ChannelPartQuery,
    answer: async ({ house, project, channel, query }) => {
      const which = { projectId: project.id, uuid: channel.uuid };
      const range = { from: query.from ?? null, limit: DELIVERIES_PER_PAGE };
      const { items, next } = await listDeliveries(house.database, { ...which, ...range });
      return { json: { deliveries: items.map(presentDelivery), from: next } };
    },
  }),
  channelRoute({
    name: "channel.checks",
    method: "GET",
    path: "/web/api/channels/:channel/checks",
    access: "view",
    query: ChannelPartQuery,
    answer: async ({ house, project, channel, query }) => {
      const which = { projectId: project.id, uuid: channel.uuid };
      const range = { from: query.from ?? null, limit: ROWS_PAGE_MAX };
      const { items, next } = await listChecksOfChannel(house.database, { ...which, ...range });
      const heard: HeardChecks = { ids: items.map(({ uuid }) => uuid), from: next };
      return { json: heard };
    },
  }),
  channelRoute({
    name: "channel.get",
    method: "GET",
    path: "/web/api/channels/:channel",
    access: "view",
    answer: async ({ house, project, channel }) => ({
      json: presentChannel(
        await getChannel(house.database, { projectId: project.id, uuid: channel.uuid }),
        house.destinations,
      ),
    }),
  }),
  projectRoute({
    name: "delivery.get",
    method: "GET",
    path: "/web/api/projects/:project/deliveries/:delivery",
    access: "view",
    answer: async ({ house, project, params }) => ({
      json: presentDelivery(
        await getDelivery(house.database, {
          projectId: project.id,
          deliveryId: pathNumber(params["delivery"]),
        }),
      ),
    }),
  }),
  projectRoute({
    name: "delivery.retry",
    method: "POST",
    path: "/web/api/projects/:project/deliveries/:delivery/retry",
    access: "editChannels",
    answer: async ({ house, project, params, now }) => ({
      json: presentDelivery(
        await retryDelivery(house.database, {
          projectId: project.id,
          deliveryId: pathNumber(params["delivery"]),
          at: now,
        }),
      ),
    }),
  }),
];

function rulesOf({ mailVerification }: WebHouse) {
  return { rules: CONFIG_RULES, mailVerification };
}

function changingBy({ account, now }: Pick<AccountAsk, "account" | "now">) {
  return { by: { accountId: account.id, keyId: null }, at: now };
}

/** What is answered to a form that was filled before somebody else changed the same channel. */
async function overtakenChannel(
  { database }: WebHouse,
  { projectId, uuid, accountId, now }: { projectId: number; uuid: string; accountId: number; now: number },
): Promise<WebRefusal> {
  const { name, kind, revision } = await getChannel(database, { projectId, uuid });
  const called = name === "" ? kind : name;
  const { entries } = await listAudit(database, { projectId });
  // It was changed a moment ago, so that the newest page of the record has it.
  const entry = entries.find(({ what, subject }) => what.startsWith("channel.") && subject === called);
  return new WebRefusal("conflict", "Someone else changed this channel while you were editing it.", null, {
    by: changedBy(entry, accountId),
    at: entry?.at ?? now,
    before: { ...entry?.before },
    after: { ...entry?.after },
    version: revision,
  });
}
