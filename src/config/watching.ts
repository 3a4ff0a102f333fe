// The settings of who watches Overdue itself: whom it calls while all is well, and whom it tells when it is not.
import { optionalSetting } from "./setting.ts";
import { calledAddressKind, uuidKind } from "../lib/setting-value.ts";

export const WATCHING_SETTINGS = {
  heartbeatUrl: optionalSetting({
    key: "OVERDUE_HEARTBEAT_URL",
    group: "Monitoring Overdue",
    kind: calledAddressKind,
    fallbackMeans: "none; no external service detects when this server stops working",
    secret: true,
    meaning:
      "A URL that the sweeper requests every minute while deadlines are checked, pings are recorded, and notifications are sent. Use the ping URL of a check on another Overdue server or another monitoring service. It may be on a private network. Requests go through OVERDUE_OUTGOING_PROXY if it is set.",
    example: "https://ping.example.org/the-id-of-a-check-there",
  }),
  adminChannel: optionalSetting({
    key: "OVERDUE_ADMIN_CHANNEL",
    group: "Monitoring Overdue",
    kind: uuidKind,
    fallbackMeans: "none; health problems appear only in the log, the metrics, and the dashboard",
    secret: false,
    meaning:
      "The UUID of a channel, in any project, that is notified when the server has a health problem, and again when the problem is resolved.",
    example: "6f1c9a52-8d0b-4f3e-9a57-2c4d6e8f0a1b",
    aliases: ["OVERDUE_OPERATOR_CHANNEL"],
  }),
} as const;
