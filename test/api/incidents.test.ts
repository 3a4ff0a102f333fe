// Incidents by API: who sees which names, and what the answers contain.
import { beforeEach, describe, expect, test } from "vitest";
import type { Incident, IncidentList, IncidentNote } from "../../src/contract/api/incidents.ts";
import { useCast } from "../management/cast.ts";
import { type SampleIncident, sampleIncident } from "../support/incidents.ts";
import { sampleCheck } from "../support/sample.ts";
import { askApi } from "./asking.ts";

const cast = useCast({ roles: ["api"], settings: { OVERDUE_API_RATE_LIMIT: "0" } });

let incident: SampleIncident;
let check: { id: number; uuid: string };

beforeEach(async () => {
  const { id: projectId } = cast.owner.project;
  await cast.db.pool.query("truncate incidents, alerts, incident_events cascade");
  check = await sampleCheck(cast.db, { projectId, name: "Nightly backup", tags: "prod db" });
  incident = await sampleIncident(cast.db, { projectId, checkIds: [check.id] });
});

const ask = (path: string, given: { key?: string; body?: unknown; method?: string } = {}) =>
  askApi(cast, `/projects/{project}/incidents${path}`, { key: cast.owner.rw, ...given });
const list = async (query = "", key = cast.owner.rw) =>
  (await ask(query, { key })).json as unknown as IncidentList;
const post = async (path: string, body?: unknown, key = cast.owner.rw) =>
  ask(path, { method: "POST", body, key });
const change = async (action: string) =>
  (await post(`/${incident.number}/${action}`)).json as unknown as Incident;

describe("the list", () => {
  test("has what a row of the page shows", async () => {
    expect(await list()).toEqual({
      incidents: [
        {
          number: incident.number,
          cause: "missed",
          checks: [{ id: check.uuid, name: "Nightly backup" }],
          checkCount: 1,
          openCount: 1,
          key: null,
          state: "open",
          severity: "normal",
          openedAt: Date.UTC(2026, 10, 16, 12),
          acknowledged: null,
          resolvedAt: null,
          reopenCount: 0,
          isFlapping: false,
          nextStep: null,
          tags: ["prod", "db"],
        },
      ],
      counts: { open: 1, acknowledged: 0 },
      next: null,
    });
  });

  test("is by state and page", async () => {
    const { id: projectId } = cast.owner.project;
    const newer = await sampleIncident(cast.db, { projectId, checkIds: [] });
    await change("resolve");
    const numbers = async (query: string) => (await list(query)).incidents.map(({ number }) => number);
    expect(await numbers("")).toEqual([newer.number]);
    expect(await numbers("?state=resolved")).toEqual([incident.number]);
    expect(await numbers("?state=all")).toEqual([newer.number, incident.number]);
    const first = await list("?state=all&limit=1");
    expect(first.next).toBe(String(newer.number));
    expect(await numbers(`?state=all&limit=1&cursor=${first.next}`)).toEqual([incident.number]);
  });

  test("says what its checks have in common", async () => {
    const { id: projectId } = cast.owner.project;
    for (const key of ["source:192.0.2.7", "tag:db", "project", "weather:rain"]) {
      await sampleIncident(cast.db, { projectId, checkIds: [], key });
    }
    const child = await sampleCheck(cast.db, { projectId });
    const gateway = await sampleCheck(cast.db, { projectId, name: "Gateway" });
    await sampleIncident(cast.db, { projectId, checkIds: [gateway.id, child.id] });
    const keys = (await list()).incidents.map(({ key }) => key).toReversed();
    expect(keys).toEqual([
      null,
      { kind: "source", value: "192.0.2.7" },
      { kind: "tag", value: "db" },
      { kind: "project", value: "Project of the owner" },
      null,
      { kind: "parent", value: "Gateway" },
    ]);
  });

  test("says what comes next, unless that is due", async () => {
    const { id: projectId } = cast.owner.project;
    const now = await cast.now();
    const soon = now + 3_600_000;
    await sampleIncident(cast.db, { projectId, checkIds: [], nextStepAt: soon });
    await sampleIncident(cast.db, { projectId, checkIds: [], nextStepAt: now - 60_000 });
    const steps = (await list()).incidents.map(({ nextStep }) => nextStep);
    expect(steps).toEqual([null, { kind: "repeat", at: soon }, null]);
  });
});

test("an incident can be acknowledged, taken back, noted and resolved", async () => {
  const key = { kind: "key", name: null };
  expect(await change("acknowledge")).toMatchObject({
    state: "acknowledged",
    acknowledged: { by: key },
    events: [{ kind: "acknowledged", by: key }],
    alerts: [{ check: { name: "Nightly backup" }, cause: "missed", closedAt: null, rule: null }],
    deliveries: [],
  });
  expect(await change("unacknowledge")).toMatchObject({ state: "open", acknowledged: null });
  const noted = await post(`/${incident.number}/notes`, { text: "On it." });
  expect(noted.status).toBe(201);
  expect(noted.json as unknown as IncidentNote).toMatchObject({ by: key, text: "On it." });
  const resolved = await change("resolve");
  expect(resolved).toMatchObject({
    state: "resolved",
    openCount: 0,
    alerts: [{ closeCause: "resolved" }],
    notes: [{ text: "On it." }],
  });
  expect(resolved.events.map(({ kind }) => kind)).toEqual(["acknowledged", "unacknowledged", "resolved"]);
  expect((await ask(`/${incident.number}`)).json).toEqual(resolved);
});

test("names of accounts and channels are not for read-only keys", async () => {
  const channel = await cast.channel(cast.owner, { name: "Phones", kind: "ntfy" });
  const acknowledgedBy = async (by: { account?: number; channel?: number }, key: string) => {
    await cast.db.pool.query(
      `update incidents set state = 'acknowledged', acknowledged_at = now(), acknowledged_by = $1,
        acknowledged_by_channel = $2`,
      [by.account ?? null, by.channel ?? null],
    );
    return (await list("", key)).incidents[0]?.acknowledged?.by;
  };
  const { rw, ro, account } = cast.owner;
  expect(await acknowledgedBy({ account: account.id }, rw)).toEqual({ kind: "account", name: "owner" });
  expect(await acknowledgedBy({ account: account.id }, ro)).toEqual({ kind: "account", name: null });
  expect(await acknowledgedBy({ channel: channel.id }, rw)).toEqual({ kind: "channel", name: "Phones" });
  expect(await acknowledgedBy({ channel: channel.id }, ro)).toEqual({ kind: "channel", name: null });
});

test("several are acknowledged by number or by check", async () => {
  const bulk = async (body: object) => (await post("/acknowledge", body)).json;
  expect(await bulk({ checks: [check.uuid] })).toEqual({ acknowledged: [incident.number] });
  expect(await bulk({ incidents: [incident.number, 99] })).toEqual({ acknowledged: [] });
  for (const body of [{}, { checks: [], incidents: [] }, { incidents: [0] }, { checks: ["x"] }]) {
    expect((await post("/acknowledge", body)).status).toBe(400);
  }
});

test("incidents of another project are not found", async () => {
  const path = `/projects/${cast.stranger.project.uuid}/incidents/${incident.number}`;
  for (const action of ["", "/acknowledge", "/unacknowledge", "/resolve"]) {
    const method = action === "" ? "GET" : "POST";
    expect((await askApi(cast, path + action, { method, key: cast.stranger.rw })).status).toBe(404);
  }
  expect((await ask("/abc")).status).toBe(404);
  expect(await list()).toMatchObject({ counts: { open: 1 } });
});
