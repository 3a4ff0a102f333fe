// Planted fault: a mail is answered 250 as soon as it is whole, while its signals still wait to be recorded. A kill at
// the right moment then loses what was promised.
import { MailReceiver } from "../../../src/services/smtp/receive.ts";

const receive = Reflect.get(MailReceiver.prototype, "receive");

MailReceiver.prototype.receive = function answerFirst(stream, { session, network, onWhole }) {
  // The answer makes the connection forget from whom and to whom the message was.
  const remembered = { ...session, envelope: { ...session.envelope } };
  return new Promise((resolve, reject) => {
    const answered = () => {
      onWhole();
      resolve();
    };
    receive.call(this, stream, { session: remembered, network, onWhole: answered }).catch(reject);
  });
};
