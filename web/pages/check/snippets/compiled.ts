// Snippets for languages with a compiler. Only what comes with each of them is used.
import type { Facts, Snippet, Variant } from "./snippet.ts";

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

export const COMPILED_SNIPPETS: readonly Snippet[] = [go, java, csharp, rust];
