// Which jobs are found in a crontab, how they are named, and how their lines report; by tables and properties.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CRONTAB_JOBS_MAX, CRONTAB_LENGTH_MAX, NAME_LENGTH_MAX } from "../limits.ts";
import { type Crontab, type HasUsers, readCrontab } from "./crontab.ts";
import { pipeWarning, withReports, withWrappers } from "./crontab-lines.ts";
import { jobName } from "./job-name.ts";

const read = (text: string, hasUsers: HasUsers = "guess") => readCrontab(text, { hasUsers });

const OF_A_USER = `# m h  dom mon dow   command
MAILTO=ops@example.org
PATH = /usr/bin

# The whole database,
# to the other house.
0 3 * * * /srv/bin/nightly-backup.sh --full
*/5 * * * *\tcd /srv && php artisan schedule:run >> /dev/null 2>&1

# 0 4 * * * /srv/bin/switched-off.sh
@daily certbot renew --quiet
CRON_TZ="Europe/Riga"
30 8 * * 1-5 /srv/bin/report.py
@reboot /srv/bin/agent
61 3 * * * /srv/bin/never
0 5 * * *
`;

describe("found jobs", () => {
  test("the jobs of a user's crontab, with zone, name and the comment above", () => {
    const { jobs } = read(OF_A_USER);
    expect(jobs).toMatchObject([
      {
        line: 7,
        schedule: "0 3 * * *",
        tz: null,
        name: "nightly-backup",
        about: "The whole database,\nto the other house.",
      },
      { line: 8, schedule: "*/5 * * * *", tz: null, name: "artisan", about: "" },
      { line: 11, schedule: "0 0 * * *", tz: null, name: "certbot renew", about: "" },
      { line: 13, schedule: "30 8 * * 1-5", tz: "Europe/Riga", name: "report", about: "" },
    ]);
  });

  test("and what cannot be watched, each line with its reason", () => {
    expect(read(OF_A_USER).leftOut.map(({ line, why }) => [line, why])).toEqual([
      [14, "reboot"],
      [15, "schedule"],
      [16, "command"],
    ]);
  });

  test("a system's crontab has a column of users, which is no part of the command", () => {
    const text = "17 * * * * root run-parts /etc/cron.hourly\n0 1 * * * www-data php /srv/app/clean.php\n";
    expect(namesOf(read(text))).toEqual(["run-parts", "clean"]);
    const headed = "# m h dom mon dow user command\n0 1 * * * www-data /srv/clean.sh\n";
    expect(namesOf(read(headed))).toEqual(["clean"]);
  });

  test("without such a sign the sixth word is the command", () => {
    expect(namesOf(read("0 1 * * * backup all"))).toEqual(["backup all"]);
  });

  test("a user in one line does not shift the others", () => {
    const text =
      "17 * * * * root run-parts /etc/cron.hourly\n0 1 * * * backup all\n0 2 * * * php /srv/clean.php\n";
    expect(read(text).jobs.map(({ user, command }) => [user, command])).toEqual([
      ["root", "run-parts /etc/cron.hourly"],
      [null, "backup all"],
      [null, "php /srv/clean.php"],
    ]);
  });

  test.each([
    ["root backup", "root"],
    ["postgres /usr/bin/vacuumdb -a", "postgres"],
    ["postgres --single", null],
    ["deploy cd /srv && ./sync", "deploy"],
    ["make test", null],
    ["nice [ -e /x ]", null],
    ["root", null],
  ])("of unknown origin, %j has the user %j", (rest, user) => {
    expect(read(`0 1 * * * ${rest}`).jobs[0]?.user).toBe(user);
  });

  test("a file is known to have users or not", () => {
    const text = "0 1 * * * deploy /srv/sync\n@daily root\n";
    expect(read(text, true)).toMatchObject({
      jobs: [{ user: "deploy", command: "/srv/sync" }],
      leftOut: [{ line: 2, why: "command" }],
    });
    expect(read(text, false).jobs.map(({ command }) => command)).toEqual(["deploy /srv/sync", "root"]);
  });

  test("settings above a job apply to it", () => {
    const text = `SHELL=/bin/bash\n"MAILTO" = ""\n0 1 * * * a\nSHELL = '/usr/bin/fish'\n0 2 * * * X=1 b\n`;
    expect(read(text).jobs.map(({ shell, command }) => [shell, command])).toEqual([
      ["/bin/bash", "a"],
      ["/usr/bin/fish", "X=1 b"],
    ]);
  });

  test("a comment above a job or at its end excludes it", () => {
    const text = "# overdue: ignore\n0 1 * * * a\n0 2 * * * b\n0 3 * * * c # overdue: ignore\n";
    const { jobs, leftOut } = read(text);
    expect(namesOf({ jobs })).toEqual(["b"]);
    expect(leftOut.map(({ line, why }) => [line, why])).toEqual([
      [2, "ignored"],
      [4, "ignored"],
    ]);
  });

  test("a job in the background is left out", () => {
    const { jobs, leftOut } = read(
      "0 1 * * * a &\n0 2 * * * b & wait\n0 3 * * * c &%input\n0 4 * * * d && e",
    );
    expect(namesOf({ jobs })).toEqual(["b", "d"]);
    expect(leftOut.map(({ line, why }) => [line, why])).toEqual([
      [1, "background"],
      [3, "background"],
    ]);
  });

  test("equal names are made unique", () => {
    expect(namesOf(read("0 1 * * * a.sh\n0 2 * * * a.sh\n0 3 * * * a.sh"))).toEqual(["a", "a 2", "a 3"]);
  });

  test("an unknown zone skips the lines below it, and Windows line endings are accepted", () => {
    const { jobs, leftOut } = read(
      "0 1 * * * a\r\nCRON_TZ=Mars/Base\r\n0 2 * * * b\r\nCRON_TZ=UTC\r\n0 3 * * * c",
    );
    expect(jobs.map(({ line, tz }) => [line, tz])).toEqual([
      [1, null],
      [5, "UTC"],
    ]);
    expect(leftOut).toEqual([{ line: 3, text: "0 2 * * * b", why: "zone" }]);
  });

  test("so many jobs and no more", () => {
    const text = Array.from({ length: CRONTAB_JOBS_MAX + 2 }, () => "0 1 * * * a").join("\n");
    const { jobs, leftOut } = read(text);
    expect(jobs).toHaveLength(CRONTAB_JOBS_MAX);
    expect(leftOut.map(({ line, why }) => [line, why])).toEqual([
      [CRONTAB_JOBS_MAX + 1, "many"],
      [CRONTAB_JOBS_MAX + 2, "many"],
    ]);
  });
});

function namesOf({ jobs }: Pick<Crontab, "jobs">): string[] {
  return jobs.map(({ name }) => name);
}

describe("lines that already report", () => {
  const uuid = "0f3a4b5c-1111-4222-8333-444455556666";
  test.each([
    [`a.sh; curl -fsS -m 10 https://overdue.example.org/ping/${uuid}/$?`, "curl", uuid],
    [`a.sh && wget -qO- "https://hc-ping.com/${uuid.toUpperCase()}"`, "wget", uuid],
    [`a.sh && curl hc-ping.com/${uuid}`, "curl", uuid],
    [`curl https://ping.example.org/${uuid}/start; a.sh`, "curl", uuid],
    ["a.sh && curl https://hc-ping.com/aB3_-fghijklmnopqrstuv/nightly?create=1", "curl", "nightly"],
    ["a.sh && curl https://a.example.org/x/ping/aB3_-fghijklmnopqrstuv/nightly/0", "curl", "nightly"],
    [`python3 -c 'get("https://hc-ping.com/${uuid}")'`, "URL", uuid],
    [
      `/usr/local/bin/overdue-run -api-url https://a.example.org/ping -uuid ${uuid} -- a.sh`,
      "overdue-run",
      uuid,
    ],
    [`runitor --uuid=${uuid} -- a.sh`, "runitor", uuid],
    ["HC_PING_KEY=x runitor -slug nightly -- a.sh", "runitor", "nightly"],
    [`CHECK_UUID=${uuid} overdue exec -- a.sh`, "overdue exec", uuid],
    ["overdue exec -- a.sh", "overdue exec", null],
  ])("%s", (command, by, check) => {
    const { jobs, reporting, leftOut } = read(`0 1 * * * ${command}`);
    expect([jobs, leftOut]).toEqual([[], []]);
    expect(reporting).toMatchObject([{ line: 1, by, check }]);
  });

  test.each([
    `curl https://api.example.org/items/${uuid}`,
    "curl https://example.org/ping/short/nightly",
    `echo ${uuid}`,
    "overdue prune",
    "cat /usr/local/bin/overdue-run.txt",
  ])("%s does not report", (command) => {
    expect(read(`0 1 * * * ${command}`).jobs).toHaveLength(1);
  });

  test("are named after their jobs, and keep their names", () => {
    const wrapped = `overdue-run -uuid ${uuid} -- $SHELL -c 'cd /srv && ./backup.sh'`;
    const { jobs, reporting } = read(`0 1 * * * ./backup.sh\n0 2 * * * ${wrapped}\n`);
    expect(reporting.map(({ name }) => name)).toEqual(["backup"]);
    expect(jobs.map(({ name }) => name)).toEqual(["backup 2"]);
  });
});

describe("what a job is called", () => {
  test.each([
    ["/usr/local/bin/backup.sh", "backup"],
    ["cd /srv/app && ./bin/sync --all", "sync"],
    ["sudo -u postgres pg_dump shop | gzip > /b/shop.gz", "pg_dump shop"],
    ["nice -n 10 ionice -c 3 rsync -a /a /b", "rsync"],
    ["flock -n /tmp/lock python3 /srv/jobs/import.py", "import"],
    ["FOO=1 BAR='a b' /usr/bin/env node /srv/report.mjs", "report"],
    ["timeout 300 restic backup /home", "restic backup"],
    ["test -x /usr/sbin/anacron || run-parts --report /etc/cron.daily", "run-parts"],
    ["command -v debian-sa1 > /dev/null && debian-sa1 1 1", "debian-sa1"],
    ["bash -c 'cd /srv; ./rotate.sh'", "rotate"],
    ["bash -lc \"bash -c 'bash -c deep'\"", "bash"],
    ["python3 -m jobs.clean", "jobs.clean"],
    ["java -Xmx1g -jar /opt/etl.jar", "etl"],
    ["(./dump && ./upload)", "dump"],
    ["mail -s hello root%the text", "mail"],
    ["constructor -x y", "constructor"],
    ["%", "job"],
    ["&&", "&&"],
  ])("%s is %s", (command, name) => {
    expect(jobName(command)).toBe(name);
  });
});

describe("a line that reports", () => {
  const report = "curl https://example.org/$?";
  const reported = (line: string) => new Map(read(line).jobs.map(({ command }) => [1, { command, report }]));
  test.each([
    ["0 1 * * * a.sh", `0 1 * * * a.sh; ${report}`],
    ["0 1 * * * a.sh ; \r", `0 1 * * * a.sh; ${report}\r`],
    ["0 1 * * * mail root%text", `0 1 * * * mail root; ${report}%text`],
    ["0 1 * * * date +\\%F > /tmp/day", `0 1 * * * date +\\%F > /tmp/day; ${report}`],
    ["0 1 * * * a && b", `0 1 * * * a && b; ${report}`],
    ["@daily find /a -exec rm {} \\;", `@daily find /a -exec rm {} \\;; ${report}`],
  ])("%j becomes %j", (line, changed) => {
    expect(withReports(line, reported(line))).toEqual({ text: changed, unchanged: [] });
  });

  test.each(["0 1 * * * a.sh # nightly", "0 1 * * * a.sh \\"])("%j stays as it is", (line) => {
    expect(withReports(line, reported(line))).toEqual({ text: line, unchanged: [1] });
  });

  test("lines that are not asked about stay as they are, to the last character", () => {
    const text = `${OF_A_USER}\n\n# end \r\n`;
    expect(withReports(text, new Map())).toEqual({ text, unchanged: [] });
  });
});

describe("a command with a pipe", () => {
  test.each([
    ["backup.sh | logger -t backup", "logger", "the exit code of “backup”"],
    ["cd /srv && ./run.sh 2>&1 | grep -v noise | logger", "logger", "the exit code of “run”"],
    ["pg_dump shop | gzip > /b/shop.gz", "gzip", "a failure of any of “pg_dump shop”, “gzip”"],
    ["job.sh |& mail root", "mail root", "the exit code of “job”"],
    ["a.sh | while read l; do echo $l; done", "while read", "a failure of any of “a”, “while read”"],
  ])("%s", (command, last, reports) => {
    expect(pipeWarning(command, { isRewritten: true })).toBe(
      `This command contains a pipe, so its exit code is that of “${last}”. The new line reports ${reports}.`,
    );
  });

  test("that is not rewritten hides failures", () => {
    expect(pipeWarning("pg_dump shop | gzip > /b", { isRewritten: false })).toBe(
      "This command contains a pipe, so its exit code is that of “gzip”. A failure of “pg_dump shop” is not reported.",
    );
  });

  test.each([
    "a.sh || b.sh",
    "a.sh 'x | y' \"z | $(b | c)\"",
    "a.sh \\| b",
    "x=$(a | b); c.sh",
    "echo hello | mail root; a.sh",
    "ps ax | grep -q agent || start-agent",
    "curl -s https://example.org | grep -q ok",
    "a.sh >| /tmp/out",
    "mail root%a | b",
    "! a | b",
  ])("%s is as the shell reports it", (command) => {
    expect(pipeWarning(command, { isRewritten: true })).toBeNull();
  });

  test.each([
    "(a | b)",
    "for d in x y; do pg_dump $d | gzip > $d; done",
    "if true; then a | b; fi",
    "case x in a|b) c;; esac",
    "a | b <<END",
    "a | 'b",
    "f() { a | b; }; f",
  ])("%s is not changed, and said to hide the exit code", (command) => {
    const line = `0 1 * * * ${command}`;
    expect(pipeWarning(command, { isRewritten: true })).toContain("Move the command to a script");
    expect(withReports(line, new Map([[1, { command, report: "x" }]]))).toEqual({
      text: line,
      unchanged: [1],
    });
  });
});

describe("whatever is pasted", () => {
  const piece = fc.oneof(
    fc.string(),
    fc.constantFrom(
      "* * * * * ",
      "@daily ",
      "\n",
      "# ",
      "CRON_TZ=",
      "root ",
      "'",
      '"',
      "&&",
      "%",
      "bash -c ",
      "sudo -u ",
      "# overdue: ignore",
      "SHELL=/bin/bash\n",
      "overdue-run -uuid ",
      "curl https://hc-ping.com/0f3a4b5c-1111-4222-8333-444455556666 ",
      "\\",
      "&",
    ),
  );
  const pasted = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(""));

  test("every line is in one place at most, and every name fits, is not empty and is there once", () => {
    fc.assert(
      fc.property(pasted, (text) => {
        const { jobs, reporting, leftOut } = read(text);
        const lines = [...jobs, ...reporting, ...leftOut].map(({ line }) => line);
        expect(new Set(lines).size).toBe(lines.length);
        const names = [...jobs, ...reporting].map(({ name }) => name);
        expect(new Set(names).size).toBe(names.length);
        for (const { name } of [...jobs, ...reporting]) {
          expect(name.trim()).not.toBe("");
          expect(Array.from(name).length).toBeLessThanOrEqual(NAME_LENGTH_MAX);
        }
      }),
    );
  });

  test("wrapped lines are lines that report, and all others stay as they are", () => {
    fc.assert(
      fc.property(pasted, fc.constantFrom<HasUsers>(true, false, "guess"), (text, hasUsers) => {
        const { jobs, reporting, leftOut } = read(text, hasUsers);
        const changes = new Map(jobs.map((job) => [job.line, { job, wrapper: "overdue-run -uuid U" }]));
        const { text: changed, unchanged } = withWrappers(text, changes, { ownStatus: false });
        const again = read(changed, hasUsers);
        expect(again.jobs.map(({ line }) => line)).toEqual(unchanged);
        expect(again.leftOut).toEqual(leftOut);
        expect(again.reporting).toHaveLength(reporting.length + jobs.length - unchanged.length);
      }),
    );
  });

  test("the longest texts are read in no time", () => {
    const fill = (one: string) => one.repeat(Math.floor(CRONTAB_LENGTH_MAX / one.length));
    const spaces = " ".repeat(CRONTAB_LENGTH_MAX - 30);
    const worst = [
      fill("0 0 30 2 * a\n"),
      fill("#0 0 30 2 * a\n"),
      fill("0 1 * * * a\n"),
      `CRON_TZ=${spaces}b`,
      `0 1 * * * a${spaces}b`,
      `0 1 * * * ${fill("'\"( ")}`,
      `0 1 * * * ${fill("sudo ")}`,
      fill("#user "),
      fill("#a\n"),
      fill("* "),
      `0 1 * * * a | ${fill("$(")}`,
      `0 1 * * * a | ${fill("(")}`,
      `0 1 * * * ${fill("a | ")}b`,
      `0 1 * * * a | ${fill('"$("')}`,
    ];
    for (const text of worst) {
      // CPU time, because other processes may delay this one.
      const before = process.cpuUsage();
      const { jobs } = read(text.slice(0, CRONTAB_LENGTH_MAX));
      withReports(text, new Map(jobs.map(({ line, command }) => [line, { command, report: "x" }])));
      for (const { command } of jobs) pipeWarning(command, { isRewritten: true });
      expect(process.cpuUsage(before).user / 1_000, text.slice(0, 20)).toBeLessThan(2_000);
    }
  });
});

test("thousands of equal lines that report are read in time, each with its own name", () => {
  const { reporting } = readCrontab("* * * * * runitor a\n".repeat(20_000), { hasUsers: false });
  const names = reporting.map(({ name }) => name);
  expect(names.slice(0, 3)).toEqual([names[0], `${names[0]} 2`, `${names[0]} 3`]);
  expect(new Set(names).size).toBe(20_000);
}, 5_000);
