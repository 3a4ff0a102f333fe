// The time zones that a form offers.

export type ZoneChoice = {
  name: string;
  /** Older names of the same place: found by a search, accepted, and not offered. */
  formerly: string[];
};

export type Zones = {
  zones: ZoneChoice[];
  /** Accepted and found by a search, and not offered: names without a place, such as Etc/GMT+5. */
  others: string[];
};
