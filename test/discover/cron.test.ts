// Debian's cron runs a crontab before and after `overdue discover crontab --write`, side by side: the jobs print the
// same, and in the second case their results arrive at the server.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { useCast } from "../management/cast.ts";
import { cronObstacle, type CronRoom, cronRoom } from "../support/cron.ts";
import { COMPILE_CACHE } from "../support/compile-cache.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const WRAPPER = fileURLToPath(new URL("../../deploy/overdue-run", import.meta.url));
/** cron starts jobs at the beginning of a minute. */
const MAIL_TIMEOUT_MS = 150_000;

const obstacle = cronObstacle();
if (obstacle !== null) console.warn(`tests with cron are skipped: ${obstacle}`);

/** Commands as they are in the crontab, and how they end. Each prints something. */
const CASES: readonly (readonly [string, number])[] = [
  [`echo "it's" 'a "quoted" word' # not a comment of cron`, 0],
  ["printf '\\%s-\\%d\\n' percent 100; date +\\%Y | grep -c .", 0],
  ["cat; echo ended%first line%second 100\\% line%", 0],
  ["echo $HOME $LOGNAME $SHELL $FOO \"$FOO\" '$FOO' $0 $# \\$x", 0],
  ["cd / && pwd; x='two  words'; echo $x \"$x\"; echo `echo tick` $(echo dollar)", 0],
  ["echo to stderr >&2; exit 7", 7],
  ["echo piped | tr a-z A-Z | cat -n", 0],
  ["no-such-program-here", 127],
  ["echo back\\\\\\\\slash 'single\\\\' \"dou\\\\ble\" \\'", 0],
  ["for i in 1 2 3; do echo n$i; done; test -e /no/such/file", 1],
  ["FOO=local sh -c 'echo inner $FOO'; echo outer $FOO; [ 1 = 1 ] && echo yes || echo no", 0],
  ["echo ü é 日本 ~ * | head -c 20; kill -TERM $$", 143],
];
/** With SHELL=/bin/bash. */
const BASH_CASES: readonly (readonly [string, number])[] = [
  ['cat <<< "here\'s $FOO"; set -o pipefail; false | cat; echo $?', 0],
  ["echo {a,b}$'\\x41' ${FOO^^} [[ x ]]; exit 3", 3],
];
const ALL = [...CASES, ...BASH_CASES];

const CRONTAB = [
  "# A crontab of a test",
  // Debian's cron ignores it.
  "CRON_TZ=Asia/Tokyo",
  "PATH=/usr/bin:/bin",
  'FOO="a  value"',
  ...ALL.flatMap(([command], index) => [
    "",
    ...(index === CASES.length ? ["SHELL=/bin/bash"] : []),
    `MAILTO=case-${index}`,
    `* * * * *\t${command}`,
  ]),
  "",
].join("\n");

describe.skipIf(obstacle !== null)("crontabs in Debian's cron", () => {
  const cast = useCast({ roles: ["api", "ping"], settings: { OVERDUE_API_RATE_LIMIT: "0" } });
  let folder = "";
  let before: CronRoom;
  let after: CronRoom;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "overdue-cron-"));
    before = cronRoom(join(folder, "before"));
    after = cronRoom(join(folder, "after"));
    writeFileSync(join(folder, "crontab"), CRONTAB);
    for (const room of [before, after]) {
      const { code, err } = await room.run(`crontab "${folder}/crontab"`);
      if (code !== 0) throw new Error(err);
    }
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const overdue = (...args: string[]) =>
    after.run(`"${process.execPath}" "${MAIN}" discover crontab ${args.join(" ")}`, {
      ...COMPILE_CACHE,
      OVERDUE_SITE_URL: cast.site,
      OVERDUE_API_KEY: cast.owner.rw,
      STATE_DIRECTORY: join(folder, "state"),
    });

  test("are changed, print the same, report their exit codes, and are restored", async () => {
    // A file of the system has a column of users.
    const system = "MAILTO=system\n* * * * * root id -un; echo in cron.d\n";
    for (const room of ["before", "after"])
      writeFileSync(join(folder, room, "cron.d/job"), system, { mode: 0o644 });

    const written = await overdue("--write", "--host", "web1", "--wrapper", WRAPPER, "--json");
    expect([written.code, written.err]).toEqual([0, ""]);
    const { jobs, skipped, warnings } = JSON.parse(written.out) as {
      jobs: { uuid: string; from: string; tz: string }[];
      skipped: unknown[];
      warnings: string[];
    };
    expect(jobs.filter(({ tz }) => tz === "Asia/Tokyo")).toEqual([]);
    expect(warnings[0]).toContain("The cron of this machine ignores CRON_TZ");
    expect(skipped).toEqual([]);
    expect(jobs).toHaveLength(ALL.length + 1);
    const again = await overdue("--host", "web1", "--wrapper", WRAPPER, "--json");
    expect(JSON.parse(again.out)).toMatchObject({ jobs: [], diff: "" });

    const crons = [before.start(), after.start()];
    try {
      const users = [...ALL.map((_, index) => `case-${index}`), "system"];
      await expect
        .poll(() => users.filter((user) => before.mail(user) === null || after.mail(user) === null), {
          timeout: MAIL_TIMEOUT_MS,
          interval: 500,
        })
        .toEqual([]);
      for (const [index, user] of users.entries()) {
        const command = ALL[index]?.[0] ?? "system";
        expect([command, sorted(after.mail(user))]).toEqual([command, sorted(before.mail(user))]);
      }
      await expect
        .poll(() => exitCodes(jobs), { timeout: MAIL_TIMEOUT_MS })
        .toEqual([...ALL.map(([, code]) => code), 0]);
    } finally {
      for (const cron of crons) cron.kill("SIGKILL");
    }

    expect(await overdue("--undo")).toMatchObject({ code: 0 });
    expect((await after.run("crontab -l")).out).toBe(CRONTAB);
    expect(readFileSync(join(folder, "after/cron.d/job"), "utf8")).toBe(system);
    expect(existsSync(join(folder, "after/cron.d/.job"))).toBe(false);
  });

  /** The exit code of the last ping of each check; null without one. */
  async function exitCodes(jobs: readonly { uuid: string }[]): Promise<(number | null)[]> {
    const { rows } = await cast.db.pool.query<{ uuid: string; exit_status: number | null }>(
      `select distinct on (c.uuid) c.uuid, p.exit_status from checks c join pings p on p.check_id = c.id
        where p.exit_status is not null order by c.uuid, p.n desc`,
    );
    const found = new Map(rows.map(({ uuid, exit_status }) => [uuid, exit_status]));
    return jobs.map(({ uuid }) => found.get(uuid) ?? null);
  }
});

/** Output and errors come through two pipes, so their order can differ. */
function sorted(text: string | null): string[] {
  return (text ?? "").split("\n").toSorted();
}
