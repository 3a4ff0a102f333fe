// Lines that run their job with a wrapper, and lines that send pings to another address.
import { describe, expect, test } from "vitest";
import { withPingBase, withWrappers } from "./crontab-lines.ts";
import { readCrontab } from "./crontab.ts";

describe("a wrapped line", () => {
  const read = (text: string) => readCrontab(text, { hasUsers: "guess" });
  const wrap = (text: string, ownStatus = false) => {
    const jobs = read(text).jobs.map(
      (job) => [job.line, { job, wrapper: "/bin/overdue-run -uuid U" }] as const,
    );
    return withWrappers(text, new Map(jobs), { ownStatus });
  };
  const run = "/bin/overdue-run -uuid U -- $SHELL -c";

  test.each([
    ["0 1 * * * a.sh", `0 1 * * * ${run} 'a.sh'`],
    ["@daily  echo 'a' # x\r", `@daily  ${run} 'echo '\\''a'\\'' # x'\r`],
    ["0 1 * * * date +\\%F%one%two", `0 1 * * * ${run} 'date +\\%F'%one%two`],
    ["0 1 * * * echo a\\\\%in", `0 1 * * * ${run} 'echo a\\\\'%in`],
    ["0 1 * * * echo a\\", `0 1 * * * ${run} 'echo a\\'`],
    ["17 * * * * root a | b", `17 * * * * root ${run} 'a | b'`],
  ])("%j becomes %j", (line, changed) => {
    expect(wrap(line)).toEqual({ text: changed, unchanged: [] });
    expect(read(changed)).toMatchObject({ jobs: [], leftOut: [], reporting: [{ check: "U" }] });
  });

  test("can end with the exit code of its job", () => {
    expect(wrap("0 1 * * * a | logger;", true).text).toBe(
      `0 1 * * * ${run} '(exec 4>&1; s=$({ { ( a  ) 3>&- || echo $? >&3; } | { ( logger ) 3>&- || :; }; } 3>&1 >&4 4>&-); set -- $s $?; exit $1)'`,
    );
    expect(wrap("0 1 * * * a | b # c", true).text).toBe(`0 1 * * * ${run} 'a | b # c'`);
    expect(wrap("0 1 * * * (a | b)", true).text).toBe(`0 1 * * * ${run} '(a | b)'`);
  });

  test.each([
    ["a shell with other quotes", "SHELL=/usr/bin/fish\n0 1 * * * a"],
    ["a command that becomes too long for cron", `\n0 1 * * * ${"ü".repeat(480)}`],
  ])("%s stays as it is", (_, text) => {
    expect(wrap(text)).toEqual({ text, unchanged: [2] });
  });
});

describe("ping URLs of another server", () => {
  const uuid = "0f3a4b5c-1111-4222-8333-444455556666";
  const to = "https://overdue.example.org/ping";
  test.each([
    [`0 1 * * * a; curl https://hc-ping.com/${uuid}/$?`, `0 1 * * * a; curl ${to}/${uuid}/$?`],
    ["curl https://hc-ping.com/aB3_-fghijklmnopqrstuv/s", `curl ${to}/aB3_-fghijklmnopqrstuv/s`],
    [`HC_API_URL="https://hc-ping.com"`, `HC_API_URL="${to}"`],
    [`runitor -api-url https://hc-ping.com/ -- a`, `runitor -api-url ${to}/ -- a`],
    ["curl https://hc-ping.com/docs", "curl https://hc-ping.com/docs"],
    [`curl https://hc-ping.company/${uuid}`, `curl https://hc-ping.company/${uuid}`],
  ])("%s becomes %s", (before, after) => {
    expect(withPingBase(before, { from: "https://hc-ping.com/", to: `${to}/` })).toBe(after);
  });
});
