// Planted fault: senders are told that their signal is recorded while it still waits to be. A kill at the right
// moment then loses what was promised.
import { DatabaseIntake } from "../../../src/intake/database-intake.ts";

const accept = Reflect.get(DatabaseIntake.prototype, "accept");

DatabaseIntake.prototype.accept = async function answerFirst(signal, options) {
  void accept.call(this, signal, options).catch(() => {});
  return { kind: "recorded" };
};
