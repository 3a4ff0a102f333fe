// The time zones that forms offer. The list is the same for everyone until the program is replaced.
import type { Zones } from "../../../contract/web/zones.ts";
import { CURRENT_ZONE_NAMES, OFFERED_ZONE_NAMES, ZONE_NAMES } from "../../../core/schedule/zone-names.ts";

function readZones(): Zones {
  const zones = OFFERED_ZONE_NAMES.map((name) => ({
    name,
    formerly: ZONE_NAMES.filter((old) => CURRENT_ZONE_NAMES.get(old) === name),
  }));
  const offered = new Set(OFFERED_ZONE_NAMES);
  return { zones, others: ZONE_NAMES.filter((name) => !offered.has(name) && !CURRENT_ZONE_NAMES.has(name)) };
}

export const ZONES: Zones = readZones();
