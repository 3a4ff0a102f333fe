// An integration on the wire: its id, name and kind. What it needs to send holds secrets and is never shown.
import { type Static, Type } from "typebox";

export const ChannelSchema = Type.Object(
  {
    id: Type.String({ format: "uuid", description: "Identifier of the integration." }),
    name: Type.String({ description: "The name given in the dashboard; may be empty." }),
    kind: Type.String({ description: "Kind of integration, such as `email` or `sms`." }),
  },
  { additionalProperties: false },
);

export type Channel = Static<typeof ChannelSchema>;

export const ChannelListSchema = Type.Object(
  { channels: Type.Array(ChannelSchema) },
  { additionalProperties: false },
);

/** The integrations of a project as JSON, in the order in which they are given. */
export function presentChannels(
  channels: readonly { uuid: string; name: string; kind: string }[],
): Static<typeof ChannelListSchema> {
  return { channels: channels.map(({ uuid, name, kind }) => ({ id: uuid, name, kind })) };
}
