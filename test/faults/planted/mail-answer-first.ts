// Planted fault: an email gets 250 as soon as it is complete, while its signals still wait to be recorded. A kill at
// the right time then loses acknowledged signals.
import { MailReceiver } from "../../../src/services/smtp/receive.ts";

const receive = Reflect.get(MailReceiver.prototype, "receive");

MailReceiver.prototype.receive = function answerFirst(stream, { session, network, onWhole }) {
  // The reply makes the connection drop the sender and recipients of the message.
  const remembered = { ...session, envelope: { ...session.envelope } };
  return new Promise((resolve, reject) => {
    const answered = () => {
      onWhole();
      resolve();
    };
    receive.call(this, stream, { session: remembered, network, onWhole: answered }).catch(reject);
  });
};
