// Planted fault: signals are acknowledged while they still wait to be recorded. A kill at the right time then loses
// acknowledged signals.
import { DatabaseIntake } from "../../../src/intake/intake.ts";

const accept = Reflect.get(DatabaseIntake.prototype, "accept");

DatabaseIntake.prototype.accept = async function answerFirst(signal, options) {
  void accept.call(this, signal, options).catch(() => {});
  return { kind: "recorded" };
};
