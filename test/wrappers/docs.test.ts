// Runs the examples of docs/guide/jobs.md that use overdue-run.
import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { withPingUrl } from "../../src/services/web/overdue-run.ts";
import { startServers, type Servers } from "./servers.ts";
import { SCRIPT } from "./wrapper.ts";

const run = promisify(execFile);
const page = readFileSync(join(import.meta.dirname, "../../docs/guide/jobs.md"), "utf8");
const start = page.indexOf("## Use overdue-run\n");
const section = page.slice(start, page.indexOf("\n## ", start));
const blocks = [...section.matchAll(/^```\w+\n([\s\S]*?)^```/gm)].map(([, text = ""]) => text);

const folder = mkdtempSync(join(tmpdir(), "overdue-jobs-"));
let servers: Servers;
let site = "";
const fileServer = createServer((_request, response) => {
  response.end(withPingUrl(readFileSync(SCRIPT, "utf8"), servers.url("recorder")));
});

beforeAll(async () => {
  servers = await startServers();
  await new Promise<void>((resolve) => fileServer.listen(0, "127.0.0.1", resolve));
  site = `http://127.0.0.1:${(fileServer.address() as AddressInfo).port}`;
  writeFileSync(join(folder, "backup"), '#!/bin/sh\necho "backup $*"\n');
  chmodSync(join(folder, "backup"), 0o755);
  writeFileSync(join(folder, "overdue-key"), "key-of-the-project\n");
});
afterAll(async () => {
  await servers.stop();
  await new Promise((resolve) => fileServer.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});

/** The folder of the test instead of the one in the example. */
function here(text: string): string {
  return text
    .replaceAll("https://overdue.example.org", site)
    .replaceAll(/\/usr\/local\/bin|\/etc(?=\/overdue-key)/g, folder);
}

async function shell(text: string): Promise<string> {
  const { stdout } = await run("/bin/sh", ["-c", here(text)], {
    env: { PATH: `${folder}:/usr/local/bin:/usr/bin:/bin`, HOME: folder },
  });
  return stdout;
}

const queryOf = (check: string) =>
  servers.pings(check).map(({ path, query }) => ({ path, query: Object.fromEntries(query) }));

test("the examples install overdue-run, and report a job", async () => {
  const [install = "", byUuid = "", crontab = ""] = blocks;
  expect(blocks).toHaveLength(3);
  await shell(install);
  expect(await shell(byUuid)).toBe("backup --all\n");
  const uuid = "5bf66975-d4c7-4bf5-bcc8-b8d8a82ea278";
  expect(queryOf(uuid).map(({ path }) => path)).toEqual([`/${uuid}/start`, `/${uuid}/0`]);
  const [variable = "", line = ""] = crontab.trim().split("\n");
  expect(await shell(`export ${variable}; ${line.replace(/^(?:\S+ ){5}/, "")}`)).toBe("backup \n");
  expect(queryOf("key-of-the-project")).toEqual(
    ["start", "0"].map((end) => ({
      path: `/key-of-the-project/nightly-backup/${end}`,
      query: { rid: expect.any(String), create: "1", schedule: "30 2 * * *", grace: "1h" },
    })),
  );
});

test("overdue-run knows every flag of the page, and no other", () => {
  const documented = [...page.matchAll(/^\| (`-.*?) \|.*\| yes \|$/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`-([\w-]+)/g)].map(([, name = ""]) => name),
  );
  const script = readFileSync(SCRIPT, "utf8");
  const known = [
    ...script.slice(0, script.indexOf("not supported")).matchAll(/(?<=[ ;|(]|^)([a-z-]+)(?=\)| \|)/gm),
  ]
    .map(([, name = ""]) => name)
    .filter((name) => name.length > 1);
  expect(documented.filter((name) => !known.includes(name))).toEqual([]);
  expect(documented.length).toBe(17);
});
