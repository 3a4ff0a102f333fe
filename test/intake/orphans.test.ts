// Which intakes of a machine are gone, according to the spool folder.
import { randomUUID } from "node:crypto";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { type IntakeFiles, openIntakeFiles } from "../../src/intake/intake-files.ts";
import { createSpoolFile, spoolNames, spoolPath } from "../../src/intake/spool-file.ts";
import { signal } from "./scripted-ports.ts";
import { temporaryFolder } from "./support/folders.ts";

const open: IntakeFiles[] = [];
afterEach(() => Promise.all(open.splice(0).map((one) => one.close({ hasLeft: false }))));

function spoolingIn(folder: string): IntakeFiles {
  const spooling = openIntakeFiles({ folder, bytesMax: 64 * 1024 * 1024 });
  open.push(spooling);
  return spooling;
}

test("one that died with an empty spool is gone, until it is let go of", async () => {
  const folder = temporaryFolder();
  const [dead, alive, own] = [randomUUID(), randomUUID(), randomUUID()];
  const [dying, other, mine] = [spoolingIn(folder), spoolingIn(folder), spoolingIn(folder)];
  await dying.open(dead);
  await other.open(alive);
  await mine.open(own);
  expect(await mine.findOrphans()).toEqual({ gone: [], broken: [] });
  // Without unregistering, as after a crash of a process with an empty spool.
  await dying.close({ hasLeft: false });
  // Other files of its owner may only be found by the search after the one that found the file.
  expect(await mine.findOrphans()).toEqual({ gone: [], broken: [] });
  for (let looks = 0; looks < 2; looks += 1) {
    expect(await mine.findOrphans()).toEqual({ gone: [dead], broken: [] });
  }
  expect(await other.findOrphans()).toEqual({ gone: [], broken: [] });
  await mine.releaseIntakes([dead]);
  expect(existsSync(spoolPath({ folder, intakeId: dead }))).toBe(false);
  expect(await mine.findOrphans()).toEqual({ gone: [], broken: [] });
});

test("one that died with an empty spool is found by every start until it is released", async () => {
  const folder = temporaryFolder();
  const dead = randomUUID();
  const dying = spoolingIn(folder);
  await dying.open(dead);
  await dying.close({ hasLeft: false });
  for (let starts = 0; starts < 3; starts += 1) {
    const next = spoolingIn(folder);
    await next.open(randomUUID());
    expect((await next.findOrphans()).gone).toContain(dead);
    await next.close({ hasLeft: true });
  }
  expect(existsSync(spoolPath({ folder, intakeId: dead }))).toBe(true);
});

test("one that said goodbye leaves nothing behind", async () => {
  const folder = temporaryFolder();
  const leaving = spoolingIn(folder);
  const intakeId = randomUUID();
  await leaving.open(intakeId);
  await leaving.close({ hasLeft: true });
  expect(existsSync(spoolPath({ folder, intakeId }))).toBe(false);
});

test("any number of empty ones is let go of, some at a time", async () => {
  const folder = temporaryFolder();
  const dead = Array.from({ length: 150 }, () => randomUUID());
  for (const intakeId of dead) createSpoolFile({ folder, intakeId }).close();
  const mine = spoolingIn(folder);
  await mine.open(randomUUID());
  const gone = new Set<string>();
  for (let looks = 0; looks < 10; looks += 1) {
    const found = await mine.findOrphans();
    for (const intakeId of found.gone) gone.add(intakeId);
    await mine.releaseIntakes(found.gone);
  }
  expect([...gone].toSorted()).toEqual(dead.toSorted());
  expect(spoolNames(folder)).toHaveLength(1);
});

test("one that has left something is not gone until that is drained", async () => {
  const folder = temporaryFolder();
  const [dead, own] = [randomUUID(), randomUUID()];
  const other = spoolingIn(folder);
  const left = await other.open(dead);
  await left?.append({ intakeId: dead, lane: 0, seq: 1, signals: [signal("left")] });
  await other.close({ hasLeft: false });
  const mine = spoolingIn(folder);
  const spool = await mine.open(own);
  for (let looks = 0; looks < 3; looks += 1) expect((await mine.findOrphans()).gone).toEqual([]);
  // The process that applies its last batch closes it in the same transaction, so that nothing is left to find.
  expect(await spool?.oldest()).toMatchObject({ intakeId: dead, lane: 0, seq: 1, isLast: true });
  await spool?.remove({ intakeId: dead, lane: 0, seq: 1 });
  for (let looks = 0; looks < 3; looks += 1) expect((await mine.findOrphans()).gone).toEqual([]);
  expect(spoolNames(folder)).toHaveLength(1);
});

describe("the last heartbeat on a machine", () => {
  const beat = { wallAt: 1_700_000_000_000, databaseAheadMs: -250, isAlone: false };

  test("is known to the next start", async () => {
    const folder = temporaryFolder();
    const first = spoolingIn(folder);
    await first.open(randomUUID());
    expect(await first.lastHeartbeat()).toBeNull();
    first.noteHeartbeat(beat);
    await first.close({ hasLeft: false });
    expect(await spoolingIn(folder).lastHeartbeat()).toEqual(beat);
  });

  test("is written at intervals, and immediately when another intake starts or ends", async () => {
    const folder = temporaryFolder();
    const first = spoolingIn(folder);
    await first.open(randomUUID());
    const noteAt = (wallAt: number, isAlone = false) => first.noteHeartbeat({ ...beat, wallAt, isAlone });
    noteAt(1_000);
    noteAt(2_000);
    await first.close({ hasLeft: false });
    expect(await first.lastHeartbeat()).toMatchObject({ wallAt: 1_000 });
    const second = spoolingIn(folder);
    for (const wallAt of [20_000, 21_000, 31_000]) second.noteHeartbeat({ ...beat, wallAt });
    second.noteHeartbeat({ ...beat, wallAt: 32_000, isAlone: true });
    await second.close({ hasLeft: false });
    expect(await second.lastHeartbeat()).toMatchObject({ wallAt: 32_000, isAlone: true });
  });

  test.each(["", "{", "null", '{"wallAt":"soon"}', "[]"])(
    "is unknown where the file says %j",
    async (text) => {
      const folder = temporaryFolder();
      writeFileSync(join(folder, "last-beat.json"), text);
      expect(await spoolingIn(folder).lastHeartbeat()).toBeNull();
    },
  );
});

test("one whose file cannot be read is reported once", async () => {
  const folder = temporaryFolder();
  const broken = randomUUID();
  writeFileSync(
    join(folder, `spool-${broken}.sqlite`),
    "this is no database, and never was one. ".repeat(200),
  );
  const mine = spoolingIn(folder);
  await mine.open(randomUUID());
  expect(await mine.findOrphans()).toEqual({ gone: [], broken: [broken] });
  expect(await mine.findOrphans()).toEqual({ gone: [], broken: [] });
  expect(mine.state()?.lostFiles).toHaveLength(1);
});

test("without a folder there is no spool, and known checks are only in memory", async () => {
  const none = openIntakeFiles({ folder: null, bytesMax: 1 });
  expect(await none.open(randomUUID())).toBeNull();
  expect(await none.findOrphans()).toEqual({ gone: [], broken: [] });
  const known = await none.openKnown(0);
  const target = { by: "uuid" as const, uuid: randomUUID() };
  known.remember(target, 0);
  expect(known.knows(target, 0)).toBe(true);
  none.noteHeartbeat({ wallAt: 1, databaseAheadMs: 0, isAlone: true });
  expect(await none.lastHeartbeat()).toBeNull();
  await none.releaseIntakes([randomUUID()]);
  await none.close({ hasLeft: true });
});

test("a folder with files of another server is not claimed; one without is taken over", async () => {
  const folder = temporaryFolder();
  const [first, second, third] = [spoolingIn(folder), spoolingIn(folder), spoolingIn(folder)];
  await first.open(randomUUID());
  expect(await first.claim("one server")).toBe(true);
  await second.open(randomUUID());
  expect(await second.claim("another")).toBe(false);
  // Another process of the first one.
  expect(await second.claim("one server")).toBe(true);
  await first.close({ hasLeft: true });
  await second.close({ hasLeft: true });
  await third.open(randomUUID());
  expect(await third.claim("another")).toBe(true);
  expect(await spoolingIn(folder).claim("one server")).toBe(false);
});

test("a spool that is closed says whether its drained file was removed", async () => {
  const folder = temporaryFolder();
  const spooling = spoolingIn(folder);
  const kept = await spooling.open(randomUUID());
  const removed = await spooling.open(randomUUID());
  const intakeId = randomUUID();
  const holding = await spooling.open(intakeId);
  if (kept === null || removed === null || holding === null) throw new Error("no spool");
  expect(await spooling.closeOne(kept)).toEqual({ isRemoved: false });
  await holding.append({ intakeId, lane: 0, seq: 1, signals: [signal("left")] });
  rmSync(folder, { recursive: true });
  // Any request shows the process that the file is gone.
  for (const spool of [removed, holding]) await spool.oldest();
  expect(await spooling.closeOne(removed)).toEqual({ isRemoved: true });
  expect(await spooling.closeOne(holding)).toEqual({ isRemoved: false });
});

test("a spool whose folder is gone is full, and fails so that another takes its place", async () => {
  const folder = temporaryFolder();
  const spooling = spoolingIn(folder);
  await spooling.open(randomUUID());
  await spooling.findOrphans();
  expect(spooling.fill()).toBeLessThan(0.01);
  rmSync(folder, { recursive: true });
  await expect(spooling.findOrphans()).rejects.toThrow(/ENOENT/);
  expect(spooling.fill()).toBe(1);
  expect(spooling.state()?.failed).toContain("was removed");
  await spooling.open(randomUUID());
  await spooling.findOrphans();
  expect(spooling.fill()).toBeLessThan(0.01);
});
