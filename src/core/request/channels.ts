// The `channels` parameter of create and update: which integrations a request means. It knows the
// integrations of one project only; whose they are has been decided before.
import { type Checked, channelText, ERROR_TEXT } from "../errors.ts";

/** What identifies an integration to the parameter. The name may be empty, and need not be unique. */
export type ChannelIdentity = { uuid: string; name: string };

/**
 * The UUIDs that `param` assigns, each once, in the order given: all for "*", none for "", else a comma
 * list of UUIDs and names, compared exactly. The first item that is not exactly one integration is told.
 */
export function resolveChannels(param: string, channels: readonly ChannelIdentity[]): Checked<string[]> {
  if (param === "*") return { ok: true, value: channels.map((channel) => channel.uuid) };
  if (param === "") return { ok: true, value: [] };
  const meant = indexByIdentifier(channels);
  const uuids = new Set<string>();
  for (const identifier of param.split(",")) {
    if (identifier === "") return { ok: false, text: ERROR_TEXT.emptyChannel };
    const found = meant.get(identifier);
    if (found === undefined) return { ok: false, text: channelText("invalid", identifier) };
    if (found === "several") return { ok: false, text: channelText("non-unique", identifier) };
    uuids.add(found.uuid);
  }
  return { ok: true, value: [...uuids] };
}

// A request may repeat an item many thousand times, so each is looked up and not searched for.
function indexByIdentifier(channels: readonly ChannelIdentity[]): Map<string, ChannelIdentity | "several"> {
  const index = new Map<string, ChannelIdentity | "several">();
  for (const channel of channels) {
    for (const identifier of new Set([channel.uuid, channel.name])) {
      index.set(identifier, index.has(identifier) ? "several" : channel);
    }
  }
  return index;
}
