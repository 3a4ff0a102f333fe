// Snippets: lines to put into a job so that it sends pings. A test runs each of them if its interpreter is installed.
import type { CheckPage } from "../../src/contract/api/check-page.ts";
import { curlLine } from "../../src/contract/api/words.ts";

/** The values to fill in. */
export type Facts = {
  /** The check's ping URL, without a slash at its end. */
  url: string;
  /** Null: signals by mail are not received. */
  mail: string | null;
  /** The job's schedule in the syntax of cron and systemd. */
  cron: string;
  calendar: string;
  /** The check accepts POST only. */
  isPostOnly: boolean;
};

/** A ping on success only; at the start and at the end; the same with a run ID, for overlapping runs. */
export type Variant = "success" | "whole" | "rid";

export const VARIANTS: readonly Variant[] = ["success", "whole", "rid"];

export type Snippet = {
  name: string;
  label: string;
  /** Shown below the lines. */
  note?: string;
  /** Variants that make no sense for it are left out; null: not for this check. */
  texts: { [V in Variant]?: (facts: Facts) => string | null };
};

/** The placeholder for the job in shell commands. */
export const JOB = "/usr/local/bin/job.sh";

/** A ping from a shell command. */
function curl({ isPostOnly }: Facts, address: string): string {
  return curlLine(address, { onlyPost: isPostOnly, isQuiet: true });
}

// The values to fill in for a check.

type Times = Pick<Facts, "cron" | "calendar">;

/** Once a day: the default if there is no matching line, for the user to change. */
const DAILY: Times = { cron: "0 3 * * *", calendar: "*-*-* 03:00:00" };
const WEEKLY: Times = { cron: "0 3 * * 0", calendar: "Sun *-*-* 03:00:00" };
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;

export function factsOf({ settings, pingAddresses }: CheckPage, { bySlug }: { bySlug: boolean }): Facts {
  // More than one line is more than one schedule: a crontab takes one.
  const [first = ""] = settings.schedule.split("\n");
  return {
    url: bySlug && pingAddresses.slugUrl !== null ? pingAddresses.slugUrl : pingAddresses.url,
    mail: pingAddresses.email,
    ...timesOf(settings.kind === "simple" ? settings.timeoutSeconds : DAY),
    ...(settings.kind === "cron" && { cron: first.trim() }),
    ...(settings.kind === "oncalendar" && { calendar: first.trim() }),
    isPostOnly: settings.methods === "POST",
  };
}

/** A schedule that runs about as often as a ping is expected. */
export function timesOf(everySeconds: number): Times {
  const minutes = everySeconds / MINUTE;
  const hours = everySeconds / HOUR;
  if (everySeconds === MINUTE) return { cron: "* * * * *", calendar: "*-*-* *:*:00" };
  if (Number.isInteger(minutes) && minutes < 60 && 60 % minutes === 0) {
    return { cron: `*/${minutes} * * * *`, calendar: `*-*-* *:00/${minutes}:00` };
  }
  if (everySeconds === HOUR) return { cron: "0 * * * *", calendar: "*-*-* *:00:00" };
  if (Number.isInteger(hours) && hours < 24 && 24 % hours === 0) {
    return { cron: `0 */${hours} * * *`, calendar: `*-*-* 00/${hours}:00:00` };
  }
  return everySeconds === WEEK ? WEEKLY : DAILY;
}

// Schedulers and shells.

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

/** systemd passes the result of the job: an exit status, or the name of the signal that killed it. */
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

/** A ping that fails must not keep the job from running, nor count as its failure. */
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

const SHELL_SNIPPETS: readonly Snippet[] = [crontab, systemd, bash, wget, powershell, windowsTask];

// Interpreted languages. Each snippet tries five times, gives up after 10 s, and never fails the job.

/** The parts of a program: how a ping is sent, and how each variant uses it. */
type Program = { head: (facts: Facts, variant: Variant) => string; body: Record<Variant, string> };

function program({ head, body }: Program): Snippet["texts"] {
  const text = (variant: Variant) => (facts: Facts) => `${head(facts, variant)}\n\n${body[variant]}`;
  return { success: text("success"), whole: text("whole"), rid: text("rid") };
}

const python: Snippet = {
  name: "python",
  label: "Python",
  texts: program({
    head: ({ url }, variant) =>
      [
        "import time",
        ...(variant === "success" ? [] : ["import traceback"]),
        "import urllib.request",
        ...(variant === "rid" ? ["import uuid"] : []),
        "",
        `URL = "${url}"`,
        ...(variant === "rid" ? ['RID = f"?rid={uuid.uuid4()}"'] : []),
        "",
        "",
        'def ping(path="", body=b""):',
        "    for attempt in range(5):",
        "        try:",
        `            address = URL + path${variant === "rid" ? " + RID" : ""}`,
        "            return urllib.request.urlopen(address, data=body, timeout=10).close()",
        "        except OSError:",
        "            time.sleep(2**attempt)",
        "",
        "",
        "def job():",
        '    print("do the work here")',
        "",
      ].join("\n"),
    body: {
      success: "job()\nping()",
      whole: pythonWhole(),
      rid: pythonWhole(),
    },
  }),
};

function pythonWhole(): string {
  return [
    'ping("/start")',
    "try:",
    "    job()",
    "except BaseException:",
    '    ping("/fail", traceback.format_exc().encode())',
    "    raise",
    "ping()",
  ].join("\n");
}

const nodeWhole = [
  'await ping("/start");',
  "try {",
  "  await job();",
  "} catch (error) {",
  '  await ping("/fail", String(error.stack));',
  "  throw error;",
  "}",
  "await ping();",
].join("\n");

const node: Snippet = {
  name: "node",
  label: "Node.js",
  texts: program({
    head: ({ url }, variant) =>
      [
        `const address = "${url}";`,
        ...(variant === "rid" ? ["const rid = `?rid=${crypto.randomUUID()}`;"] : []),
        "",
        'async function ping(path = "", body = "") {',
        "  for (let attempt = 0; attempt < 5; attempt += 1) {",
        "    try {",
        `      const url = address + path${variant === "rid" ? " + rid" : ""};`,
        '      const request = { method: "POST", body, signal: AbortSignal.timeout(10_000) };',
        "      if ((await fetch(url, request)).ok) return;",
        "    } catch {",
        "      // Retry below.",
        "    }",
        "    await new Promise((done) => setTimeout(done, 1000 * 2 ** attempt));",
        "  }",
        "}",
        "",
        "async function job() {",
        '  console.log("do the work here");',
        "}",
      ].join("\n"),
    body: { success: "await job();\nawait ping();", whole: nodeWhole, rid: nodeWhole },
  }),
  note: "Save as a module (.mjs). Requires Node.js 20 or later.",
};

const rubyWhole = [
  'ping "/start"',
  "begin",
  "  job",
  "rescue Exception => error",
  '  ping "/fail", error.full_message(highlight: false)',
  "  raise",
  "end",
  "ping",
].join("\n");

const ruby: Snippet = {
  name: "ruby",
  label: "Ruby",
  texts: program({
    head: ({ url }, variant) =>
      [
        'require "net/http"',
        ...(variant === "rid" ? ['require "securerandom"'] : []),
        "",
        `URL = "${url}"`,
        ...(variant === "rid" ? ['RID = "?rid=#{SecureRandom.uuid}"'] : []),
        "",
        'def ping(path = "", body = "")',
        `  uri = URI(URL + path${variant === "rid" ? " + RID" : ""})`,
        '  limits = { use_ssl: uri.scheme == "https", open_timeout: 10, read_timeout: 10 }',
        "  5.times do |attempt|",
        "    return Net::HTTP.start(uri.host, uri.port, limits) { |http| http.post(uri.request_uri, body).value }",
        "  rescue StandardError",
        "    sleep 2**attempt",
        "  end",
        "end",
        "",
        "def job",
        '  puts "do the work here"',
        "end",
      ].join("\n"),
    body: { success: "job\nping", whole: rubyWhole, rid: rubyWhole },
  }),
};

const phpWhole = [
  "ping('/start');",
  "try {",
  "    job();",
  "} catch (Throwable $error) {",
  "    ping('/fail', (string) $error);",
  "    throw $error;",
  "}",
  "ping();",
].join("\n");

const php: Snippet = {
  name: "php",
  label: "PHP",
  texts: program({
    head: ({ url }, variant) =>
      [
        "<?php",
        `const URL = '${url}';`,
        ...(variant === "rid"
          ? [
              "$rid = '?rid=' . vsprintf('%s%s-%s-4%.3s-8%.3s-%s%s%s', str_split(bin2hex(random_bytes(16)), 4));",
            ]
          : []),
        "",
        "function ping(string $path = '', string $body = ''): void",
        "{",
        ...(variant === "rid" ? ["    global $rid;"] : []),
        "    $http = ['method' => 'POST', 'content' => $body, 'timeout' => 10,",
        "        'header' => 'Content-Type: text/plain'];",
        "    $context = stream_context_create(['http' => $http]);",
        "    for ($attempt = 0; $attempt < 5; $attempt++) {",
        `        if (@file_get_contents(URL . $path${variant === "rid" ? " . $rid" : ""}, false, $context) !== false) {`,
        "            return;",
        "        }",
        "        sleep(2 ** $attempt);",
        "    }",
        "}",
        "",
        "function job(): void",
        "{",
        '    echo "do the work here\\n";',
        "}",
      ].join("\n"),
    body: { success: "job();\nping();", whole: phpWhole, rid: phpWhole },
  }),
};

const SCRIPT_SNIPPETS: readonly Snippet[] = [python, node, ruby, php];

// Compiled languages, with their standard library only.

const forEach = (text: (facts: Facts, variant: Variant) => string): Snippet["texts"] => ({
  success: (facts) => text(facts, "success"),
  whole: (facts) => text(facts, "whole"),
  rid: (facts) => text(facts, "rid"),
});

const go: Snippet = {
  name: "go",
  label: "Go",
  texts: forEach(({ url }, variant) => {
    const isWhole = variant !== "success";
    const isRid = variant === "rid";
    return [
      "package main",
      "",
      "import (",
      ...(isRid ? ['\t"crypto/rand"'] : []),
      '\t"fmt"',
      '\t"net/http"',
      ...(isWhole ? ['\t"os"'] : []),
      '\t"strings"',
      '\t"time"',
      ")",
      "",
      `const url = "${url}"`,
      "",
      "var client = http.Client{Timeout: 10 * time.Second}",
      ...(isRid ? ["var rid = newRid()"] : []),
      "",
      "func ping(path, body string) {",
      "\tfor attempt := range 5 {",
      `\t\tanswer, err := client.Post(url+path${isRid ? "+rid" : ""}, "text/plain", strings.NewReader(body))`,
      "\t\tif err == nil {",
      "\t\t\tanswer.Body.Close()",
      "\t\t\tif answer.StatusCode < 300 {",
      "\t\t\t\treturn",
      "\t\t\t}",
      "\t\t}",
      "\t\ttime.Sleep(time.Second << attempt)",
      "\t}",
      "}",
      "",
      ...(isRid
        ? [
            "func newRid() string {",
            "\tb := make([]byte, 16)",
            "\trand.Read(b)",
            '\treturn fmt.Sprintf("?rid=%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])',
            "}",
            "",
          ]
        : []),
      "func job() error {",
      '\tfmt.Println("do the work here")',
      "\treturn nil",
      "}",
      "",
      "func main() {",
      ...(isWhole ? ['\tping("/start", "")'] : []),
      "\tif err := job(); err != nil {",
      ...(isWhole ? ['\t\tping("/fail", err.Error())', "\t\tos.Exit(1)"] : ["\t\tpanic(err)"]),
      "\t}",
      '\tping("", "")',
      "}",
    ].join("\n");
  }),
  note: "Requires Go 1.22 or later.",
};

const java: Snippet = {
  name: "java",
  label: "Java",
  texts: forEach(({ url }, variant) => {
    const isRid = variant === "rid";
    return [
      "import java.net.URI;",
      "import java.net.http.*;",
      "import java.time.Duration;",
      ...(isRid ? ["import java.util.UUID;"] : []),
      "",
      "public class Job {",
      `    static final String ADDRESS = "${url}";`,
      ...(isRid ? ['    static final String RID = "?rid=" + UUID.randomUUID();'] : []),
      "    static final HttpClient HTTP = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(10)).build();",
      "",
      "    static void ping(String path, String body) throws InterruptedException {",
      `        var request = HttpRequest.newBuilder(URI.create(ADDRESS + path${isRid ? " + RID" : ""}))`,
      "            .timeout(Duration.ofSeconds(10))",
      "            .POST(HttpRequest.BodyPublishers.ofString(body)).build();",
      "        for (int attempt = 0; attempt < 5; attempt++) {",
      "            try {",
      "                var answer = HTTP.send(request, HttpResponse.BodyHandlers.discarding());",
      "                if (answer.statusCode() < 300) return;",
      "            } catch (java.io.IOException e) {",
      "                // Retry below.",
      "            }",
      "            Thread.sleep(1000L << attempt);",
      "        }",
      "    }",
      "",
      "    static void job() {",
      '        System.out.println("do the work here");',
      "    }",
      "",
      "    public static void main(String[] args) throws Exception {",
      ...(variant === "success"
        ? ["        job();"]
        : [
            '        ping("/start", "");',
            "        try {",
            "            job();",
            "        } catch (Exception error) {",
            '            ping("/fail", error.toString());',
            "            throw error;",
            "        }",
          ]),
      '        ping("", "");',
      "    }",
      "}",
    ].join("\n");
  }),
  note: "Requires Java 11 or later. Run it with: java Job.java",
};

const csharp: Snippet = {
  name: "csharp",
  label: "C#",
  texts: forEach(({ url }, variant) => {
    const isRid = variant === "rid";
    return [
      `const string address = "${url}";`,
      ...(isRid ? ['var rid = $"?rid={Guid.NewGuid()}";'] : []),
      "using var http = new HttpClient { Timeout = TimeSpan.FromSeconds(10) };",
      "",
      'async Task Ping(string path = "", string body = "")',
      "{",
      "    for (var attempt = 0; attempt < 5; attempt++)",
      "    {",
      "        try",
      "        {",
      `            using var answer = await http.PostAsync(address + path${isRid ? " + rid" : ""}, new StringContent(body));`,
      "            if (answer.IsSuccessStatusCode) return;",
      "        }",
      "        catch (Exception e) when (e is HttpRequestException or TaskCanceledException) { }",
      "        await Task.Delay(1000 << attempt);",
      "    }",
      "}",
      "",
      'void Job() => Console.WriteLine("do the work here");',
      "",
      ...(variant === "success"
        ? ["Job();"]
        : [
            'await Ping("/start");',
            "try { Job(); }",
            'catch (Exception error) { await Ping("/fail", error.ToString()); throw; }',
          ]),
      "await Ping();",
    ].join("\n");
  }),
  note: "Save as Program.cs. Requires .NET 6 or later.",
};

const rust: Snippet = {
  name: "rust",
  label: "Rust",
  texts: forEach(({ url }, variant) => {
    const isRid = variant === "rid";
    return [
      "use std::process::Command;",
      "",
      `const URL: &str = "${url}";`,
      "",
      `fn ping(path: &str, body: &str${isRid ? ", rid: &str" : ""}) {`,
      '    let flags = ["-fsS", "-m", "10", "--retry", "5", "-o", "/dev/null", "--data-raw", body];',
      `    let url = format!("{URL}{path}${isRid ? "?rid={rid}" : ""}");`,
      '    let _ = Command::new("curl").args(flags).arg(url).status();',
      "}",
      "",
      "fn job() -> Result<(), String> {",
      '    println!("do the work here");',
      "    Ok(())",
      "}",
      "",
      "fn main() {",
      ...(isRid
        ? [
            '    let rid = std::fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap_or_default();',
            "    let rid = rid.trim();",
          ]
        : []),
      ...(variant === "success" ? [] : [`    ping("/start", ""${isRid ? ", rid" : ""});`]),
      "    match job() {",
      `        Ok(()) => ping("", ""${isRid ? ", rid" : ""}),`,
      variant === "success"
        ? "        Err(_) => std::process::exit(1),"
        : `        Err(why) => ping("/fail", &why${isRid ? ", rid" : ""}),`,
      "    }",
      "}",
    ].join("\n");
  }),
  note: "Uses curl, so no crate is needed.",
};

const COMPILED_SNIPPETS: readonly Snippet[] = [go, java, csharp, rust];

// Containers and pipelines.

const IMAGE = "registry.example/job:latest";

const docker: Snippet = {
  name: "docker",
  label: "Docker",
  texts: {
    success: (facts) => `docker run --rm ${IMAGE} && ${curl(facts, facts.url)}`,
    whole: (facts) =>
      [curl(facts, `${facts.url}/start`), `docker run --rm ${IMAGE}`, curl(facts, `${facts.url}/$?`)].join(
        "\n",
      ),
    rid: (facts) =>
      [
        `rid=${NEW_ID}`,
        curl(facts, `"${facts.url}/start?rid=$rid"`),
        `docker run --rm ${IMAGE}`,
        curl(facts, `"${facts.url}/$??rid=$rid"`),
      ].join("\n"),
  },
};

const cronJob = ({ cron }: Facts, lines: readonly string[]) =>
  [
    "apiVersion: batch/v1",
    "kind: CronJob",
    "metadata:",
    "  name: job",
    "spec:",
    `  schedule: "${cron}"`,
    "  jobTemplate:",
    "    spec:",
    "      backoffLimit: 0",
    "      template:",
    "        spec:",
    "          restartPolicy: Never",
    "          containers:",
    "            - name: job",
    `              image: ${IMAGE}`,
    "              command: [/bin/sh, -c]",
    "              args:",
    "                - |",
    ...lines.map((line) => `                  ${line}`),
  ].join("\n");

const kubernetes: Snippet = {
  name: "kubernetes",
  label: "Kubernetes",
  note: "The image needs curl. For BusyBox images, use the wget commands.",
  texts: {
    success: (facts) => cronJob(facts, [`/job && ${curl(facts, facts.url)}`]),
    whole: (facts) =>
      cronJob(facts, [
        curl(facts, `${facts.url}/start`),
        "/job; status=$?",
        curl(facts, `${facts.url}/$status`),
        "exit $status",
      ]),
    rid: (facts) =>
      cronJob(facts, [
        `rid=${NEW_ID}`,
        curl(facts, `"${facts.url}/start?rid=$rid"`),
        "/job; status=$?",
        curl(facts, `"${facts.url}/$status?rid=$rid"`),
        "exit $status",
      ]),
  },
};

/** A ping that fails must not keep the job from running, nor count as its failure. */
const tried = (facts: Facts, address: string) => `${curl(facts, address)} || true`;

const workflow = ({ cron }: Facts, steps: readonly string[]) =>
  [
    "on:",
    "  schedule:",
    `    - cron: "${cron}"`,
    "jobs:",
    "  job:",
    "    runs-on: ubuntu-latest",
    "    steps:",
    ...steps.map((step) => `      ${step}`),
  ].join("\n");

const github: Snippet = {
  name: "github",
  label: "GitHub Actions",
  note: "GitHub schedules run in UTC and are often late. Set a generous grace period for this check.",
  texts: {
    success: (facts) => workflow(facts, ["- run: ./job.sh", `- run: ${tried(facts, facts.url)}`]),
    whole: (facts) =>
      workflow(facts, [
        `- run: ${tried(facts, `${facts.url}/start`)}`,
        "- run: ./job.sh",
        `- run: ${tried(facts, facts.url)}`,
        "- if: failure()",
        `  run: ${tried(facts, `${facts.url}/fail`)}`,
      ]),
    rid: (facts) =>
      workflow(facts, [
        `- run: echo "RID=${NEW_ID}" >> "$GITHUB_ENV"`,
        `- run: ${tried(facts, `"${facts.url}/start?rid=$RID"`)}`,
        "- run: ./job.sh",
        `- run: ${tried(facts, `"${facts.url}?rid=$RID"`)}`,
        "- if: failure()",
        `  run: ${tried(facts, `"${facts.url}/fail?rid=$RID"`)}`,
      ]),
  },
};

const gitlab: Snippet = {
  name: "gitlab",
  label: "GitLab CI",
  note: "Set the schedule under Build → Pipeline schedules.",
  texts: {
    success: (facts) =>
      ["job:", "  script:", "    - ./job.sh", `    - ${tried(facts, facts.url)}`].join("\n"),
    whole: (facts) =>
      [
        "job:",
        "  before_script:",
        `    - ${tried(facts, `${facts.url}/start`)}`,
        "  script:",
        "    - ./job.sh",
        "  after_script:",
        '    - if [ "$CI_JOB_STATUS" = success ]; then s=0; else s=fail; fi',
        `    - ${tried(facts, `${facts.url}/$s`)}`,
      ].join("\n"),
    // The last step runs in a shell of its own, which has the files but not the variables of the others.
    rid: (facts) =>
      [
        "job:",
        "  before_script:",
        "    - cat /proc/sys/kernel/random/uuid > .rid",
        `    - ${tried(facts, `"${facts.url}/start?rid=$(cat .rid)"`)}`,
        "  script:",
        "    - ./job.sh",
        "  after_script:",
        '    - if [ "$CI_JOB_STATUS" = success ]; then s=0; else s=fail; fi',
        `    - ${tried(facts, `"${facts.url}/$s?rid=$(cat .rid)"`)}`,
      ].join("\n"),
  },
};

const task = (name: string, url: string, indent: string) =>
  [
    `- name: ${name}`,
    "  ansible.builtin.uri:",
    `    url: ${url}`,
    "    method: POST",
    "    timeout: 10",
    "  register: ping",
    "  until: ping is succeeded",
    "  retries: 5",
    "  ignore_errors: true",
    "  delegate_to: localhost",
    "  run_once: true",
  ]
    .map((line) => indent + line)
    .join("\n");

const ansible: Snippet = {
  name: "ansible",
  label: "Ansible",
  texts: {
    success: ({ url }) =>
      ["- name: Run the job", "  ansible.builtin.command: ./job.sh", task("Report success", url, "")].join(
        "\n",
      ),
    whole: ({ url }) => ansibleWhole(url, ""),
    rid: ({ url }) =>
      [
        "- ansible.builtin.set_fact:",
        "    rid: \"{{ lookup('pipe', 'cat /proc/sys/kernel/random/uuid') }}\"",
        ansibleWhole(url, "?rid={{ rid }}"),
      ].join("\n"),
  },
};

function ansibleWhole(url: string, tail: string): string {
  const address = (path: string) => `"${url}${path}${tail}"`;
  return [
    task("Report start", address("/start"), ""),
    "- block:",
    "    - name: Run the job",
    "      ansible.builtin.command: ./job.sh",
    task("Report success", address(""), "    "),
    "  rescue:",
    task("Report failure", address("/fail"), "    "),
    "    - ansible.builtin.fail:",
  ].join("\n");
}

const PLATFORM_SNIPPETS: readonly Snippet[] = [docker, kubernetes, github, gitlab, ansible];

// Backup programs, routers and email.

const restic: Snippet = {
  name: "restic",
  label: "restic",
  texts: {
    success: (facts) => `restic backup /srv && ${curl(facts, facts.url)}`,
    whole: (facts) => backup(facts, ""),
    rid: (facts) => ["rid=$(cat /proc/sys/kernel/random/uuid)", backup(facts, "?rid=$rid")].join("\n"),
  },
};

function backup(facts: Facts, tail: string): string {
  return [
    curl(facts, `"${facts.url}/start${tail}"`),
    "output=$(restic backup /srv 2>&1)",
    "status=$?",
    'printf %s "$output" | tail -c 100000 |',
    `  curl -fsS -m 10 --retry 5 -o /dev/null --data-binary @- "${facts.url}/$status${tail}"`,
  ].join("\n");
}

const borgmatic: Snippet = {
  name: "borgmatic",
  label: "borgmatic",
  note: "borgmatic sends start, success and failure pings with its log automatically.",
  texts: {
    whole: ({ url }) =>
      ["# config.yaml", "healthchecks:", `    ping_url: ${url}`, "    create_slug: false"].join("\n"),
  },
};

const mikrotik: Snippet = {
  name: "mikrotik",
  label: "MikroTik",
  texts: {
    success: ({ url }) =>
      `/system scheduler add name=overdue interval=5m on-event="/tool fetch url=\\"${url}\\" http-method=post output=none duration=10"`,
  },
};

const mail: Snippet = {
  name: "mail",
  label: "Email",
  note: "Every email counts as a success. To detect failures, set keywords under Edit → Ping rules.",
  texts: {
    success: ({ mail: address, cron }) =>
      address === null
        ? null
        : [
            `# crontab: sends the output of the job`,
            `MAILTO=${address}`,
            `${cron} /usr/local/bin/job.sh`,
          ].join("\n"),
    whole: ({ mail: address }) =>
      address === null
        ? null
        : `{ /usr/local/bin/job.sh 2>&1; echo "exit code $?"; } | mail -s "Job finished" ${address}`,
  },
};

const TOOL_SNIPPETS: readonly Snippet[] = [restic, borgmatic, mikrotik, mail];

// All snippets, in display order.

export const SNIPPETS: readonly Snippet[] = [
  ...SHELL_SNIPPETS,
  ...SCRIPT_SNIPPETS,
  ...COMPILED_SNIPPETS,
  ...PLATFORM_SNIPPETS,
  ...TOOL_SNIPPETS,
];

/** The lines of a snippet; null: it has none of this kind, or not for this check. */
export function snippetText(snippet: Snippet, variant: Variant, facts: Facts): string | null {
  return snippet.texts[variant]?.(facts) ?? null;
}
