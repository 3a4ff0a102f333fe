// Snippets for what runs jobs by the clock, and for shells.
import { curl, type Facts, JOB, type Snippet } from "./snippet.ts";

const NEW_ID = "$(cat /proc/sys/kernel/random/uuid)";

const PIPES =
  "If the job contains a pipe, the shell returns the exit code of its last command only. To get a line that reports the job's own exit code, paste your crontab under New check.";

const crontab: Snippet = {
  name: "crontab",
  label: "crontab",
  note: PIPES,
  texts: {
    success: (facts) => `${facts.cron} ${JOB} && ${curl(facts, facts.url)}`,
    whole: (facts) =>
      `${facts.cron} ${curl(facts, `${facts.url}/start`)}; ${JOB}; ${curl(facts, `${facts.url}/$?`)}`,
    rid: (facts) =>
      `${facts.cron} r=${NEW_ID}; ${curl(facts, `"${facts.url}/start?rid=$r"`)}; ${JOB}; ${curl(facts, `"${facts.url}/$??rid=$r"`)}`,
  },
};

const unit = (lines: readonly string[], { calendar }: Facts) =>
  [
    "# /etc/systemd/system/job.service",
    "[Service]",
    "Type=oneshot",
    ...lines,
    "",
    "# /etc/systemd/system/job.timer",
    "[Timer]",
    `OnCalendar=${calendar}`,
    "[Install]",
    "WantedBy=timers.target",
  ].join("\n");

/** systemd tells how the job ended: a number, or the name of the signal that killed it. */
const ENDED = "case $$EXIT_CODE in exited) s=$$EXIT_STATUS;; *) s=fail;; esac";

const systemd: Snippet = {
  name: "systemd",
  label: "systemd",
  note: "Then run: systemctl daemon-reload && systemctl enable --now job.timer",
  texts: {
    success: (facts) => unit([`ExecStart=${JOB}`, `ExecStartPost=-${curl(facts, facts.url)}`], facts),
    whole: (facts) =>
      unit(
        [
          `ExecStartPre=-${curl(facts, `${facts.url}/start`)}`,
          `ExecStart=${JOB}`,
          `ExecStopPost=-/bin/sh -c '${ENDED}; ${curl(facts, `${facts.url}/$$s`)}'`,
        ],
        facts,
      ),
    rid: (facts) =>
      unit(
        [
          "RuntimeDirectory=job",
          "ExecStartPre=/bin/sh -c 'cat /proc/sys/kernel/random/uuid >$$RUNTIME_DIRECTORY/rid'",
          `ExecStartPre=-/bin/sh -c '${curl(facts, `"${facts.url}/start?rid=$$(cat $$RUNTIME_DIRECTORY/rid)"`)}'`,
          `ExecStart=${JOB}`,
          `ExecStopPost=-/bin/sh -c '${ENDED}; ${curl(facts, `"${facts.url}/$$s?rid=$$(cat $$RUNTIME_DIRECTORY/rid)"`)}'`,
        ],
        facts,
      ),
  },
};

const bash: Snippet = {
  name: "bash",
  label: "Bash",
  note: "Sends the end of the output too, so you can read and compare it here.",
  texts: {
    success: (facts) => ["#!/bin/bash", "set -e -o pipefail", JOB, curl(facts, facts.url)].join("\n"),
    whole: (facts) => wrapped(facts, { rid: false }),
    rid: (facts) => wrapped(facts, { rid: true }),
  },
};

function wrapped(facts: Facts, { rid }: { rid: boolean }): string {
  const tail = rid ? "?rid=$rid" : "";
  return [
    "#!/bin/bash",
    "set -o pipefail",
    `url=${facts.url}`,
    ...(rid ? [`rid=${NEW_ID}`] : []),
    curl(facts, `"$url/start${tail}"`),
    `output=$(${JOB} 2>&1)`,
    "status=$?",
    'printf %s "$output" | tail -c 100000 |',
    `  curl -fsS -m 10 --retry 5 -o /dev/null --data-binary @- "$url/$status${tail}"`,
    "exit $status",
  ].join("\n");
}

const call = ({ isPostOnly }: Facts, address: string) =>
  `wget -q -O /dev/null -T 10 -t 5${isPostOnly ? " --post-data=''" : ""} ${address}`;

const wget: Snippet = {
  name: "wget",
  label: "wget",
  note: "If the job contains a pipe, the shell returns the exit code of its last command only. In Bash, put “set -o pipefail” first.",
  texts: {
    success: (facts) => `${JOB} && ${call(facts, facts.url)}`,
    whole: (facts) => [call(facts, `${facts.url}/start`), JOB, call(facts, `${facts.url}/$?`)].join("\n"),
    rid: (facts) =>
      [
        `rid=${NEW_ID}`,
        call(facts, `"${facts.url}/start?rid=$rid"`),
        JOB,
        call(facts, `"${facts.url}/$??rid=$rid"`),
      ].join("\n"),
  },
};

const invoke = (address: string) =>
  `Invoke-RestMethod ${address} -Method Post -TimeoutSec 10 -MaximumRetryCount 5 -RetryIntervalSec 2 | Out-Null`;

const powershell: Snippet = {
  name: "powershell",
  label: "PowerShell",
  note: "For PowerShell 7. Windows PowerShell 5.1 doesn't support -MaximumRetryCount and -RetryIntervalSec. Remove them there.",
  texts: {
    success: ({ url }) => ["$ErrorActionPreference = 'Stop'", "& C:\\jobs\\job.ps1", invoke(url)].join("\n"),
    whole: ({ url }) => powershellWhole(url, ""),
    rid: ({ url }) => ["$rid = [guid]::NewGuid()", powershellWhole(url, "?rid=$rid")].join("\n"),
  },
};

/** What cannot be sent must not keep the job from running, nor count as its failure. */
function powershellWhole(url: string, tail: string): string {
  return [
    `$url = '${url}'`,
    "$ErrorActionPreference = 'Stop'",
    "",
    "function Send-Ping($path, $body) {",
    "  try {",
    `    ${invoke(`"$url$path${tail}" -Body $body`)}`,
    '  } catch { Write-Warning "$_" }',
    "}",
    "",
    "Send-Ping '/start'",
    "try {",
    "  & C:\\jobs\\job.ps1",
    "} catch {",
    "  Send-Ping '/fail' \"$_\"",
    "  throw",
    "}",
    "Send-Ping ''",
  ].join("\n");
}

const windowsTask: Snippet = {
  name: "windows-task",
  label: "Windows task",
  note: "Windows 10 and later include curl.exe.",
  texts: {
    success: ({ url, isPostOnly }) =>
      `schtasks /create /tn job /sc daily /st 03:00 /tr "cmd /c C:\\jobs\\job.bat && curl.exe -fsS -m 10 --retry 5 -o NUL${isPostOnly ? " -X POST" : ""} ${url}"`,
    whole: (facts) => batch(facts, ""),
    rid: (facts) => batch(facts, "?rid=%rid%"),
  },
};

function batch({ url, isPostOnly }: Facts, tail: string): string {
  const line = `curl.exe -fsS -m 10 --retry 5 -o NUL${isPostOnly ? " -X POST" : ""}`;
  const newId = "powershell -NoProfile -Command [guid]::NewGuid().ToString()";
  return [
    "rem C:\\jobs\\monitored-job.bat: run this file from the scheduled task",
    ...(tail === "" ? [] : [`for /f %%i in ('${newId}') do set rid=%%i`]),
    `${line} "${url}/start${tail}"`,
    "call C:\\jobs\\job.bat",
    `${line} "${url}/%ERRORLEVEL%${tail}"`,
  ].join("\n");
}

export const SHELL_SNIPPETS: readonly Snippet[] = [crontab, systemd, bash, wget, powershell, windowsTask];
