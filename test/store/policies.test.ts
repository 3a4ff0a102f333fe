// Policies, tag rules, derived rules and dependencies.
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { DEFAULT_RULES } from "../../src/core/rules.ts";
import { markCheckDeleted } from "../../src/store/checks.ts";
import {
  deleteLinksOfCheck,
  deleteParents,
  deleteTagRules,
  findParents,
  findProjectPolicy,
  holdPolicies,
  insertParents,
  insertTagRules,
  listAncestors,
  listCheckPolicies,
  listPolicies,
  listRules,
  listTagRules,
  lockPolicies,
  removeFromTagRules,
  type StoredTagRule,
  writeCheckPolicy,
  writeProjectPolicy,
  writeRules,
} from "../../src/store/policies.ts";
import { inTransaction, type Tx } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { MONDAY_NOON, sampleCheck, sampleProject } from "../support/sample.ts";

const database = useDatabase();

const write = <T>(work: (tx: Tx) => Promise<T>) => inTransaction(database.db, work);

async function sampleChecks(count: number, tags = "") {
  const { id: projectId } = await sampleProject(database.db);
  const checks = [];
  for (let i = 0; i < count; i++) checks.push(await sampleCheck(database.db, { projectId, tags }));
  return { projectId, ids: checks.map(({ id }) => id), uuids: checks.map(({ uuid }) => uuid) };
}

const idAt = (ids: readonly number[], index: number) => ids[index] ?? 0;

const RULES: StoredTagRule[] = [
  { tag: "prod", policy: { repeat: 3600, groupBy: ["tag:host-"] }, channels: [7, 8] },
  { tag: `a"b,{c}`, policy: {}, channels: [] },
];

describe("policies of projects", () => {
  test("are empty at first, with links to acknowledge", async () => {
    const { id: projectId } = await sampleProject(database.db);
    expect(await findProjectPolicy(database.db, projectId)).toEqual({ policy: {}, ackLinks: true });
    expect(await findProjectPolicy(database.db, 999_999)).toBeNull();
  });

  test("are replaced", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const policy = { missed: 2, severity: { failed: "low", missed: "high" } } as const;
    await write((tx) => writeProjectPolicy(tx, { projectId, policy, ackLinks: false }));
    expect(await findProjectPolicy(database.db, projectId)).toEqual({ policy, ackLinks: false });
    await write((tx) => writeProjectPolicy(tx, { projectId, policy: {}, ackLinks: true }));
    expect(await findProjectPolicy(database.db, projectId)).toEqual({ policy: {}, ackLinks: true });
  });

  test("can be held by several transactions and changed by one", async () => {
    const { id: projectId } = await sampleProject(database.db);
    await write(async (tx) => {
      await holdPolicies(tx, projectId);
      await write((other) => holdPolicies(other, projectId));
      await expect(write((other) => lockPolicies(other, projectId))).rejects.toThrow(/lock timeout/);
    });
    await write(async (tx) => {
      await lockPolicies(tx, projectId);
      await expect(write((other) => holdPolicies(other, projectId))).rejects.toThrow(/lock timeout/);
    });
  });
});

describe("tag rules", () => {
  test("keep their order, and are replaced", async () => {
    const { id: projectId } = await sampleProject(database.db);
    const { id: other } = await sampleProject(database.db);
    await write((tx) => insertTagRules(tx, { projectId, rules: RULES }));
    expect(await listTagRules(database.db, [projectId, other])).toEqual(new Map([[projectId, RULES]]));
    await write(async (tx) => {
      await deleteTagRules(tx, projectId);
      await insertTagRules(tx, { projectId, rules: RULES.toReversed() });
    });
    expect((await listTagRules(database.db, [projectId])).get(projectId)).toEqual(RULES.toReversed());
    await write((tx) => deleteTagRules(tx, projectId));
    await write((tx) => insertTagRules(tx, { projectId, rules: [] }));
    expect(await listTagRules(database.db, [projectId])).toEqual(new Map());
  });

  test("lose a deleted channel", async () => {
    const { id: projectId } = await sampleProject(database.db);
    await write((tx) => insertTagRules(tx, { projectId, rules: RULES }));
    await write((tx) => removeFromTagRules(tx, { projectId, channelId: 7 }));
    const rules = (await listTagRules(database.db, [projectId])).get(projectId);
    expect(rules?.map(({ channels }) => channels)).toEqual([[8], []]);
  });
});

describe("policies of checks", () => {
  test("are listed with everything that applies", async () => {
    const { projectId, ids, uuids } = await sampleChecks(3, "prod db");
    await write((tx) => writeCheckPolicy(tx, { checkId: idAt(ids, 1), policy: { missed: 3 } }));
    await write((tx) => writeProjectPolicy(tx, { projectId, policy: { early: 60 }, ackLinks: false }));
    await write((tx) => insertTagRules(tx, { projectId, rules: RULES }));
    await write((tx) => insertParents(tx, { checkId: idAt(ids, 1), parentIds: [idAt(ids, 0)] }));
    const listed = await listPolicies(database.db, ids.slice(0, 2));
    const common = {
      projectId,
      tags: ["prod", "db"],
      project: { policy: { early: 60 }, ackLinks: false },
      tagRules: RULES,
    };
    expect(listed).toEqual([
      { checkId: ids[0], own: {}, parents: [], ...common },
      { checkId: ids[1], own: { missed: 3 }, parents: [{ id: ids[0], uuid: uuids[0] }], ...common },
    ]);
    expect(listed[0]?.tagRules).toBe(listed[1]?.tagRules);
    await write((tx) => writeCheckPolicy(tx, { checkId: idAt(ids, 1), policy: {} }));
    const [again] = await listCheckPolicies(database.db, [idAt(ids, 1)]);
    expect(again?.own).toEqual({});
  });

  test("list no parents that are deleted or in another project", async () => {
    const { ids } = await sampleChecks(2);
    const elsewhere = await sampleChecks(1);
    const checkId = idAt(ids, 0);
    await write((tx) => insertParents(tx, { checkId, parentIds: [idAt(ids, 1), idAt(elsewhere.ids, 0)] }));
    const parentsOf = async () => (await listCheckPolicies(database.db, [checkId]))[0]?.parents;
    expect((await parentsOf())?.map(({ id }) => id)).toEqual([ids[1]]);
    await write((tx) => markCheckDeleted(tx, { checkId: idAt(ids, 1), at: MONDAY_NOON }));
    expect(await parentsOf()).toEqual([]);
  });

  test("have rules, listed in portions", async () => {
    const { projectId, ids } = await sampleChecks(3, "prod");
    const rules = { ...DEFAULT_RULES, missed: 2 };
    const changes = [
      { checkId: idAt(ids, 0), rules },
      { checkId: idAt(ids, 1), rules: null },
    ];
    await write((tx) => writeRules(tx, changes));
    const first = await listRules(database.db, { projectId, afterId: 0, limit: 2 });
    expect(first).toEqual([
      { checkId: ids[0], tags: ["prod"], graceSeconds: 3600, own: {}, rules },
      { checkId: ids[1], tags: ["prod"], graceSeconds: 3600, own: {}, rules: null },
    ]);
    const rest = await listRules(database.db, { projectId, afterId: idAt(ids, 1), limit: 2 });
    expect(rest.map(({ checkId }) => checkId)).toEqual([ids[2]]);
    await write((tx) => writeRules(tx, [{ checkId: idAt(ids, 0), rules: null }]));
    expect((await listRules(database.db, { projectId, afterId: 0, limit: 1 }))[0]?.rules).toBeNull();
  });
});

describe("dependencies", () => {
  test("are found by UUID in the project", async () => {
    const { projectId, ids, uuids } = await sampleChecks(2);
    const elsewhere = await sampleChecks(1);
    const wanted = [...uuids, ...elsewhere.uuids, randomUUID()];
    const found = await findParents(database.db, { projectId, uuids: wanted });
    expect(found).toEqual(ids.map((id, index) => ({ id, uuid: uuids[index] })));
    await write((tx) => markCheckDeleted(tx, { checkId: idAt(ids, 0), at: MONDAY_NOON }));
    expect(await findParents(database.db, { projectId, uuids })).toHaveLength(1);
  });

  test("have ancestors, also in a cycle, and are removed", async () => {
    const { ids } = await sampleChecks(4);
    const [a, b, c, d] = ids.map((id) => id) as [number, number, number, number];
    const link = (checkId: number, parentIds: number[]) =>
      write((tx) => insertParents(tx, { checkId, parentIds }));
    await link(a, [b]);
    await link(b, [c, d]);
    await link(d, [b]);
    const ancestors = async (of: number) =>
      (await listAncestors(database.db, [of])).toSorted((x, y) => x - y);
    expect(await ancestors(a)).toEqual([a, b, c, d]);
    expect(await ancestors(c)).toEqual([c]);
    await write((tx) => deleteParents(tx, d));
    expect(await ancestors(d)).toEqual([d]);
    await write((tx) => deleteLinksOfCheck(tx, b));
    expect(await ancestors(a)).toEqual([a]);
    expect(await ancestors(b)).toEqual([b]);
  });
});
