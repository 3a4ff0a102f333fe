// The changes of a project, as a stream (server-sent events) and by polling.
import { type Static, Type } from "typebox";
import { CheckRow, MonitoringGap } from "./overview.ts";
import { route } from "./route.ts";
import { nullable, Time, UuidText } from "./types.ts";

const ChecksEvent = Type.Object({
  checks: Type.Array(CheckRow, { description: "New and changed checks." }),
  removed: Type.Array(UuidText, { description: "Ids of checks that are no longer in the project." }),
  total: Type.Integer({
    description:
      "How many checks the project has. If you have another number, you missed a removal: list the checks again.",
  }),
});
export type ChecksEvent = Static<typeof ChecksEvent>;

const FlipEvent = Type.Object({
  id: Type.Integer({ description: "The same change may be sent twice; its id does not change." }),
  checkId: UuidText,
  checkName: Type.String(),
  from: Type.Enum(["new", "up", "down", "paused"]),
  to: Type.Enum(["up", "down"]),
  at: Time,
  reason: Type.Enum(["success", "fail", "timeout", "tooFast", "tooOften"]),
});
export type FlipEvent = Static<typeof FlipEvent>;

const DownEvent = Type.Object({ count: Type.Integer({ description: "How many checks are down." }) });
export type DownEvent = Static<typeof DownEvent>;

const MonitoringGapEvent = Type.Object({ monitoringGap: nullable(MonitoringGap) });
export type MonitoringGapEvent = Static<typeof MonitoringGapEvent>;

const ReloadEvent = Type.Object({ reason: Type.String() });
export type ReloadEvent = Static<typeof ReloadEvent>;

const LiveMessage = Type.Union([
  Type.Object({ name: Type.Literal("checks"), data: ChecksEvent }),
  Type.Object({ name: Type.Literal("flip"), data: FlipEvent }),
  Type.Object({ name: Type.Literal("down"), data: DownEvent }),
  Type.Object({ name: Type.Literal("monitoringGap"), data: MonitoringGapEvent }),
  Type.Object({ name: Type.Literal("reload"), data: ReloadEvent }),
]);
export type LiveMessage = Static<typeof LiveMessage>;

const ChangesPage = Type.Object({
  events: Type.Array(LiveMessage),
  cursor: Type.String({ description: "Send as `cursor` to get what happens after this response." }),
});
export type ChangesPage = Static<typeof ChangesPage>;

const LiveQuery = Type.Object({
  cursor: Type.Optional(
    Type.String({
      pattern: "^[0-9]{1,15}$",
      description: "The `cursor` of an overview or of earlier changes. Without it, changes begin now.",
    }),
  ),
});

const EVENTS = `| Event | Data |
|---|---|
| \`checks\` | New and changed checks, and ids of removed ones |
| \`flip\` | A check went down or came up |
| \`down\` | How many checks are down, when that may have changed |
| \`monitoringGap\` | The most recent monitoring gap has changed. Also sent once when a client continues from a cursor |
| \`reload\` | There are too many changes to send: get the overview or list the checks again |`;

export const liveRoutes = {
  listChanges: route({
    method: "GET",
    path: "/projects/{project}/changes",
    access: "view",
    keys: "readWrite",
    tag: "Live",
    summary: "List changes since a cursor",
    description: `Returns what has changed in a project since a cursor. Use it instead of the stream if you can't hold a connection open.\n\n${EVENTS}`,
    query: LiveQuery,
    success: { status: 200, description: "The changes.", schema: ChangesPage },
  }),
  streamChanges: route({
    method: "GET",
    path: "/projects/{project}/live",
    access: "view",
    keys: "readWrite",
    tag: "Live",
    summary: "Stream changes",
    description: `Streams the changes of a project as server-sent events. The data of each event is JSON.\n\n${EVENTS}
| \`heartbeat\` | Sent every 5 seconds. Reconnect if there is none for 12 seconds |

The id of an event is a cursor. A client that reconnects with it as \`Last-Event-ID\`, or as \`cursor\`, gets everything since; some events may be sent twice. An account or API key can have 20 open streams per server process.`,
    query: LiveQuery,
    success: {
      status: 200,
      description: "The stream. It ends when access ends, and when the server shuts down.",
      schema: Type.String(),
      type: "text/event-stream",
    },
  }),
} as const;
