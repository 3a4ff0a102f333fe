// The settings of who watches Overdue itself: whom it calls while all is well, and whom it tells when it is not.
import { optionalSetting } from "./setting.ts";
import { calledAddressKind, uuidKind } from "../lib/setting-value.ts";

export const WATCHING_SETTINGS = {
  heartbeatUrl: optionalSetting({
    key: "OVERDUE_HEARTBEAT_URL",
    group: "Watching Overdue",
    kind: calledAddressKind,
    fallbackMeans: "none; nobody outside notices when this installation stands still",
    secret: true,
    meaning:
      "An address that the sweeper calls each minute, and only while deadlines are looked at, the watermark moves and messages leave. Let another installation, or another service, expect it. It may lie in your own network, and is called through OVERDUE_OUTGOING_PROXY if that is set.",
    example: "https://ping.example.org/the-id-of-a-check-there",
  }),
  operatorChannel: optionalSetting({
    key: "OVERDUE_OPERATOR_CHANNEL",
    group: "Watching Overdue",
    kind: uuidKind,
    fallbackMeans: "none; troubles are only logged and counted",
    secret: false,
    meaning:
      "The UUID of a channel, in whatever project, that is told when something is the matter with the installation itself, and when it is over.",
    example: "6f1c9a52-8d0b-4f3e-9a57-2c4d6e8f0a1b",
  }),
} as const;
