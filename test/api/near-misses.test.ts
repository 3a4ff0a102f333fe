// Near misses and aliases by the Overdue API: what is offered, what is refused, and what is written to the audit log.
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { NearMiss, NearMissList } from "../../src/contract/api/near-misses.ts";
import { HOUR_MS } from "../../src/core/instant.ts";
import { ALIASES_PER_CHECK_MAX } from "../../src/core/limits.ts";
import { addSighting, type Tally } from "../../src/core/near-miss.ts";
import { findNamedNearMisses, type WrittenNearMiss, writeNearMiss } from "../../src/store/near-misses.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { newCheck, readCheck } from "../management/asking.ts";
import { type Asked, useCast } from "../management/cast.ts";
import { sampleCheck } from "../support/sample.ts";
import { askApi } from "./asking.ts";

const cast = useCast({ settings: { OVERDUE_API_RATE_LIMIT: "0" } });

const LIST = "/projects/{project}/near-misses";
const ask = (path: string, given: Asked = {}) => askApi(cast, path, { key: cast.owner.rw, ...given });
const list = async (query = "") => (await ask(LIST + query)).json as unknown as NearMissList;
const post = (path: string, body: object) => ask(path, { method: "POST", body });
const ignore = (id: number, isIgnored: boolean) =>
  ask(`${LIST}/${id}`, { method: "PATCH", body: { isIgnored } });

/** A near miss of the owner that was seen at each of these times. */
async function newMiss(given: Partial<WrittenNearMiss> = {}, times?: readonly number[]): Promise<number> {
  let tally = null as Tally | null;
  for (const at of times ?? [await cast.now()]) {
    tally = addSighting(tally, { count: 1, firstAt: at, lastAt: at, arrivals: [at] });
  }
  if (tally === null) throw new Error("a near miss has at least one request");
  const miss: WrittenNearMiss = {
    projectId: cast.owner.project.id,
    kind: "slug",
    bySlug: true,
    address: `slug-${randomUUID().slice(0, 8)}`,
    checkId: null,
    deletedName: null,
    deletedAt: null,
    method: "GET",
    remoteAddr: "203.0.113.7",
    ua: "curl/8.5.0",
    ...tally,
    ...given,
  };
  await inTransaction(cast.db, (tx) => writeNearMiss(tx, { ...miss, reopenBefore: miss.lastAt }));
  const [stored] = await findNamedNearMisses(cast.db, [miss]);
  return stored?.id ?? 0;
}

const find = async (id: number, query = ""): Promise<NearMiss | undefined> =>
  (await list(query)).nearMisses.find((one) => one.id === id);

describe("the list", () => {
  test("has the schedule that the times suggest, and counts", async () => {
    const now = await cast.now();
    const id = await newMiss(
      {},
      [3, 2, 1, 0].map((ago) => now - ago * 6 * HOUR_MS),
    );
    expect(await find(id)).toMatchObject({
      count: 4,
      weekCount: 4,
      schedule: { timeoutSeconds: 21_600, graceSeconds: 3_600 },
      actions: ["create", "alias"],
    });
    const { nearMisses, counts } = await list("?limit=1");
    expect(nearMisses).toHaveLength(1);
    expect(counts.open).toBeGreaterThanOrEqual(1);
  });

  test("is not for read-only keys, because addresses are secrets", async () => {
    expect((await ask(LIST, { key: cast.owner.ro })).status).toBe(403);
  });
});

describe("ignoring", () => {
  test("hides a near miss, can be undone, and is in the audit log once", async () => {
    const address = "staging-job";
    const id = await newMiss({ address });
    expect((await ignore(id, true)).status).toBe(200);
    expect((await ignore(id, true)).status).toBe(200);
    expect(await find(id)).toBeUndefined();
    expect((await find(id, "?state=ignored"))?.ignoredAt).not.toBeNull();
    expect((await ignore(id, false)).json).toMatchObject({ ignoredAt: null });
    expect(await find(id)).toBeDefined();
    const { rows } = await cast.db.pool.query<{ what: string }>(
      "select what from audit_entries where subject = $1 order by id",
      [address],
    );
    expect(rows.map(({ what }) => what)).toEqual(["nearMiss.ignored", "nearMiss.unignored"]);
  });

  test("an unknown one, or one of another project, is not found", async () => {
    expect((await ignore(999_999, true)).status).toBe(404);
    const id = await newMiss({ projectId: cast.stranger.project.id });
    expect((await ignore(id, true)).status).toBe(404);
  });
});

describe("creating a check", () => {
  test("uses the slug and the schedule, or what is given", async () => {
    const now = await cast.now();
    const times = [3, 2, 1, 0].map((ago) => now - ago * HOUR_MS);
    const made = await post(`${LIST}/${await newMiss({ address: "hourly-job" }, times)}/check`, {});
    expect(made.status).toBe(201);
    expect(await readCheck(cast, made.json["id"] as string)).toMatchObject({
      name: "hourly-job",
      slug: "hourly-job",
      timeout: 3_600,
      grace: 600,
    });
    const given = { name: "Other", timeoutSeconds: 7_200 };
    const other = await post(`${LIST}/${await newMiss({ address: "other-job" }, times)}/check`, given);
    expect(await readCheck(cast, other.json["id"] as string)).toMatchObject({
      name: "Other",
      slug: "other-job",
      timeout: 7_200,
    });
  });

  test("for a UUID adds it as an alias", async () => {
    const address = randomUUID();
    const id = await newMiss({ kind: "uuid", bySlug: false, address });
    const { json } = await post(`${LIST}/${id}/check`, { name: "From a UUID" });
    const aliases = await ask(`/checks/${String(json["id"])}/aliases`);
    expect(aliases.json).toMatchObject({ aliases: [{ address, bySlug: false, createdBy: null }] });
    expect(await find(id)).toBeUndefined();
  });

  test("is refused if the check exists", async () => {
    const check = await newCheck(cast);
    const id = await newMiss({ kind: "method", bySlug: false, address: check.uuid });
    expect((await find(id))?.actions).toEqual([]);
    expect((await post(`${LIST}/${id}/check`, {})).status).toBe(409);
    expect((await post(`${LIST}/${id}/alias`, { check: check.uuid })).status).toBe(409);
  });
});

describe("an alias", () => {
  test("moves to the check that was chosen last, and is removed once", async () => {
    const [one, two] = [await newCheck(cast), await newCheck(cast)];
    const id = await newMiss();
    const first = await post(`${LIST}/${id}/alias`, { check: one.uuid });
    const second = await post(`${LIST}/${id}/alias`, { check: two.uuid });
    expect([first.status, second.status]).toEqual([201, 201]);
    expect((await ask(`/checks/${one.uuid}/aliases`)).json).toEqual({ aliases: [] });
    const path = `/checks/${two.uuid}/aliases/${String(second.json["id"])}`;
    expect(
      (await ask(`/checks/${one.uuid}/aliases/${String(second.json["id"])}`, { method: "DELETE" })).status,
    ).toBe(404);
    expect((await ask(path, { method: "DELETE" })).status).toBe(204);
    expect((await ask(path, { method: "DELETE" })).status).toBe(404);
    expect(await find(id)).toBeDefined();
  });

  test("needs a check of the project", async () => {
    const foreign = await sampleCheck(cast.db, { projectId: cast.stranger.project.id });
    const id = await newMiss();
    for (const check of [foreign.uuid, randomUUID()]) {
      expect((await post(`${LIST}/${id}/alias`, { check })).status).toBe(400);
    }
  });

  test("with characters that no slug has is refused", async () => {
    const check = await newCheck(cast);
    const id = await newMiss({ address: "Nightly.Backup" });
    expect((await find(id))?.actions).toEqual(["create"]);
    expect((await post(`${LIST}/${id}/alias`, { check: check.uuid })).status).toBe(409);
    expect((await post(`${LIST}/${id}/check`, {})).status).toBe(201);
  });

  test("that another project has for the same address is refused", async () => {
    const address = randomUUID();
    const foreign = await sampleCheck(cast.db, { projectId: cast.stranger.project.id });
    await cast.db.pool.query(
      "insert into check_aliases (check_id, uuid, created_at) values ($1, $2, now())",
      [foreign.id, address],
    );
    const check = await newCheck(cast);
    const id = await newMiss({ kind: "uuid", bySlug: false, address });
    expect((await post(`${LIST}/${id}/alias`, { check: check.uuid })).status).toBe(409);
  });

  test("beyond the limit of a check is refused", async () => {
    const check = await newCheck(cast);
    for (let count = 0; count < ALIASES_PER_CHECK_MAX; count += 1) {
      expect((await post(`${LIST}/${await newMiss()}/alias`, { check: check.uuid })).status).toBe(201);
    }
    const refused = await post(`${LIST}/${await newMiss()}/alias`, { check: check.uuid });
    expect([refused.status, refused.detail]).toEqual([
      403,
      "A check can have at most 20 aliases. Remove one first.",
    ]);
  });
});
