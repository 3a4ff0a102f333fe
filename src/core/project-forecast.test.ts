import { expect, test } from "vitest";
import { forecastWindow, surprisesOf } from "./forecast.ts";
import { FORECAST_ENTRIES_MAX } from "./limits.ts";
import { crowdEntries, entriesOf, type ForecastCheck, type IsMarked, worstOf } from "./project-forecast.ts";
import { allSteps } from "./steps.ts";

const WINDOW = forecastWindow(Date.UTC(2026, 10, 18, 12));
const never: IsMarked = () => false;

const check = (id: number, name: string, schedule: string, tz = "Europe/Riga"): ForecastCheck => ({
  id,
  uuid: `00000000-0000-4000-8000-00000000000${id}`,
  name,
  schedule,
  tz,
  durationMs: null,
});

const entries = (checks: readonly ForecastCheck[], isMarked = never) =>
  allSteps(
    entriesOf(
      checks.map((one) => ({ check: one, surprises: surprisesOf(one, WINDOW) })),
      { isMarked, window: WINDOW },
    ),
  ).entries;

test("checks with the same cause are one entry", () => {
  const [entry, ...more] = entries([
    check(1, "backup", "*-*-* 03:15"),
    check(2, "ledger", "*-*-* 03:30"),
    check(3, "thumbs", "*-*-* 03:15"),
  ]);
  expect(more).toEqual([]);
  expect(entry).toMatchObject({
    id: "missed|2027-03-28|Europe/Riga",
    title: "3 jobs do not run",
    why: "03:00 to 04:00 does not exist that night in Riga: clocks go forward. Overdue expects no ping then, and does not alert. backup, ledger and thumbs.",
    dates: ["2027-03-28"],
  });
  expect(entry?.fixes.map(({ kind, label }) => [kind, label])).toEqual([
    ["later", "Move to later"],
    ["utc", "Use UTC"],
  ]);
});

test.each([
  ["30 3 * * *", "job runs at 04:00 instead of 03:30", ["Move to 04:30", "Use UTC"]],
  ["*-*-* 03:30", "job does not run", ["Move to 04:30", "Use UTC"]],
  ["0 23 31 * *", "job does not run", ["Run on the last day"]],
  ["0 8 1-7 * 1", "job runs more often than it says", ["Run once a month"]],
  ["0 0 13 * 5", "job runs more often than it says", ["Run only if both match"]],
  ["2027-03-01 08:00", "job runs for the last time", []],
  ["2020-03-01 08:00", "job never runs again", []],
  ["*-02-30", "job never runs again", []],
])("%s: %s", (schedule, title, labels) => {
  const [entry] = entries([check(1, "job", schedule)]);
  expect(entry?.title).toBe(title);
  expect(entry?.fixes.map(({ label }) => label)).toEqual(labels);
  expect(entry?.why).toMatch(/\.$/);
});

test("runs that come twice are counted", () => {
  const twice = entries([check(1, "digest", "*/60 3 * * *")]).find(({ kind }) => kind === "repeated");
  expect(twice).toMatchObject({ title: "digest runs twice", count: 2 });
  const often = entries([check(1, "digest", "*/10 3 * * *")]).find(({ kind }) => kind === "repeated");
  expect(often?.title).toBe("digest runs 12 times instead of 6");
});

test("a month end has its days, and the months in words", () => {
  const [entry] = entries([check(1, "close", "0 23 31 * *")]);
  expect(entry?.dates).toEqual(["2026-11-30", "2027-02-28", "2027-04-30", "2027-06-30", "2027-09-30"]);
  expect(entry?.why).toBe(
    "`0 23 31 * *` asks for the 31st, which November, February, April, June and September do not have.",
  );
});

test("IDs do not depend on the time of day, or on other checks", () => {
  const of = (now: number) => {
    const window = forecastWindow(now);
    const one = check(1, "job", "0 8 1-7 * 1");
    const found = [{ check: one, surprises: surprisesOf(one, window) }];
    return allSteps(entriesOf(found, { isMarked: never, window })).entries[0]?.id;
  };
  expect(of(Date.UTC(2026, 10, 18))).toBe(of(Date.UTC(2027, 1, 3, 17, 22, 5)));
  const ids = (checks: ForecastCheck[]) => entries(checks).map(({ id }) => id);
  expect(ids([check(1, "a", "30 3 * * *")])).toEqual(
    ids([check(1, "a", "30 3 * * *"), check(2, "b", "15 3 * * *")]),
  );
});

test("a marked check is apart from the others", () => {
  const both = entries(
    [check(1, "a", "30 3 * * *"), check(2, "b", "30 3 * * *")],
    ({ checkId, kind, subject }) => checkId === 2 && kind === "moved" && subject === "Europe/Riga 30 3 * * *",
  );
  expect(both.map(({ isDismissed, checks }) => [isDismissed, checks.map(({ name }) => name)])).toEqual([
    [false, ["a"]],
    [true, ["b"]],
  ]);
});

test("crowded days name the jobs, and runs that are lost are worst", () => {
  const checks = new Map([1, 2, 3, 4, 5, 6, 7].map((id) => [id, check(id, `job-${id}`, "0 2 1 * *")]));
  const at = Date.UTC(2026, 11, 1);
  const [crowded] = crowdEntries([{ date: "2026-12-01", at, count: 7, usual: 1, ids: [...checks.keys()] }], {
    checks,
    zone: "Europe/Riga",
    isMarked: never,
  });
  expect(crowded).toMatchObject({
    id: "crowded|2026-12-01|02:00",
    title: "7 jobs start at 02:00",
    why: "job-1, job-2, job-3, job-4, job-5 and 2 more start in the same minute. On other days, at most 1 does.",
  });
  const lost = entries([check(1, "job", "*-*-* 03:30")]);
  expect(worstOf([...(crowded === undefined ? [] : [crowded]), ...lost])?.kind).toBe("missed");
  expect(worstOf([])).toBeNull();
});

test("only so many entries are listed, and the result says so", () => {
  const many = Array.from({ length: FORECAST_ENTRIES_MAX + 1 }, (_, index) =>
    check(index + 1, "job", `${index % 60} ${Math.floor(index / 60)} 1-7 * 1`, "UTC"),
  );
  const found = many.map((one) => ({ check: one, surprises: surprisesOf(one, WINDOW) }));
  const listed = (count: number) => {
    const { entries: some, isTruncated } = allSteps(
      entriesOf(found.slice(0, count), { isMarked: never, window: WINDOW }),
    );
    return [some.length, isTruncated];
  };
  expect(listed(FORECAST_ENTRIES_MAX)).toEqual([FORECAST_ENTRIES_MAX, false]);
  expect(listed(FORECAST_ENTRIES_MAX + 1)).toEqual([FORECAST_ENTRIES_MAX, true]);
});
