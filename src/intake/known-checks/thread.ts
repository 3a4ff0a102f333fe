// The thread of the known checks: only this thread uses their file, so that no ping waits for it.
import { parentPort, workerData } from "node:worker_threads";
import { describeFault, faultOf } from "../spool-file.ts";
import type { ThreadCall, ThreadReply } from "../spool.ts";
import { KnownFile } from "./file.ts";
import type { KnownAnswer, KnownRequest } from "./messages.ts";

const port = parentPort;
if (port === null) throw new Error("this file must run in a worker thread");
let file: KnownFile | null = null;

port.on("message", ({ id, request }: ThreadCall<KnownRequest>) => {
  const answer = answerTo(request);
  const transfer = answer.list === null ? [] : [answer.list.buffer];
  port.postMessage({ id, answer } satisfies ThreadReply<KnownAnswer>, transfer);
  if (request.kind === "close") port.close();
});

function answerTo(request: KnownRequest): KnownAnswer {
  const nothing: KnownAnswer = { secret: null, list: null, failed: null };
  try {
    switch (request.kind) {
      case "open":
        file = new KnownFile(workerData as { folder: string; countMax: number });
        return { ...nothing, secret: file.secret };
      case "load":
        return { ...nothing, list: opened().load() };
      case "save":
        return { ...nothing, list: opened().save(request.changes, request.today) };
      case "close":
        file?.close();
        file = null;
        return nothing;
    }
  } catch (error) {
    if (faultOf(error) === "corrupt") file?.replace();
    return { ...nothing, failed: describeFault(error) };
  }
}

function opened(): KnownFile {
  if (file === null) throw new Error("the known checks file is not open");
  return file;
}
