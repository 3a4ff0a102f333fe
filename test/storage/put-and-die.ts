// A mover that dies, without any warning, after the store has confirmed a body and before the database knows.
// Its arguments: the database's address, the store's options as JSON, the time.
import { type ObjectStoreOptions, openObjectStore } from "../../src/lib/object-store.ts";
import { moveBodies } from "../../src/operations/ping-bodies.ts";
import { openDatabase } from "../../src/store/db.ts";

const [url = "", options = "", now = ""] = process.argv.slice(2);
const database = openDatabase({
  url,
  applicationName: "overdue-test",
  requireDurable: false,
  onError: () => {},
});
const store = openObjectStore(JSON.parse(options) as ObjectStoreOptions);
await moveBodies(database, {
  objects: {
    put: async (key, bytes) => {
      await store.put(key, bytes);
      process.kill(process.pid, "SIGKILL");
    },
    delete: (key) => store.delete(key),
  },
  now: Number(now),
  bytesMin: 1,
  callMsMax: 1_000,
});
