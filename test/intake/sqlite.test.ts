// What the intake's files require of SQLite.
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import {
  faultOf,
  inTransaction,
  requireVersion,
  setPragmas,
  versionRefusal,
} from "../../src/intake/spool-file.ts";
import { temporaryFolder } from "./support/folders.ts";

describe("A version", () => {
  test.each(["3.51.3", "3.51.4", "3.52.0", "3.100.0", "4.0.0"])("%s may be used", (version) => {
    expect(versionRefusal(version)).toBeNull();
  });

  test.each(["3.51.2", "3.50.9", "3.9.9", "2.99.99", "nonsense"])("%s is refused", (version) => {
    expect(versionRefusal(version)).toBe(`SQLite ${version} is too old; 3.51.3 or newer is required`);
  });

  test("is the one of the program that runs", () => {
    expect(requireVersion(new DatabaseSync(":memory:"))).toBe(process.versions["sqlite"]);
  });
});

describe("A setting", () => {
  test("that took is fine", () => {
    const db = new DatabaseSync(`${temporaryFolder()}/a.sqlite`);
    expect(() => setPragmas(db, { journal_mode: "wal", synchronous: 2 })).not.toThrow();
    db.close();
  });

  test("that SQLite ignores is noticed", () => {
    const db = new DatabaseSync(":memory:");
    expect(() => setPragmas(db, { journal_mode: "wal" })).toThrow("journal_mode = memory, not wal");
  });

  test("that SQLite does not know is noticed", () => {
    const db = new DatabaseSync(":memory:");
    expect(() => setPragmas(db, { synchronized: 2 })).toThrow("synchronized = undefined, not 2");
  });
});

describe("A fault", () => {
  test.each([
    [5, "locked"],
    [261, "locked"],
    [11, "corrupt"],
    [267, "corrupt"],
    [26, "corrupt"],
    [13, "full"],
    [10, "io"],
    [778, "io"],
    [14, "io"],
    [19, "io"],
  ])("with SQLite's code %i counts as %s", (errcode, fault) => {
    expect(faultOf(Object.assign(new Error("x"), { errcode }))).toBe(fault);
  });

  test("without a code counts as one of the disk", () => {
    expect(faultOf(new Error("x"))).toBe("io");
  });
});

test("A transaction that fails leaves nothing", () => {
  const db = new DatabaseSync(":memory:");
  db.exec("create table a (b integer primary key)");
  const failing = () =>
    inTransaction(db, () => {
      db.exec("insert into a values (1)");
      db.exec("insert into a values (1)");
    });
  expect(failing).toThrow("UNIQUE");
  expect(db.isTransaction).toBe(false);
  expect(db.prepare("select count(*) as n from a").get()).toEqual({ n: 0 });
});
