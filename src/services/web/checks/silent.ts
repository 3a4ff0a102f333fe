// The checks of a project that are down while no channel is notified, and the channels that could be.
import { channelName } from "../../../contract/web/list-words.ts";
import { BULK_CHECKS_MAX } from "../../../contract/web/requests/sizes.ts";
import type { SilentChecks } from "../../../contract/web/silent.ts";
import { usableChannels } from "../../../core/alerts/usable-channels.ts";
import { isVerified, mailAddressOf } from "../../../operations/alerts/mail/verification.ts";
import { listChannels } from "../../../store/alerts/channels.ts";
import { listSilentChecks } from "../../../store/checks/silent-checks.ts";
import { type ProjectAsk, projectRoute, type WebRoute } from "../route.ts";

/** More are not offered by a warning; all of them are on the page of channels. */
const CHANNELS_OFFERED_MAX = 20;

/** Which checks they are, as the page begins and as it asks later. */
export async function readSilent({ house: { database }, project }: ProjectAsk): Promise<SilentChecks> {
  const channels = await listChannels(database, project.id);
  const usable = usableChannels(channels, {
    isConfirmed: (channel) => mailAddressOf(channel) === null || isVerified(channel),
  });
  const { uuids, total } = await listSilentChecks(database, {
    projectId: project.id,
    channelIds: usable.map(({ id }) => id),
    limit: BULK_CHECKS_MAX,
  });
  return {
    downCount: total,
    downIds: uuids,
    channels: usable
      .slice(0, CHANNELS_OFFERED_MAX)
      .map((channel) => ({ id: channel.uuid, name: channelName(channel) })),
  };
}

export const silentRoutes: readonly WebRoute[] = [
  projectRoute({
    name: "silent checks",
    method: "GET",
    path: "/web/api/projects/:project/silent",
    access: "view",
    answer: async (ask) => ({ json: await readSilent(ask) }),
  }),
];
