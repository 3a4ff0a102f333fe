// The retention periods, made from the settings.
import type { RetentionDays } from "../core/retention.ts";
import type { Config } from "./config.ts";

/** The retention periods that settings can change. */
export function retentionOf(config: Config): RetentionDays {
  return {
    ping: config.pingRetentionDays,
    flip: config.flipRetentionDays,
    event: config.eventRetentionDays,
    delivery: config.deliveryRetentionDays,
    auditEntry: config.auditRetentionDays,
  };
}
