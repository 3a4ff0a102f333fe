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
    "Sends notifications to several channels of the project, including members that are disabled individually.",
  category: "automation",
  icon: null,
  example: null,
  guide: ["Select the channels to notify together. Then assign the group to checks instead of its members."],
  schema,
  // Each member is checked separately.
  isSubscribed: () => true,
  rate: null,
  send: async () => notTried("Notifications to a group are sent by its members"),
};
