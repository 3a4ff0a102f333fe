// Channel requests, groups, and the `channels` parameter of checks. Configurations are validated by the
// channel kinds, which are not known here.
import { isLongerThan, TEXT_RULES } from "./check.ts";
import { channelText, type Checked, ERROR_TEXT, FIELD_PROBLEM, fieldText } from "./errors.ts";
import type { Instant } from "./instant.ts";
import { CHANNEL_NAME_LENGTH_MAX, CHANNELS_PER_PROJECT_MAX } from "./limits.ts";

export type ChannelConfig = Readonly<Record<string, unknown>>;

/** Validation of configurations by the channel kinds. */
export type ConfigRules = {
  /** The validated configuration with defaults. Not ok also for an unknown kind. */
  read(kind: string, input: unknown): Checked<ChannelConfig>;
  /** The same after a change: fields that are not given stay as they are. */
  change(kind: string, configs: { before: ChannelConfig; given: ChannelConfig }): Checked<ChannelConfig>;
  /** A new channel's configuration with the secrets that its kind generates. */
  complete(
    kind: string,
    config: ChannelConfig,
  ): { config: ChannelConfig; made: Readonly<Record<string, string>> };
};

/** The checks to assign to a channel: all existing ones, or these. */
export type ChosenChecks = "*" | readonly string[];

/** The fields of a request; absent ones stay as they are or have their default. */
export type ChannelRequest = {
  kind?: string;
  name?: string;
  /** As it was sent. */
  config?: ChannelConfig;
  isEnabled?: boolean;
  checks?: ChosenChecks;
};

/** What is wrong with the name of a channel, as the end of a sentence; null: nothing. */
export function channelNameProblem(name: string): string | null {
  const problem = isLongerThan(name, CHANNEL_NAME_LENGTH_MAX)
    ? FIELD_PROBLEM.tooLong
    : TEXT_RULES.storable(name);
  return problem === null ? null : fieldText("name", problem).replace("json validation error: ", "");
}

/** Reason of a channel that its owner disabled; only the owner may enable it. */
export const DISABLED_BY_OWNER = "Disabled by its owner";

export type Disabled = { at: Instant; reason: string };

/**
 * Whether a channel is disabled after a change. A new configuration enables a channel that was disabled after
 * failures; one disabled by its owner stays disabled.
 */
export function disabledAfter(
  before: Disabled | null,
  { isEnabled, config, at }: Pick<ChannelRequest, "isEnabled" | "config"> & { at: Instant },
): Disabled | null {
  if (isEnabled === true) return null;
  if (isEnabled === false) return before ?? { at, reason: DISABLED_BY_OWNER };
  return config !== undefined && before?.reason !== DISABLED_BY_OWNER ? null : before;
}

/** Whether a project may have one channel more. */
export function mayAddChannel(channelCount: number): boolean {
  return channelCount < CHANNELS_PER_PROJECT_MAX;
}

export const GROUP = "group";

type Member = { uuid: string; kind: string; name: string; config: ChannelConfig };

/** The members that a group names. */
export function membersOf({ kind, config }: Pick<Member, "kind" | "config">): readonly string[] {
  const members: unknown = config["members"];
  return kind === GROUP && Array.isArray(members) ? members.map(String) : [];
}

/** What is wrong with the members of a group, among the channels of its project; null when nothing is. */
export function groupProblem(members: readonly string[], channels: readonly Member[]): string | null {
  const kinds = new Map(channels.map(({ uuid, kind }) => [uuid, kind]));
  for (const uuid of members) {
    if (!kinds.has(uuid)) return `members: the project has no channel ${uuid}.`;
    if (kinds.get(uuid) === GROUP) return `members: ${uuid} is a group. Groups cannot contain other groups.`;
  }
  return null;
}

/**
 * The groups of a deleted channel without it. Not ok if one would be empty, because its checks would notify
 * no one.
 */
export function groupsWithout<Group extends Member>(
  uuid: string,
  channels: readonly Group[],
): Checked<{ group: Group; config: ChannelConfig }[]> {
  const groups = channels.filter((channel) => membersOf(channel).includes(uuid));
  const changes = groups.map((group) => ({
    group,
    config: { ...group.config, members: membersOf(group).filter((member) => member !== uuid) },
  }));
  const emptied = changes.find(({ config }) => config.members.length === 0)?.group;
  if (emptied === undefined) return { ok: true, value: changes };
  const name = emptied.name === "" ? emptied.uuid : `"${emptied.name}"`;
  return {
    ok: false,
    text: `This channel is the only member of the group ${name}. Change or delete the group first.`,
  };
}

// Which channels of a project are notified: not those that are disabled or wait for a confirmation, and a group only
// for as long as one of its members is.

type Channel = {
  uuid: string;
  kind: string;
  config: Readonly<Record<string, unknown>>;
  disabledAt: number | null;
};

export function usableChannels<C extends Channel>(
  channels: readonly C[],
  { isConfirmed }: { isConfirmed: (channel: C) => boolean },
): C[] {
  const single = channels.filter(
    (channel) => channel.disabledAt === null && channel.kind !== GROUP && isConfirmed(channel),
  );
  const uuids = new Set(single.map(({ uuid }) => uuid));
  const groups = channels.filter(
    (channel) =>
      channel.disabledAt === null &&
      channel.kind === GROUP &&
      membersOf(channel).some((member) => uuids.has(member)),
  );
  return [...single, ...groups];
}

/** What identifies an integration to the parameter. The name may be empty, and need not be unique. */
export type ChannelIdentity = { uuid: string; name: string };

/**
 * The UUIDs that `param` assigns, each once, in the order given: all for "*", none for "", otherwise a
 * comma-separated list of UUIDs and names, compared exactly. Reports the first item that does not match exactly one
 * integration.
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

// A request may repeat an item thousands of times, so items are looked up in maps.
function indexByIdentifier(channels: readonly ChannelIdentity[]): Map<string, ChannelIdentity | "several"> {
  const index = new Map<string, ChannelIdentity | "several">();
  for (const channel of channels) {
    for (const identifier of new Set([channel.uuid, channel.name])) {
      index.set(identifier, index.has(identifier) ? "several" : channel);
    }
  }
  return index;
}
