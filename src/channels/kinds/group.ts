// A group of channels. Deliveries are created for its members, each with its own attempts and result, so a group never sends.
import type { Static } from "typebox";
import type { ChannelKind } from "../channel-kind.ts";
import { configSchema, uuidsField } from "../config-fields.ts";
import { notTried } from "../http-request.ts";

const MEMBERS_MAX = 100;

const schema = configSchema({
  members: uuidsField({
    about: "UUIDs of the member channels. They must belong to the same project and cannot be groups.",
    countMax: MEMBERS_MAX,
  }),
});

type Config = Static<typeof schema>;

export const group: ChannelKind<Config> = {
  name: "group",
  title: "Group",
  about:
    "Sends messages to several channels in the project, including members that are individually disabled.",
  category: "automation",
  icon: null,
  guide: ["Select the channels that are notified together."],
  schema,
  // Each member is checked separately.
  isSubscribed: () => true,
  rate: null,
  send: async () => notTried("Messages to a group are sent through its members"),
};
