// Changes of files: only of what was read, complete, recorded before they are made, and taken back.
import {
  chmod,
  chown,
  link,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Change, makeChange, recordedChecks, undoChanges } from "./changes.ts";
import { type Place, readPlace, writePlace } from "./places.ts";

vi.mock("node:fs/promises", { spy: true });

let folder = "";
let state = "";
let path = "";
let place: Place;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "overdue-changes-"));
  state = join(folder, "state");
  path = join(folder, "job");
  place = { kind: "file", path };
  await writeFile(path, "old\n");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const change = (given: Partial<Change> = {}): Change => ({
  kind: "crontab",
  place,
  before: "old\n",
  after: "new\n",
  checks: ["u"],
  ...given,
});
const text = () => readFile(path, "utf8");

describe("a file", () => {
  test("is replaced with its mode, and no other file is left", async () => {
    await chmod(path, 0o604);
    await writePlace(place, { before: "old\n", after: "new\n" });
    expect(await text()).toBe("new\n");
    expect((await stat(path)).mode & 0o777).toBe(0o604);
    expect(await readdir(folder)).toEqual(["job"]);
  });

  test("gets its owner and mode while it is open, not by a name that may lead elsewhere", async () => {
    const byName = vi.mocked(chmod).mock.calls.length + vi.mocked(chown).mock.calls.length;
    await writePlace(place, { before: "old\n", after: "new\n" });
    expect(vi.mocked(chmod).mock.calls.length + vi.mocked(chown).mock.calls.length).toBe(byName);
  });

  test("that was changed since it was read is left alone", async () => {
    const written = writePlace(place, { before: "older\n", after: "new\n" });
    await expect(written).rejects.toThrow(`${path} was changed after it was read.`);
    expect(await text()).toBe("old\n");
  });

  test("behind a symbolic link, or with several names, is left alone", async () => {
    await symlink(path, join(folder, "soft"));
    const soft = writePlace(
      { kind: "file", path: join(folder, "soft") },
      { before: "old\n", after: "new\n" },
    );
    await expect(soft).rejects.toThrow("is a symbolic link");
    await link(path, join(folder, "hard"));
    await expect(writePlace(place, { before: "old\n", after: "new\n" })).rejects.toThrow(
      "several hard links",
    );
    expect(await text()).toBe("old\n");
  });

  test("can be new, and can be removed", async () => {
    const other: Place = { kind: "file", path: join(folder, "other") };
    expect(await readPlace(other)).toBeNull();
    await writePlace(other, { before: null, after: "x" });
    await writePlace(other, { before: "x", after: null });
    expect(await readPlace(other)).toBeNull();
  });
});

describe("a change", () => {
  test("is recorded for its owner only, and undone once", async () => {
    await makeChange(state, change());
    expect(await recordedChecks(state)).toEqual({ reported: new Set(["u"]), released: new Set() });
    expect((await stat(join(state, "00000001.json"))).mode & 0o777).toBe(0o600);
    expect(await undoChanges(state, "systemd")).toEqual([]);
    expect(await undoChanges(state, "crontab")).toEqual([{ kind: "restored", place, checks: ["u"] }]);
    expect(await text()).toBe("old\n");
    expect(await undoChanges(state, "crontab")).toEqual([]);
    expect(await recordedChecks(state)).toEqual({ reported: new Set(), released: new Set(["u"]) });
  });

  test("that fails is not recorded", async () => {
    await expect(makeChange(state, change({ before: "x" }))).rejects.toThrow("was changed");
    expect(await readdir(state)).toEqual([]);
  });

  test("that was recorded but not made is taken back without a write", async () => {
    await makeChange(state, change());
    await writeFile(path, "old\n");
    expect(await undoChanges(state, "crontab")).toMatchObject([{ kind: "unchanged" }]);
  });

  test("of a file that was edited since is not undone", async () => {
    await makeChange(state, change());
    await writeFile(path, "mine\n");
    expect(await undoChanges(state, "crontab")).toEqual([
      { kind: "edited", place, expected: "new\n", current: "mine\n" },
    ]);
    expect(await text()).toBe("mine\n");
  });

  test("after another is undone first", async () => {
    await makeChange(state, change());
    await makeChange(state, change({ before: "new\n", after: "newer\n" }));
    await undoChanges(state, "crontab");
    expect(await text()).toBe("new\n");
    await undoChanges(state, "crontab");
    expect(await text()).toBe("old\n");
  });
});
