// `overdue discover crontab` on files, against a server: proposals, changes, undo, and what is refused.
import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { callOverdue } from "../cli/run-overdue.ts";
import { useCast } from "../management/cast.ts";

const cast = useCast({ roles: ["api"], settings: { OVERDUE_API_RATE_LIMIT: "0" } });
const WRAPPER = fileURLToPath(new URL("../../deploy/overdue-run", import.meta.url));

const CRONTAB = `# Everything, to the other building.
0 3 * * * /srv/backup.sh --password=hunter2
*/5 * * * *\techo 'a' | logger
@reboot /srv/agent
0 6 * * * overdue-run -slug nightly -- /srv/report
`;

let folder = "";
let path = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "overdue-discover-"));
  path = join(folder, "crontab");
  await writeFile(path, CRONTAB);
  await cast.db.pool.query("delete from checks");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const discover = (...args: string[]) =>
  callOverdue(["discover", "crontab", ...args], {
    OVERDUE_SITE_URL: cast.site,
    OVERDUE_API_KEY: cast.owner.rw,
    STATE_DIRECTORY: join(folder, "state"),
  });
const write = (...args: string[]) =>
  discover(path, "--write", "--host", "web1", "--wrapper", WRAPPER, ...args);
const checks = async () => {
  const { rows } = await cast.db.pool.query<Record<string, unknown>>(
    "select uuid, name, slug, tags, description, schedule, tz, grace_seconds from checks order by id",
  );
  return rows;
};
const text = () => readFile(path, "utf8");

describe("without --write", () => {
  test("what controls a terminal is not printed: the crontab may be that of another user", async () => {
    await writeFile(
      path,
      "0 3 * * * /srv/a\u001b]0;x\u0007\u009b2J\n0 4 * * * overdue-run -slug \u001b[2J -- x\n",
    );
    const { code, out, err } = await discover(path, "--host", "web1", "--wrapper", "/opt/overdue-run");
    expect(code).toBe(0);
    expect(out + err).not.toMatch(/[^\P{Cc}\t\n]/u);
    expect(out).toContain("-0 3 * * * /srv/a?]0;x??2J\n");
  });

  test("a table and a diff are printed, and nothing changes", async () => {
    const { code, out, err } = await discover(path, "--host", "web1", "--wrapper", "/opt/overdue-run");
    expect(code).toBe(0);
    expect(out).toMatch(
      /^NAME +SCHEDULE +TIME ZONE +GRACE +SLUG +FROM\nbackup +0 3 \* \* \* +\S+ +1 hour +web1-backup +/,
    );
    expect(out).toContain(
      "+0 3 * * * /opt/overdue-run -api-url PING-URL -uuid NEW-CHECK -- $SHELL -c '/srv/backup.sh --password=hunter2'\n",
    );
    expect(err).toBe(
      `Already reporting:\n  ${path}:5: report (overdue-run, nightly)\n` +
        `Skipped:\n  ${path}:4: runs at startup (@reboot), not on a schedule\n` +
        `Warnings:\n  ${path}:3: This command contains a pipe, so its exit code is that of “logger”. A failure of “echo a” is not reported.\n` +
        "Nothing was changed. To create the checks, add --write.\n",
    );
    expect([await text(), await checks()]).toEqual([CRONTAB, []]);
    expect(await readdir(folder)).toEqual(["crontab"]);
  });

  test("as JSON", async () => {
    const { out } = await discover(
      path,
      "--json",
      "--host",
      "web1",
      "--tag",
      "prod",
      "--tag",
      "db",
      "--grace",
      "2h",
    );
    expect(JSON.parse(out)).toMatchObject({
      jobs: [
        {
          name: "backup",
          slug: "web1-backup",
          tags: "host:web1 cron prod db",
          desc: "Everything, to the other building.",
          schedule: "0 3 * * *",
          period: null,
          grace: 7_200,
          from: `${path}:2`,
          uuid: null,
        },
        { name: "echo a", grace: 7_200 },
      ],
      reporting: [{ name: "report", by: "overdue-run", check: "nightly" }],
      skipped: [{ from: `${path}:4` }],
    });
  });
});

describe("with --write", () => {
  test("checks are created and the file reports to them; a second run finds nothing; undo restores it", async () => {
    await chmod(path, 0o640);
    const { code, out } = await write();
    expect(code).toBe(0);
    expect(out).toMatch(/\nChanged .*crontab\.\nCreated 2 checks\.\n$/);
    const made = await checks();
    expect(made).toMatchObject([
      {
        name: "backup",
        slug: "web1-backup",
        schedule: "0 3 * * *",
        grace_seconds: 3_600,
        description: "Everything, to the other building.",
      },
      { name: "echo a", slug: "web1-echo-a", grace_seconds: 300 },
    ]);
    expect(JSON.stringify(made)).not.toContain("hunter2");
    const changed = await text();
    expect(changed.split("\n")[2]).toBe(
      `*/5 * * * *\t${WRAPPER} -api-url ${cast.site}/ping -uuid ${String(made[1]?.["uuid"])} -- $SHELL -c 'echo '\\''a'\\'' | logger'`,
    );
    expect((await stat(path)).mode & 0o777).toBe(0o640);
    expect((await readdir(folder)).toSorted()).toEqual(["crontab", "state"]);

    const again = await write();
    expect(again.err).toContain("No new jobs found.");
    expect([await text(), (await checks()).length]).toEqual([changed, 2]);

    const undone = await discover("--undo");
    expect(undone).toMatchObject({ code: 0, out: `Restored ${path}.\n` });
    expect(undone.err).toContain("Pause or delete them");
    expect(await text()).toBe(CRONTAB);
    expect((await discover("--undo")).err).toBe("Nothing to undo.\n");

    // The same checks are used again.
    expect((await write()).code).toBe(0);
    expect(await text()).toBe(changed);
    expect(await checks()).toHaveLength(2);
  });

  test("the command is in the description only if that is asked for", async () => {
    await write("--with-command");
    expect((await checks())[0]?.["description"]).toBe(
      "Everything, to the other building.\n\n/srv/backup.sh --password=hunter2",
    );
  });

  test("curl can follow the job instead", async () => {
    await write("--form", "curl");
    const [check] = await checks();
    expect((await text()).split("\n")[1]).toBe(
      `0 3 * * * /srv/backup.sh --password=hunter2; curl -fsS -m 10 --retry 5 -o /dev/null ${cast.site}/ping/${String(check?.["uuid"])}/$?`,
    );
  });

  test("a new job with the name of another gets a check of its own", async () => {
    await write();
    await writeFile(path, `0 4 * * * /opt/backup.sh\n${await text()}`);
    const { code } = await write();
    expect(code).toBe(0);
    expect((await checks()).map(({ slug }) => slug)).toEqual(["web1-backup", "web1-echo-a", "web1-backup-2"]);
  });

  test("a job of another file with the same name does, too", async () => {
    await write();
    const other = join(folder, "other");
    await writeFile(other, "0 4 * * * /opt/backup.sh\n");
    await discover(other, "--write", "--host", "web1", "--wrapper", WRAPPER);
    expect((await checks()).map(({ slug }) => slug)).toEqual(["web1-backup", "web1-echo-a", "web1-backup-2"]);
    expect(await readFile(other, "utf8")).toContain(`-uuid ${String((await checks())[2]?.["uuid"])} --`);
  });

  test("a check with pings that another machine may use is not taken", async () => {
    await write();
    for (const { uuid } of await checks()) {
      await cast.ask(`/api/overdue/v1/checks/${String(uuid)}/ping`, { method: "POST", key: cast.owner.rw });
    }
    await rm(join(folder, "state"), { recursive: true });
    await writeFile(path, CRONTAB);
    await write();
    expect((await checks()).map(({ slug }) => slug)).toEqual([
      "web1-backup",
      "web1-echo-a",
      "web1-backup-2",
      "web1-echo-a-2",
    ]);
  });
});

describe("what is refused", () => {
  test("undo, after someone has edited the file: the difference is shown", async () => {
    await write();
    const edited = `${await text()}0 9 * * * /srv/new.sh\n`;
    await writeFile(path, edited);
    const { code, err } = await discover("--undo");
    expect(code).toBe(1);
    expect(err).toContain(`${path} was edited since, so it was not restored:\n`);
    expect(err).toContain("\n+0 9 * * * /srv/new.sh\n");
    expect(await text()).toBe(edited);
  });

  test("a symbolic link is read, but the file behind it is named", async () => {
    await symlink(path, join(folder, "link"));
    const { out } = await discover(join(folder, "link"));
    expect(out).toContain(`--- ${path}\n`);
  });

  test.each([
    ["a missing file", ["/no/such/file"], "No crontab could be read."],
    ["both directions", ["--write", "--undo"], "Use only one of --write and --undo."],
    [
      "a missing wrapper",
      ["CRONTAB", "--write", "--wrapper", "/no/overdue-run"],
      "/no/overdue-run was not found",
    ],
    [
      "a wrapper with special characters",
      ["CRONTAB", "--wrapper", "/a b"],
      "--wrapper must be an absolute path",
    ],
    ["one URL", ["CRONTAB", "--replace-url", "https://hc-ping.com"], "--replace-url needs two URLs"],
    ["a bad grace period", ["CRONTAB", "--grace", "soon"], "Expected a duration"],
  ])("%s", async (_, args, message) => {
    const { code, err } = await discover(...args.map((one) => (one === "CRONTAB" ? path : one)));
    expect(code).toBeGreaterThan(0);
    expect(err).toContain(message);
    expect(await text()).toBe(CRONTAB);
  });

  test("a file that is not text", async () => {
    await writeFile(path, Buffer.from([0x30, 0xff, 0x0a]));
    expect((await discover(path)).err).toContain("is not UTF-8 text.");
    expect((await discover("/dev/zero")).err).toContain("/dev/zero is not a regular file.");
  });

  test("without a server, nothing is written", async () => {
    const { code } = await write("--url", "http://127.0.0.1:1");
    expect(code).toBe(1);
    expect(await text()).toBe(CRONTAB);
  });
});

describe("ping URLs of another server", () => {
  const uuid = "0f3a4b5c-1111-4222-8333-444455556666";
  const old = `0 1 * * * a.sh; curl https://hc-ping.com/${uuid}/$?\n0 2 * * * b.sh\n`;
  const replace = ["--replace-url", "https://hc-ping.com", "https://overdue.example.org/ping"];

  test("are shown, replaced, and restored; UUIDs stay", async () => {
    await writeFile(path, old);
    const shown = await discover(path, ...replace);
    expect(shown.out).toContain(`+0 1 * * * a.sh; curl https://overdue.example.org/ping/${uuid}/$?\n`);
    expect(await text()).toBe(old);
    await discover(path, ...replace, "--write");
    expect(await text()).toBe(old.replace("https://hc-ping.com", "https://overdue.example.org/ping"));
    expect((await discover(path, ...replace, "--write")).err).toBe(
      "No ping URLs of https://hc-ping.com found.\n",
    );
    await discover("--undo");
    expect(await text()).toBe(old);
  });
});
