// One check with everything that its page shows.
import { type Static, Type } from "typebox";
import { CheckSettings } from "./checks.ts";
import { Availability, Flip } from "./history.ts";
import { CheckRow } from "./overview.ts";
import { route } from "./route.ts";
import { nullable, Time, UuidText } from "./types.ts";

export const Expectation = Type.Object({
  sentence: Type.String({ description: "Such as `At 03:00 every day, Europe/Riga time.`" }),
  nextAt: Type.Array(Time, {
    description:
      "The next expected times, at most ten. Empty for a check without a schedule that has no ping yet.",
  }),
});
export type Expectation = Static<typeof Expectation>;

export const UsualDuration = Type.Object({
  count: Type.Integer(),
  lowMs: Type.Integer(),
  highMs: Type.Integer(),
  medianMs: Type.Integer(),
  p95Ms: Type.Integer(),
});
export type UsualDuration = Static<typeof UsualDuration>;

export const CheckChannel = Type.Object({
  id: UuidText,
  kind: Type.String(),
  name: Type.String({ description: "The name, or a description of a channel without a name." }),
  isOn: Type.Boolean({ description: "Whether this check notifies the channel." }),
  disabledReason: nullable(Type.String(), "Why the channel is disabled. Null if it is enabled."),
});
export type CheckChannel = Static<typeof CheckChannel>;

export const CheckPage = Type.Object({
  projectId: UuidText,
  row: CheckRow,
  settings: CheckSettings,
  version: Type.Integer({
    description: "The version of the settings. Send it with a change to be warned of concurrent changes.",
  }),
  readAt: Time,
  createdAt: Time,
  pingCount: Type.Integer(),
  quarantinedCount: Type.Integer({
    description: "Number of pings that were received but could not be stored. They raise no alerts.",
  }),
  lastSuccessAt: nullable(Time, "Null if there was none, or it is no longer stored."),
  hasSucceeded: Type.Boolean({ description: "Whether there was ever a success." }),
  pingAddresses: Type.Object({
    url: Type.String(),
    slugUrl: nullable(
      Type.String(),
      "By ping key and slug. Null if the project has no ping key, the slug is empty or not unique, or you may not manage keys.",
    ),
    email: nullable(Type.String(), "Null if the server does not receive email."),
  }),
  expectation: Expectation,
  ...Availability.properties,
  usual: nullable(UsualDuration, "The usual duration of runs."),
  channels: Type.Array(CheckChannel, { description: "All channels of the project." }),
  lastFlip: nullable(Flip, "The last status change."),
  missedAt: nullable(
    Time,
    "When the ping was expected whose absence caused the check to be down. Null if it is not down, or for another reason.",
  ),
});
export type CheckPage = Static<typeof CheckPage>;

export const checkPageRoutes = {
  getCheck: route({
    method: "GET",
    path: "/checks/{check}",
    access: "view",
    keys: "readWrite",
    tag: "Checks",
    summary: "Get a check",
    description: "Returns a check with its settings, ping URLs, schedule, availability, and channels.",
    success: { status: 200, description: "The check.", schema: CheckPage },
    etag: true,
  }),
};
