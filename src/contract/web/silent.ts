// GET /web/api/projects/:project/silent: the checks that are down without any channel being notified.

export type SilentChecks = {
  /** How many are down and have no channel in use. */
  downCount: number;
  /** Their ids, at most a bulk change of them. */
  downIds: string[];
  /** The channels of the project that are in use, to be assigned to them. */
  channels: { id: string; name: string }[];
};
