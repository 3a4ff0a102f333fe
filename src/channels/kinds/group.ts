// A group of channels: whoever tells the group tells each of its members. Deliveries are written for the members, each
// with its own tries and result, so that a group itself never sends.
import type { Static } from "typebox";
import type { ChannelKind } from "../channel-kind.ts";
import { configSchema, uuidsField } from "../config/config-fields.ts";
import { notTried } from "../http-sending.ts";

const MEMBERS_MAX = 100;

const schema = configSchema({
  members: uuidsField({
    about: "The UUIDs of channels of the same project that are no groups themselves.",
    countMax: MEMBERS_MAX,
  }),
});

type Config = Static<typeof schema>;

export const group: ChannelKind<Config> = {
  name: "group",
  title: "Group",
  about:
    "Passes messages on to other channels of the project. A member that is disabled by itself still hears of them.",
  schema,
  // Each member is asked by itself.
  hears: () => true,
  rate: null,
  send: async () => notTried("A group is told through its members"),
};
