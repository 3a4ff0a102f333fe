import { expect, test } from "vitest";
import { lockedSeconds, workOf } from "./migration.ts";

test.each([
  ["alter table checks add column note text", [["checks", "brief"]]],
  ["alter table checks add column note text not null default ''", [["checks", "brief"]]],
  ["alter table checks add column key uuid not null default gen_random_uuid()", [["checks", "rewrite"]]],
  ["alter table only public.checks alter column n type bigint", [["checks", "rewrite"]]],
  ["alter table checks add column day date generated always as (at::date) stored", [["checks", "rewrite"]]],
  ["alter table checks alter column name set not null", [["checks", "scan"]]],
  ["alter table checks add constraint short check (length(name) < 9)", [["checks", "scan"]]],
  ["alter table checks add constraint short check (length(name) < 9) not valid", [["checks", "brief"]]],
  ["create unique index if not exists a_b on flips using btree (check_id)", [["flips", "scan"]]],
  ["create index on flips (check_id)", [["flips", "scan"]]],
  ["update checks set name = '' where name is null", [["checks", "rows"]]],
  ["delete from flips", [["flips", "rows"]]],
  ["drop table if exists notes", [["notes", "brief"]]],
  ["create table notes (id bigint); create index notes_id on notes (id); alter table notes add x int", []],
  ["comment on table checks is 'x'; insert into checks values (1)", []],
  [
    "-- create index on flips (id);\nalter table checks add a int; ALTER TABLE checks ADD b int;",
    [["checks", "brief"]],
  ],
])("%s", (sql, expected) => {
  expect(workOf(sql).map(({ table, effect }) => [table, effect])).toEqual(expected);
});

test("the time grows with the table, and a brief lock does not", () => {
  expect(lockedSeconds("brief", 1e12)).toBe(0);
  expect(lockedSeconds("scan", 1024 ** 3)).toBeCloseTo(10.24);
  expect(lockedSeconds("rewrite", 1024 ** 3)).toBeGreaterThan(lockedSeconds("scan", 1024 ** 3));
});
