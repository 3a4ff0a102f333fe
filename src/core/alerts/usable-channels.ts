// Which channels of a project are notified: not those that are disabled or wait for a confirmation, and a group only
// for as long as one of its members is.
import { GROUP, membersOf } from "./channel-request.ts";

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
