// A notifier that is killed without a warning: after the receiver has accepted a message, or after its result is saved.
// Its arguments: the database's address, the kind of the channel, the URL of its receiver, the time, and when it dies.
import { guardedHttp } from "../../src/lib/outgoing-http.ts";
import { deliverDue } from "../../src/operations/send-loop.ts";
import { openDatabase } from "../../src/store/db.ts";
import { RECEIVERS, sampleSender } from "../channels/sample-kinds.ts";
import { reroute } from "../receivers/reroute.ts";

const [url = "", kind = "", receiverUrl = "", now = "", dies = ""] = process.argv.slice(2);
const database = openDatabase({
  url,
  applicationName: "overdue-test",
  requireDurable: false,
  onError: () => {},
});
const http = guardedHttp({ allowPrivate: true, userAgent: "Overdue" });
const origins = RECEIVERS[kind]?.origins ?? [];
const ports = sampleSender({
  http: reroute(http, Object.fromEntries(origins.map((origin) => [origin, receiverUrl]))),
});
await deliverDue(database, {
  now: Number(now),
  ports: {
    ...ports,
    send: async (...args) => {
      const result = await ports.send(...args);
      if (dies === "sent") process.kill(process.pid, "SIGKILL");
      return result;
    },
  },
});
process.kill(process.pid, "SIGKILL");
