// The history of the timeline benchmark at its smallest: that it can be stored, and that the timeline shows it. What the
// benchmark measures in a browser is not measured here.
import { expect, test } from "vitest";
import { fillWithHistory } from "../bench/timeline/history.ts";
import { TIMELINE_SIZES } from "../bench/timeline/sizes.ts";
import { unpackMarks } from "../src/contract/api/timeline-marks.ts";
import { readTimeline } from "../src/services/api/timeline.ts";
import { readDatabaseClock } from "../src/store/instance.ts";
import { findProjectByUuid } from "../src/store/projects.ts";
import { useDatabase } from "./support/database.ts";

const database = useDatabase();

const RUN_MS_MAX = 120_000;

test(
  "the timeline shows the history of the benchmark as lanes and as rows",
  async () => {
    const { db } = database;
    const { checks, days } = TIMELINE_SIZES.small;
    const filled = await fillWithHistory(db, { checks, days });
    const project = await findProjectByUuid(db, filled.project);
    if (project === null) throw new Error("the project does not exist");
    const now = await readDatabaseClock(db);
    const read = (query: Parameters<typeof readTimeline>[0]["query"]) =>
      readTimeline({ context: { database: db }, project, query, now });
    const density = await read({});
    expect(density).toMatchObject({ mode: "density", total: checks, lanesFrom: "schedule" });
    const ran = density.lanes.flatMap((lane) => lane.ran).reduce((sum, count) => sum + count, 0);
    expect(ran).toBeGreaterThan(checks);
    expect(density.lanes.some(({ rows }) => rows.length > 0)).toBe(true);
    expect(await read({ range: "30d" })).toMatchObject({ mode: "density", lanesFrom: "days" });
    // The frequent checks.
    const rows = await read({ mode: "rows", range: "7d", tag: "prod" });
    const marks = rows.groups.flatMap((group) => group.rows).flatMap((row) => unpackMarks(rows, row));
    const kinds = new Set(marks.map(({ kind }) => kind));
    expect(kinds).toContain("ran");
    expect(kinds).toContain("failed");
    expect(kinds).toContain("ahead");
    expect(marks.some(({ kind, count }) => kind === "ran" && count > 1)).toBe(true);
  },
  RUN_MS_MAX,
);
