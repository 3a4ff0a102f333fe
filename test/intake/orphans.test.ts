// Which intakes of a machine are gone, as the folder of the spool shows it.
import { randomUUID } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { makeSpooling, type Spooling } from "../../src/intake/spooling.ts";
import { spoolPath } from "../../src/intake/spool/folder.ts";
import { signal } from "./scripted-ports.ts";
import { temporaryFolder } from "./support/folders.ts";

const open: Spooling[] = [];
afterEach(() => Promise.all(open.splice(0).map((one) => one.close())));

function spoolingIn(folder: string): Spooling {
  const spooling = makeSpooling({ folder, bytesMax: 64 * 1024 * 1024 });
  open.push(spooling);
  return spooling;
}

test("one that died with an empty spool is gone after two looks", async () => {
  const folder = temporaryFolder();
  const [dead, alive, own] = [randomUUID(), randomUUID(), randomUUID()];
  const other = spoolingIn(folder);
  await other.open(dead);
  await other.open(alive);
  const mine = spoolingIn(folder);
  await mine.open(own);
  expect(await mine.findOrphans()).toEqual({ gone: [], broken: [] });
  // Its thread ends and its file with it, as after a crash of a process with nothing in its spool.
  expect(existsSync(spoolPath({ folder, intakeId: dead }))).toBe(true);
  await other.close();
  expect(await mine.findOrphans()).toEqual({ gone: [], broken: [] });
  expect((await mine.findOrphans()).gone.toSorted()).toEqual([alive, dead].toSorted());
  expect(await mine.findOrphans()).toEqual({ gone: [], broken: [] });
});

test("one that has left something is not gone until that is drained", async () => {
  const folder = temporaryFolder();
  const [dead, own] = [randomUUID(), randomUUID()];
  const other = spoolingIn(folder);
  const left = await other.open(dead);
  await left?.append({ intakeId: dead, seq: 1, signals: [signal("left")] });
  await other.close();
  const mine = spoolingIn(folder);
  const spool = await mine.open(own);
  for (let looks = 0; looks < 3; looks += 1) expect((await mine.findOrphans()).gone).toEqual([]);
  expect(await spool?.oldest()).toMatchObject({ intakeId: dead, seq: 1, isLast: true });
  await spool?.remove({ intakeId: dead, seq: 1 });
  await mine.findOrphans();
  expect((await mine.findOrphans()).gone).toEqual([dead]);
});

test("one whose file cannot be read is told once", async () => {
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

test("without a folder there is no spool and nobody is known", async () => {
  const none = makeSpooling({ folder: null, bytesMax: 1 });
  expect(await none.open(randomUUID())).toBeNull();
  expect(await none.findOrphans()).toEqual({ gone: [], broken: [] });
  const known = await none.openKnown(0);
  const target = { by: "uuid" as const, uuid: randomUUID() };
  known.remember(target, 0);
  expect(known.knows(target, 0)).toBe(false);
  await none.close();
});
