// A process that imports, finishes or undoes, and kills itself at a step: `node child.ts <what> <url> <options>`.
import { openDatabase } from "../../src/store/db.ts";
import { finishImport, undoImport } from "../../src/operations/import-move.ts";
import { findImportOf } from "../../src/store/imports.ts";
import { largeSource } from "./large-source.ts";
import { importInto } from "./run-import.ts";

type Options = { checkCount: number; pingsPerCheck: number; now: number; killAt: number | null };

const [what = "", url = "", text = "{}"] = process.argv.slice(2);
const options = JSON.parse(text) as Options;
const die = (step: number) => {
  if (step === options.killAt) process.kill(process.pid, "SIGKILL");
};
let steps = 0;
const source = largeSource({
  ...options,
  onRead: (step) => {
    steps = step;
    die(step);
  },
});
const db = openDatabase({ url, applicationName: "overdue-test", requireDurable: false, onError: () => {} });
const startedMs = performance.now();
const startBytes = process.memoryUsage.rss();
let peakBytes = startBytes;
const timer = setInterval(() => {
  peakBytes = Math.max(peakBytes, process.memoryUsage.rss());
}, 50);
let result: object = {};
if (what === "import") {
  const report = await importInto({ db, url }, source);
  result = { projects: report.projects.map(({ counts }) => counts), refusals: report.refusals };
} else {
  const found = await findImportOf(db, source.name);
  if (found === null) throw new Error("nothing was imported");
  if (what === "finish") {
    result = await finishImport(db, {
      importId: found.id,
      now: options.now + 60_000,
      onProgress: () => {
        steps += 1;
        die(steps);
      },
    });
  } else result = await undoImport(db, { importId: found.id, isWriting: true });
}
clearInterval(timer);
await db.close();
const ms = Math.round(performance.now() - startedMs);
console.log(
  JSON.stringify({
    ...result,
    ms,
    steps,
    peakMb: Math.round(peakBytes / 1e6),
    startMb: Math.round(startBytes / 1e6),
  }),
);
