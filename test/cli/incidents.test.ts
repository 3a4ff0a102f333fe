// `overdue incidents` and `overdue ack`, against a server.
import { beforeEach, describe, expect, test } from "vitest";
import { useCast } from "../management/cast.ts";
import { sampleIncident } from "../support/incidents.ts";
import { sampleCheck } from "../support/sample.ts";
import { callOverdue } from "./run-overdue.ts";

const cast = useCast({ roles: ["api"], settings: { OVERDUE_API_RATE_LIMIT: "0" } });

const overdue = (...args: string[]) =>
  callOverdue(args, { OVERDUE_SITE_URL: cast.site, OVERDUE_API_KEY: cast.owner.rw });

let numbers: number[];

beforeEach(async () => {
  const { id: projectId } = cast.owner.project;
  await cast.db.pool.query("truncate incidents, alerts, incident_events cascade");
  await cast.db.pool.query("update projects set incident_count = 0");
  const one = await sampleCheck(cast.db, { projectId, name: "Nightly backup" });
  const checkIds = [one.id, (await sampleCheck(cast.db, { projectId, name: "" })).id];
  numbers = [];
  for (const of of [[], checkIds]) {
    numbers.push((await sampleIncident(cast.db, { projectId, checkIds: of })).number);
  }
});

const statesNow = async () => {
  const { rows } = await cast.db.pool.query<{ state: string }>("select state from incidents order by number");
  return rows.map(({ state }) => state);
};

describe("overdue incidents", () => {
  test("lists the open ones as a table", async () => {
    expect(await overdue("incidents")).toEqual({
      code: 0,
      err: "",
      out:
        "NUMBER  STATE  SEVERITY  OPENED                CAUSE   CHECKS\n" +
        "2       open   normal    2026-11-16T12:00:00Z  missed  Nightly backup, unnamed\n" +
        "1       open   normal    2026-11-16T12:00:00Z\n",
    });
    expect(await overdue("incidents", "--state", "resolved")).toMatchObject({
      err: "",
      out: "No incidents.\n",
    });
  });

  test("prints all pages as one JSON object", async () => {
    const { id: projectId } = cast.owner.project;
    for (let n = 0; n < 100; n += 1) await sampleIncident(cast.db, { projectId, checkIds: [] });
    const { out } = await overdue("incidents", "--json");
    const { incidents } = JSON.parse(out) as { incidents: { number: number; opened_at: string }[] };
    expect(incidents.map(({ number }) => number)).toEqual(Array.from({ length: 102 }, (_, n) => 102 - n));
    expect(incidents.at(-1)).toMatchObject({ opened_at: "2026-11-16T12:00:00.000Z", check_count: 0 });
  });
});

describe("overdue ack", () => {
  test("acknowledges incidents by number", async () => {
    expect(await overdue("ack", "2")).toEqual({ code: 0, out: "Acknowledged #2.\n", err: "" });
    expect(await statesNow()).toEqual(["open", "acknowledged"]);
    const { out } = await overdue("ack", "1", "#2", "--json");
    expect(JSON.parse(out)).toEqual({ acknowledged: [1, 2] });
  });

  test("acknowledges all of them", async () => {
    await overdue("ack", "1");
    expect((await overdue("ack", "--all")).out).toBe("Acknowledged #2.\n");
    expect((await overdue("ack", "--all")).out).toBe("No open incidents.\n");
    expect(await statesNow()).toEqual(["acknowledged", "acknowledged"]);
  });

  test.each([
    [["ack"], 2, "Specify either incident numbers or --all."],
    [["ack", "1", "--all"], 2, "Specify either incident numbers or --all."],
    [["ack", "zero"], 2, "Expected an incident number."],
    [["ack", "99"], 1, "Incident not found."],
  ])("%j is an error", async (args, code, text) => {
    const ended = await overdue(...args);
    expect(ended.code).toBe(code);
    expect(ended.err).toContain(text);
    expect(await statesNow()).toEqual(["open", "open"]);
  });

  test("needs a read-write key", async () => {
    const environment = { OVERDUE_SITE_URL: cast.site, OVERDUE_API_KEY: cast.owner.ro };
    const { code, err } = await callOverdue(["ack", "1"], environment);
    expect(code).toBe(1);
    expect(err).toContain("A read-write API key is required.");
  });
});
