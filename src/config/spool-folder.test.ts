import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ConfigError } from "./config.ts";
import { chooseSpoolFolder } from "./spool-folder.ts";

/** A folder, and paths in it that are not writable even for root, because they lead through a file. */
function places() {
  const folder = mkdtempSync(join(tmpdir(), "overdue-spool-folder-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "file"), "");
  return { at: (name: string) => join(folder, name), closed: (name: string) => join(folder, "file", name) };
}

test("the spool folder is the first one that is writable", () => {
  const { at, closed } = places();
  const environment = { STATE_DIRECTORY: `${at("state")}:${at("other")}`, XDG_STATE_HOME: at("xdg") };
  const systemFolder = at("system");
  expect(chooseSpoolFolder(null, environment, { systemFolder })).toBe(at("state"));
  expect(existsSync(at("state"))).toBe(true);
  expect(existsSync(at("system"))).toBe(false);
  const noState = { ...environment, STATE_DIRECTORY: closed("state") };
  expect(chooseSpoolFolder(null, noState, { systemFolder })).toBe(at("system"));
  expect(chooseSpoolFolder(null, { HOME: at("home") }, { systemFolder: closed("system") })).toBe(
    at("home/.local/state/overdue"),
  );
  expect(chooseSpoolFolder(null, noState, { systemFolder: closed("system") })).toBe(at("xdg/overdue"));
});

test("a configured folder is used unchanged, and off means none", () => {
  const { at } = places();
  expect(chooseSpoolFolder(at("set"), {})).toBe(at("set"));
  expect(chooseSpoolFolder("off", { STATE_DIRECTORY: at("state") })).toBeNull();
});

test("without a writable folder, the error names the setting", () => {
  const { closed } = places();
  const environment = { XDG_STATE_HOME: closed("xdg") };
  const choose = () => chooseSpoolFolder(null, environment, { systemFolder: closed("system") });
  expect(choose).toThrow(ConfigError);
  expect(choose).toThrow(/OVERDUE_SPOOL_FOLDER.*"off"/);
});
