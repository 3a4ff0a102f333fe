// Snippets for languages that need no compiler. Each tries five times, gives up after 10 s, and never lets a signal
// that cannot be sent stop the job.
import type { Facts, Snippet, Variant } from "./snippet.ts";

/** The parts of a program: how a signal is sent, and what is done with it in each variant. */
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

export const SCRIPT_SNIPPETS: readonly Snippet[] = [python, node, ruby, php];
