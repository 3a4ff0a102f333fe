// The integrations of the key's project.
import { presentChannels } from "../../../contract/history/channel.ts";
import { listChannels as readChannels } from "../../../store/alerts/channels.ts";
import type { Handler } from "../exchange.ts";

/** All of them, oldest first. */
export const listChannels: Handler = async ({ project }, { database }) => ({
  status: 200,
  json: presentChannels(await readChannels(database, project.id)),
});
