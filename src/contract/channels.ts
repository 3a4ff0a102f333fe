// Integrations of the Management API: id, name, and kind. Their configurations hold secrets and are not shown.
import { type Static, Type } from "typebox";

export const ListedChannelSchema = Type.Object(
  {
    id: Type.String({ format: "uuid", description: "Identifier of the integration." }),
    name: Type.String({ description: "The name given in the dashboard; may be empty." }),
    kind: Type.String({ description: "Kind of integration, such as `email` or `sms`." }),
  },
  { additionalProperties: false },
);

export type ListedChannel = Static<typeof ListedChannelSchema>;

export const ListedChannelListSchema = Type.Object(
  { channels: Type.Array(ListedChannelSchema) },
  { additionalProperties: false },
);

/** The integrations of a project as JSON, in the given order. */
export function presentChannels(
  channels: readonly { uuid: string; name: string; kind: string }[],
): Static<typeof ListedChannelListSchema> {
  return { channels: channels.map(({ uuid, name, kind }) => ({ id: uuid, name, kind })) };
}
