import { describe, expect, test } from "vitest";
import {
  BACKUP_FORMAT,
  type BackupHeader,
  checkTables,
  countMigrations,
  orderTables,
  parseHeader,
  placeAfter,
  sectionsOf,
} from "./backup.ts";

const CHECKSUM = "a".repeat(64);
const HEADER: BackupHeader = {
  format: BACKUP_FORMAT,
  version: "1.2.3",
  createdAt: "2026-11-16T12:00:00.000Z",
  migrations: [{ name: "0001_initial", checksum: CHECKSUM }],
  tables: [
    { name: "projects", columns: ["id", "name"], identity: { column: "id", last: "7" } },
    { name: "checks", columns: ["id", "project_id"], identity: null },
  ],
  hasSecrets: false,
};
const REFERENCES = [{ from: "checks", to: "projects" }];

describe("Tables", () => {
  test("come after those that they refer to, and by name otherwise", () => {
    const tables = ["members", "accounts", "projects", "flips", "sessions"].map((name) => ({ name }));
    const references = [
      { from: "members", to: "projects" },
      { from: "members", to: "accounts" },
      { from: "accounts", to: "projects" },
      { from: "flips", to: "flips" },
    ];
    const names = orderTables(tables, references).map(({ name }) => name);
    expect(names).toEqual(["flips", "projects", "accounts", "members"]);
  });

  test("that refer to each other have no order", () => {
    const references = [
      { from: "a", to: "b" },
      { from: "b", to: "a" },
    ];
    expect(() => orderTables([{ name: "a" }, { name: "b" }], references)).toThrow("form a cycle");
  });

  test("of a backup must be those of its schema", () => {
    const ours = { tables: HEADER.tables, references: REFERENCES };
    expect(() => checkTables(HEADER, ours)).not.toThrow();
    const [projects, checks] = HEADER.tables;
    if (projects === undefined || checks === undefined) throw new Error("two tables are expected");
    const others = [[checks, projects], [projects], [projects, { ...checks, columns: ["id"] }]];
    for (const tables of others) {
      expect(() => checkTables({ ...HEADER, tables }, ours)).toThrow("do not match its schema version");
    }
  });
});

describe("A part", () => {
  const sections = sectionsOf(HEADER);
  const after = (name: string, section: number, parts: number) =>
    placeAfter(name, { sections, at: { section, parts } });

  test("continues its section, or begins a later one", () => {
    expect(after("tables/projects/000001.copy.zst", -1, 0)).toEqual({ section: 0, parts: 1 });
    expect(after("tables/projects/000002.copy.zst", 0, 1)).toEqual({ section: 0, parts: 2 });
    expect(after("bodies/000001.copy.zst", 0, 2)).toEqual({ section: 2, parts: 1 });
  });

  test.each([
    ["a part that is missing before it", "tables/projects/000003.copy.zst", 0, 1],
    ["a section that is over", "tables/projects/000001.copy.zst", 1, 1],
    ["the same part again", "tables/projects/000001.copy.zst", 0, 1],
    ["an unknown table", "tables/passwd/000001.copy.zst", 0, 1],
    ["a path", "tables/projects/../../../etc/passwd", 0, 1],
  ])("is refused: %s", (_why, name, section, parts) => {
    expect(after(name, section, parts)).toBeNull();
  });
});

describe("A header", () => {
  const text = (changes: object) => JSON.stringify({ ...HEADER, ...changes });

  test("is read as it was written", () => {
    expect(parseHeader(text({}))).toEqual(HEADER);
  });

  test("of a newer format names the version that can read it", () => {
    expect(() => parseHeader(JSON.stringify({ format: BACKUP_FORMAT + 1, version: "9.0.0" }))).toThrow(
      "written by a newer version of Overdue (9.0.0)",
    );
  });

  test.each([
    ["not JSON", "{"],
    ["not an object", "[]"],
    ["an older format", text({ format: 0 })],
    ["no tables", text({ tables: null })],
    ["a table twice", text({ tables: [HEADER.tables[0], HEADER.tables[0]] })],
    ["SQL in a name", text({ tables: [{ name: 'a"; drop', columns: ["id"], identity: null }] })],
    [
      "SQL in a number",
      text({ tables: [{ name: "a", columns: ["id"], identity: { column: "id", last: "1; x" } }] }),
    ],
    ["a date that is none", text({ createdAt: "yesterday" })],
  ])("is refused: %s", (_why, given) => {
    expect(() => parseHeader(given)).toThrow("is not a backup");
  });

  test("must have the first migrations of this program", () => {
    const ours = [...HEADER.migrations, { name: "0002_more", checksum: CHECKSUM }];
    expect(countMigrations(HEADER, ours)).toBe(1);
    expect(() => countMigrations(HEADER, [])).toThrow("newer version of Overdue (1.2.3)");
    const changed = [{ name: "0001_initial", checksum: "b".repeat(64) }];
    expect(() => countMigrations(HEADER, changed)).toThrow("not one of this version");
    expect(() => countMigrations({ ...HEADER, migrations: [] }, ours)).toThrow("is not a backup");
  });
});
