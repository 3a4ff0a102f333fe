// What people do with incidents: acknowledging, taking it back, resolving, notes, and who did it.
import { beforeEach, describe, expect, test } from "vitest";
import { AppError } from "../../src/core/errors.ts";
import { MINUTE_MS } from "../../src/core/instant.ts";
import {
  acknowledgeIncident,
  acknowledgeIncidents,
  addNote,
  getIncident,
  listIncidents,
  resolveIncident,
  unacknowledgeIncident,
  type WholeIncident,
} from "../../src/operations/incidents.ts";
import { listAuditEntries } from "../../src/store/audit.ts";
import type { CheckWithState } from "../../src/store/checks.ts";
import { useDatabase } from "../support/database.ts";
import { type SampleIncident, sampleIncident } from "../support/incidents.ts";
import { MONDAY_NOON as NOON, sampleAccount, sampleProject } from "../support/sample.ts";
import { makeWatched, sightUntil, storedRow } from "../support/sweeping.ts";

const database = useDatabase();
const LATER = NOON + MINUTE_MS;

let projectId: number;
let by: { accountId: number; keyId: null };
let checks: CheckWithState[];
let incident: SampleIncident;

beforeEach(async () => {
  projectId = (await sampleProject(database.db)).id;
  by = { accountId: (await sampleAccount(database.db)).id, keyId: null };
  checks = [];
  for (const name of ["one", "two"]) {
    const state = { status: "down", lastPingAt: NOON - MINUTE_MS } as const;
    checks.push(await makeWatched(database, { projectId, channels: [] }, { settings: { name }, state }));
  }
  incident = await sampleIncident(database.db, { projectId, checkIds: checks.map(({ id }) => id) });
});

const named = (at = LATER) => ({ projectId, number: incident.number, by, at });
const read = (): Promise<WholeIncident> => getIncident(database.db, { projectId, number: incident.number });
const kinds = async () => (await read()).events.map(({ kind }) => kind);
const resolved = (at = LATER) => resolveIncident(database.db, { ...named(at), visibility: sightUntil(at) });

describe("acknowledging", () => {
  test("says who and when, and is written once", async () => {
    await acknowledgeIncident(database.db, named());
    await acknowledgeIncident(database.db, named(LATER + 1));
    const actor = { accountId: by.accountId, channelId: null };
    expect(await read()).toMatchObject({
      state: "acknowledged",
      acknowledged: { at: LATER, by: actor },
      events: [{ kind: "acknowledged", at: LATER, by: actor }],
    });
  });

  test("at the same time happens once", async () => {
    const times = Array.from({ length: 8 }, (_, n) => LATER + n);
    await Promise.all(times.map((at) => acknowledgeIncident(database.db, named(at))));
    expect(await kinds()).toEqual(["acknowledged"]);
  });

  test("can be taken back", async () => {
    await acknowledgeIncident(database.db, named());
    await unacknowledgeIncident(database.db, named(LATER + 1));
    await unacknowledgeIncident(database.db, named(LATER + 2));
    expect(await read()).toMatchObject({ state: "open", acknowledged: null });
    expect(await kinds()).toEqual(["acknowledged", "unacknowledged"]);
  });

  test("of a resolved incident has no effect", async () => {
    await resolved();
    await acknowledgeIncident(database.db, named(LATER + 1));
    expect(await read()).toMatchObject({ state: "resolved", acknowledged: null });
    expect(await kinds()).toEqual(["resolved"]);
  });

  test("of one that does not exist, or is of another project, is an error", async () => {
    const other = await sampleProject(database.db);
    for (const wrong of [{ number: 99 }, { projectId: other.id }]) {
      for (const change of [acknowledgeIncident, unacknowledgeIncident]) {
        await expect(change(database.db, { ...named(), ...wrong })).rejects.toThrow(AppError);
      }
    }
    expect(await kinds()).toEqual([]);
  });

  test("several, by number or by check, skips what is unknown or acknowledged", async () => {
    const more = await sampleIncident(database.db, { projectId, checkIds: [] });
    const chosen = { projectId, by, at: LATER };
    const uuids = [checks[0]?.uuid ?? ""];
    expect(await acknowledgeIncidents(database.db, { ...chosen, chosen: { checkUuids: uuids } })).toEqual([
      incident.number,
    ]);
    const numbers = [incident.number, more.number, 99];
    expect(await acknowledgeIncidents(database.db, { ...chosen, chosen: { numbers } })).toEqual([
      more.number,
    ]);
    expect(await acknowledgeIncidents(database.db, { ...chosen, chosen: { numbers } })).toEqual([]);
  });
});

describe("resolving", () => {
  test("closes the alerts, and leaves the checks down", async () => {
    await resolved();
    await resolved(LATER + 1);
    expect(await read()).toMatchObject({
      state: "resolved",
      resolvedAt: LATER,
      openCount: 0,
      checkCount: 2,
      alerts: [1, 2].map(() => ({ closed: { at: LATER, cause: "resolved" } })),
      events: [{ kind: "resolved", by: { accountId: by.accountId, channelId: null } }],
    });
    for (const { id } of checks) {
      // The next missed run is noticed.
      expect(await storedRow(database, id)).toMatchObject({ status: "down", down_at: expect.any(Number) });
    }
    const [entry] = await listAuditEntries(database.db, {
      projectId,
      beforeId: Number.MAX_SAFE_INTEGER,
      limit: 1,
    });
    expect(entry).toMatchObject({ what: "incident.resolved", subject: `#${incident.number}` });
  });

  test("also works if its checks were deleted", async () => {
    await database.db.pool.query("delete from checks where project_id = $1", [projectId]);
    await resolved();
    expect(await read()).toMatchObject({ state: "resolved", checks: [], openCount: 0 });
  });

  test("many checks takes several transactions", async () => {
    await database.db.pool.query(
      `insert into alerts (check_id, incident_id, cause, opened_at, opened_flip_id, planned_at, plan_at)
        select -n, $1, 'missed', now(), 1, now(), now() from generate_series(1, 450) as n`,
      [incident.id],
    );
    await resolved();
    expect(await read()).toMatchObject({ state: "resolved", checkCount: 452, openCount: 0 });
    expect((await read()).alerts).toHaveLength(200);
    expect(await kinds()).toEqual(["resolved"]);
  });
});

describe("notes", () => {
  test("are part of the timeline", async () => {
    const note = await addNote(database.db, { ...named(), text: " The disk is full.\n" });
    expect(note).toMatchObject({ at: LATER, text: "The disk is full." });
    expect((await read()).events).toMatchObject([{ id: note.id, kind: "note", text: "The disk is full." }]);
  });

  test("have a length and a number", async () => {
    const add = (text: string) => addNote(database.db, { ...named(), text });
    await add("🙂".repeat(2_000));
    await expect(async () => add("x".repeat(2_001))).rejects.toThrow("at most 2000 characters");
    await expect(async () => add(" \n")).rejects.toThrow("Enter a note");
    await database.db.pool.query(
      `insert into incident_events (incident_id, at, kind, detail)
        select $1, now(), 'note', '{}' from generate_series(1, 99)`,
      [incident.id],
    );
    await expect(add("one more")).rejects.toThrow("at most 100 notes");
  });
});

test("a page of the list has the first checks, and says where the next one begins", async () => {
  const more = await sampleIncident(database.db, { projectId, checkIds: [] });
  const page = await listIncidents(database.db, { projectId, state: "all", before: null, limit: 1 });
  expect(page).toMatchObject({
    incidents: [{ number: more.number, cause: null, checks: [] }],
    counts: { open: 2, acknowledged: 0 },
    next: more.number,
  });
  const last = await listIncidents(database.db, { projectId, state: "all", before: page.next, limit: 1 });
  expect(last).toMatchObject({ incidents: [{ checks: [{ name: "one" }, { name: "two" }] }], next: null });
});
