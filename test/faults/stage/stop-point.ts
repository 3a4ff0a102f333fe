// Loaded into a process under test, with `?file=` after its name: when that file names a statement, the process stops
// itself with SIGSTOP right before it would send it. No other way reliably hits the moment before firing.
import { existsSync, readFileSync, rmSync } from "node:fs";
import { rewriteQueries } from "../planted/rewritten-query.ts";

const path = new URL(import.meta.url).searchParams.get("file") ?? "";

rewriteQueries((query) => {
  if (query.name !== undefined && path !== "" && existsSync(path)) {
    if (readFileSync(path, "utf8") === query.name) {
      // Once: it continues on SIGCONT.
      rmSync(path);
      process.kill(process.pid, "SIGSTOP");
    }
  }
  return query;
});
