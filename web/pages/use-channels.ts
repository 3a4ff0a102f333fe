// The channels of a project, and the kinds of channels.
import { useQuery } from "@tanstack/react-query";
import type { Channel, ChannelHealth } from "../../src/contract/api/channels.ts";
import { LIST_PAGE_MAX } from "../../src/contract/api/limits.ts";
import { call } from "../api.ts";

/** All channels of a project. */
export function useChannels(project: string) {
  return useQuery({ queryKey: ["channels", project], queryFn: () => loadChannels(project) });
}

async function loadChannels(project: string): Promise<Channel[]> {
  const channels: Channel[] = [];
  let cursor: string | null = null;
  do {
    const query: { limit: number; cursor?: string } = { limit: LIST_PAGE_MAX };
    if (cursor !== null) query.cursor = cursor;
    const page = await call("listChannels", { project, query });
    // Only read-only API keys get channels without details.
    channels.push(...(page.channels as Channel[]));
    cursor = page.next;
  } while (cursor !== null);
  return channels;
}

/** The health of the channels that have sent something, by ID. Reloaded with the channels. */
export function useChannelHealth(project: string) {
  return useQuery({
    queryKey: ["channels", project, "health"],
    queryFn: async () => {
      const { channels } = await call("listChannelHealth", { project });
      return new Map(channels.map((one): [string, ChannelHealth] => [one.id, one]));
    },
  });
}

/** They only change with the version of the server. */
export function useChannelKinds() {
  return useQuery({
    queryKey: ["channel-kinds"],
    queryFn: async () => (await call("listChannelKinds", {})).kinds,
    staleTime: Number.POSITIVE_INFINITY,
  });
}
