// The forecast by the Overdue API: surprises, marks, fixes with stale requests, and calendar feeds. The tests run on any
// day of the year, so they do not name dates.
import { beforeEach, describe, expect, test } from "vitest";
import type { CheckForecast, Forecast, ForecastEntry } from "../../src/contract/api/forecast.ts";
import { API_PATH } from "../../src/contract/api/route.ts";
import { FORECAST_FEED_REQUESTS_PER_MINUTE } from "../../src/core/limits.ts";
import { deleteMember } from "../../src/store/projects.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { newCheck, readCheck } from "../management/asking.ts";
import type { Asked } from "../management/cast.ts";
import { type Browsing, useDashboard } from "../web/dashboard.ts";
import { askApi } from "./asking.ts";
import { parseCalendar } from "./strict-calendar.ts";

const at = useDashboard({ settings: { OVERDUE_API_RATE_LIMIT: "0" }, roles: ["web", "api", "ping"] });

const FORECAST = "/projects/{project}/forecast";
const ask = (path: string, given: Asked = {}) => askApi(at, path, { key: at.owner.rw, ...given });
const read = async () => (await ask(FORECAST)).json as unknown as Forecast;
const ofCheck = async (uuid: string) =>
  ((await ask(`/checks/${uuid}/forecast`)).json as unknown as CheckForecast).entries;
const intend = (body: object) => ask(`${FORECAST}/intended`, { method: "PUT", body });
const fix = (body: object) => ask(`${FORECAST}/fix`, { method: "POST", body });
const browse = (path: string, given: Browsing = {}) =>
  at.browse(`${API_PATH}/projects/${at.owner.project.uuid}/forecast${path}`, given);

/** Always has exactly one surprise, whatever the day. */
const EITHER = { name: "report", schedule: "0 8 1-7 * 1", tz: "Europe/Riga" };
const MONTH_END = { name: "close", schedule: "0 23 31 * *", tz: "Europe/Riga" };

/** The body of the first fix of an entry. */
function fixBody({ id, fixes: [first] }: ForecastEntry) {
  if (first === undefined) throw new Error("no fix");
  const changes = first.changes.map(({ check, newSchedule, newTz }) => ({ check, newSchedule, newTz }));
  return { entry: id, fix: first.kind, changes };
}

async function onlyEntry(): Promise<ForecastEntry> {
  const { entries } = await read();
  expect(entries).toHaveLength(1);
  const [entry] = entries;
  if (entry === undefined) throw new Error("no entry");
  return entry;
}

beforeEach(async () => {
  await at.db.pool.query("delete from checks where project_id = $1", [at.owner.project.id]);
  await at.db.pool.query("delete from forecast_marks");
});

describe("reading", () => {
  test("a project without surprises has none, and one with simple checks has no schedules", async () => {
    expect(await read()).toMatchObject({ checkCount: 0, total: 0, entries: [], crowd: null, worst: null });
    await newCheck(at, { timeout: 3_600 });
    await newCheck(at, { schedule: "*/5 * * * *", tz: "Europe/Riga" });
    expect(await read()).toMatchObject({ checkCount: 1, total: 0, entries: [] });
  });

  test("surprises are listed with their reason and their fixes", async () => {
    const { uuid } = await newCheck(at, EITHER);
    const entry = await onlyEntry();
    expect(entry).toMatchObject({
      id: "either|Europe/Riga 0 8 1-7 * 1",
      kind: "either",
      title: "report runs more often than it says",
      checks: [{ id: uuid, name: "report" }],
      isIntended: false,
    });
    expect(entry.fixes).toMatchObject([
      { kind: "nth", changes: [{ check: uuid, schedule: "0 8 1-7 * 1", newSchedule: "0 8 * * 1#1" }] },
    ]);
    expect(await ofCheck(uuid)).toEqual([entry]);
  });

  test("months without the day are one entry with several days", async () => {
    await newCheck(at, MONTH_END);
    const { entries, total, worst } = await read();
    expect(entries).toHaveLength(1);
    expect(entries[0]?.dates.length).toBeGreaterThanOrEqual(5);
    expect(total).toBe(entries[0]?.dates.length);
    expect(worst).toBe(entries[0]?.id);
  });

  test("a change of a schedule is seen at once", async () => {
    const { uuid } = await newCheck(at, EITHER);
    expect((await read()).total).toBe(1);
    await ask(`/checks/${uuid}`, { method: "PATCH", body: { schedule: "0 8 * * 1" } });
    expect((await read()).total).toBe(0);
    expect(await ofCheck(uuid)).toEqual([]);
  });

  test("a read-only key sees no IDs of checks", async () => {
    await newCheck(at, EITHER);
    const { json, text } = await askApi(at, FORECAST, { key: at.owner.ro });
    const [entry] = (json as unknown as Forecast).entries;
    expect(entry?.checks).toMatchObject([{ id: null }]);
    expect(entry?.fixes[0]?.changes).toMatchObject([{ check: null }]);
    expect(text).not.toContain(String((await onlyEntry()).checks[0]?.id));
  });

  test("a crowded minute has a plan that can be applied", async () => {
    for (let index = 0; index < 9; index += 1) {
      await newCheck(at, { name: `job-${index}`, schedule: "0 2 * * *", tz: "UTC" });
    }
    const { crowd } = await read();
    expect(crowd).toMatchObject({ time: "02:00", count: 9, isIntended: false });
    expect(crowd?.changes).toHaveLength(6);
    const changes =
      crowd?.changes.map(({ check, newSchedule, newTz }) => ({ check, newSchedule, newTz })) ?? [];
    const request = { entry: "crowd", fix: "spread", changes };
    const wrong = changes.map((change) => ({ ...change, newSchedule: "0 9 * * *" }));
    expect((await fix({ ...request, changes: wrong })).status).toBe(409);
    expect((await fix(request)).json).toMatchObject({ changed: 6 });
    expect((await read()).crowd).toBeNull();
  });
});

describe("marking as intended", () => {
  test("an entry is apart afterwards, until it is undone or the schedule changes", async () => {
    const { uuid } = await newCheck(at, EITHER);
    const { id } = await onlyEntry();
    for (let time = 0; time < 2; time += 1) {
      expect((await intend({ entry: id, isIntended: true })).status).toBe(204);
      expect(await read()).toMatchObject({ total: 0, entries: [], intended: [{ id, isIntended: true }] });
    }
    expect(await ofCheck(uuid)).toMatchObject([{ id, isIntended: true }]);
    expect((await intend({ entry: id, isIntended: false })).status).toBe(204);
    expect(await read()).toMatchObject({ total: 1, intended: [] });
    await intend({ entry: id, isIntended: true });
    await ask(`/checks/${uuid}`, { method: "PATCH", body: { schedule: "0 9 1-7 * 1" } });
    expect(await read()).toMatchObject({ total: 1, intended: [] });
  });

  test("one of two checks can be marked", async () => {
    const { uuid } = await newCheck(at, EITHER);
    await newCheck(at, { ...EITHER, name: "other" });
    const { id } = await onlyEntry();
    expect((await intend({ entry: id, check: uuid, isIntended: true })).status).toBe(204);
    expect(await read()).toMatchObject({
      entries: [{ id, checks: [{ name: "other" }] }],
      intended: [{ id, checks: [{ name: "report" }] }],
    });
  });

  test("an entry that is gone is answered with 409", async () => {
    const { status, detail } = await intend({ entry: "either|UTC 0 8 1-7 * 1", isIntended: true });
    expect([status, detail]).toEqual([
      409,
      "This surprise no longer exists, because a schedule was changed. Reload the page.",
    ]);
  });

  test("the crowded minute can be fine", async () => {
    for (let index = 0; index < 6; index += 1) await newCheck(at, { schedule: "0 2 * * *", tz: "UTC" });
    expect((await intend({ entry: "crowd", isIntended: true })).status).toBe(204);
    expect((await read()).crowd?.isIntended).toBe(true);
  });
});

describe("fixing", () => {
  test("changes the schedule with an audit entry, and can be undone", async () => {
    const { uuid } = await newCheck(at, EITHER);
    const { status, json } = await fix(fixBody(await onlyEntry()));
    expect([status, json["changed"]]).toEqual([200, 1]);
    expect(await readCheck(at, uuid)).toMatchObject({ schedule: "0 8 * * 1#1", tz: "Europe/Riga" });
    const { rows } = await at.db.pool.query<{ what: string }>(
      "select what from audit_entries where project_id = $1 order by id desc limit 1",
      [at.owner.project.id],
    );
    expect(rows).toEqual([{ what: "check.changed" }]);
    const undone = await ask("/projects/{project}/checks/schedules", {
      method: "POST",
      body: { groups: json["previous"], version: json["version"] },
    });
    expect(undone.status).toBe(200);
    expect(await readCheck(at, uuid)).toMatchObject({ schedule: EITHER.schedule });
  });

  test("the same request again changes nothing, also at the same time", async () => {
    await newCheck(at, EITHER);
    const body = fixBody(await onlyEntry());
    const replies = await Promise.all([fix(body), fix(body), fix(body)]);
    expect(replies.map(({ status }) => status).filter((status) => status !== 200 && status !== 409)).toEqual(
      [],
    );
    expect(replies.map(({ json }) => json["changed"]).filter((changed) => changed === 1)).toHaveLength(1);
    const again = await fix(body);
    expect([again.status, again.json["changed"]]).toEqual([200, 0]);
  });

  test("a page that is out of date is answered with 409, and nothing changes", async () => {
    const { uuid } = await newCheck(at, EITHER);
    const kept = await newCheck(at, EITHER);
    const body = fixBody(await onlyEntry());
    await ask(`/checks/${uuid}`, { method: "PATCH", body: { schedule: "0 9 1-7 * 1" } });
    const { status, detail } = await fix(body);
    expect([status, detail]).toEqual([
      409,
      "The schedule of a check was changed since this page was loaded. Reload the page.",
    ]);
    expect(await readCheck(at, kept.uuid)).toMatchObject({ schedule: EITHER.schedule });
    await ask(`/checks/${uuid}`, { method: "DELETE" });
    expect((await fix(body)).status).toBe(409);
  });

  test("only what the forecast offers can be applied", async () => {
    const { uuid } = await newCheck(at, EITHER);
    const { id } = await onlyEntry();
    const change = { check: uuid, newSchedule: "0 8 * * 2", newTz: "Europe/Riga" };
    expect((await fix({ entry: id, fix: "nth", changes: [change] })).status).toBe(409);
    const simple = await newCheck(at, { timeout: 3_600 });
    expect((await fix({ entry: id, fix: "nth", changes: [{ ...change, check: simple.uuid }] })).status).toBe(
      409,
    );
    expect((await fix({ entry: id, fix: "nth", changes: [] })).status).toBe(400);
  });

  test("a check of another project is not changed", async () => {
    await newCheck(at, EITHER);
    const { status } = await askApi(at, FORECAST.replace("{project}", at.stranger.project.uuid) + "/fix", {
      method: "POST",
      key: at.stranger.rw,
      body: fixBody(await onlyEntry()),
    });
    expect(status).toBe(409);
  });
});

describe("the calendar feed", () => {
  const create = async () => {
    const { status, json } = await browse("/feed", { method: "POST" });
    expect(status).toBe(201);
    return new URL((json as { url: string }).url).pathname;
  };

  test("is valid, has stable events, and an entity tag", async () => {
    await newCheck(at, {
      ...MONTH_END,
      name: "Monats\u00adabschluß, Überträge; \\ und noch viel mehr Text, damit gefaltet wird 🦉",
    });
    const path = await create();
    const reply = await at.ask(path);
    expect([reply.status, reply.headers.get("content-type")]).toEqual([200, "text/calendar; charset=utf-8"]);
    const events = parseCalendar(reply.bytes);
    const { entries } = await read();
    expect(events.map(({ date }) => date)).toEqual(entries[0]?.dates);
    expect(events[0]?.summary).toBe(entries[0]?.title);
    expect(new Set(events.map(({ uid }) => uid)).size).toBe(events.length);
    const again = await at.ask(path);
    expect(again.text).toBe(reply.text);
    const tag = reply.headers.get("etag") ?? "";
    expect((await at.ask(path, { headers: { "If-None-Match": tag } })).status).toBe(304);
    expect((await at.ask(path, { method: "HEAD" })).text).toBe("");
    expect((await at.ask(path, { method: "POST" })).status).toBe(405);
  });

  test("has no events that are intended", async () => {
    await newCheck(at, MONTH_END);
    const path = await create();
    const { id } = await onlyEntry();
    await intend({ entry: id, isIntended: true });
    expect(parseCalendar((await at.ask(path)).bytes)).toEqual([]);
  });

  test("stops when it is replaced or revoked, and the token is not stored", async () => {
    const first = await create();
    const second = await create();
    expect((await at.ask(first)).status).toBe(404);
    expect((await at.ask(second)).status).toBe(200);
    const { rows } = await at.db.pool.query<{ row: string }>(
      "select forecast_feeds::text as row from forecast_feeds",
    );
    const token = second.slice("/calendar/".length, -".ics".length);
    expect(JSON.stringify(rows)).not.toContain(token);
    expect(JSON.stringify(rows)).not.toContain(Buffer.from(token).toString("hex"));
    expect(((await browse("")).json as Forecast).feedCreatedAt).not.toBeNull();
    expect((await browse("/feed", { method: "DELETE" })).status).toBe(204);
    expect((await browse("/feed", { method: "DELETE" })).status).toBe(204);
    expect((await at.ask(second)).status).toBe(404);
    expect((await at.ask("/calendar/unknown.ics")).status).toBe(404);
  });

  test("stops when its owner is no longer a member", async () => {
    const as = at.mate.account;
    const { json } = await browse("/feed", { method: "POST", as });
    const path = new URL((json as { url: string }).url).pathname;
    expect((await at.ask(path)).status).toBe(200);
    await inTransaction(at.db, (tx) =>
      deleteMember(tx, { projectId: at.owner.project.id, accountId: as.id }),
    );
    expect((await at.ask(path)).status).toBe(404);
  });

  test("is not there for API keys", async () => {
    expect((await ask(`${FORECAST}/feed`, { method: "POST" })).status).toBe(403);
  });

  // The last test, as the others need permits as well.
  test("limits requests from one network", async () => {
    let last = await at.ask("/calendar/unknown.ics");
    // More than the limit, because permits are added while a slow machine sends the requests.
    for (let n = 0; n < 10 * FORECAST_FEED_REQUESTS_PER_MINUTE && last.status === 404; n += 1) {
      last = await at.ask("/calendar/unknown.ics");
    }
    expect([last.status, last.text.trim()]).toEqual([429, "Too many requests. Try again in a minute."]);
    expect(Number(last.headers.get("retry-after"))).toBeGreaterThan(0);
  });
});
