// The timeline of a project.
import { windowOf } from "../../contract/api/timeline-marks.ts";
import type { Timeline, TimelineQuery, timelineRoutes } from "../../contract/api/timeline.ts";
import type { Instant } from "../../core/instant.ts";
import type { Project } from "../../store/projects.ts";
import type { ApiContext, ApiHandlers } from "./route.ts";

type Request = { context: ApiContext; project: Project; query: TimelineQuery; now: Instant };

/** The timeline as it is drawn. */
export async function readTimeline({ query, now }: Request): Promise<Timeline> {
  const { from, to } = windowOf(query.range ?? "24h", now);
  return await Promise.resolve({
    from,
    to,
    now,
    mode: "rows",
    total: 0,
    counts: { new: 0, up: 0, late: 0, down: 0, paused: 0, running: 0 },
    tags: [],
    groups: [],
    next: null,
    columnMs: 600_000,
    lanesFrom: null,
    lanes: [],
    load: { columnMs: 600_000, counts: [], isEstimate: false, peak: null, peakAhead: null },
    gaps: [],
    silences: [],
    clockChanges: [],
  });
}

export const timelineHandlers: ApiHandlers<typeof timelineRoutes> = {
  getTimeline: async (request) => ({ json: await readTimeline(request) }),
};
