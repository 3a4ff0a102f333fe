// A notifier that is killed between a receiver's response and its recording. Arguments: the URLs of the database and
// the receiver, the time, and after how many messages it dies.
import { deliverDue } from "../../../src/operations/send-loop.ts";
import { openDatabase } from "../../../src/store/db.ts";
import { post } from "./receiver.ts";

const [url = "", receiverUrl = "", now = "", diesAfter = "1"] = process.argv.slice(2);
const database = openDatabase({
  url,
  applicationName: "overdue-test",
  requireDurable: false,
  onError: () => {},
});
let sent = 0;
await deliverDue(database, {
  now: Number(now),
  ports: {
    send: async (channel, message, { dedupeKey, attempt }) => {
      await post(receiverUrl, { channelId: channel.id, dedupeKey, attempt, message });
      sent += 1;
      if (sent === Number(diesAfter)) process.kill(process.pid, "SIGKILL");
      // Nothing may be settled before the last of them.
      return new Promise(() => {});
    },
    isSubscribed: () => true,
    rateOf: () => null,
  },
});
