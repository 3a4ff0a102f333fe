import { type CheckVerdict, replay, type ModelContext } from "./model/check-model.ts";
import { Schedules } from "./model/schedule.ts";
import { visibilityAtTurn } from "./model/visibility.ts";
import { checkHistory, type ReceiptContext } from "./world/check-history.ts";
import { clocksOf } from "./world/clocks.ts";
import { serverHistory, receiverHistory } from "./world/server-history.ts";
import { receptionOf } from "./world/receipt.ts";
import type { World } from "./world/world.ts";

export type HasFired = (deadlineAt: number) => boolean;

export class Verdicts {
  readonly server: ModelContext["server"];
  readonly receivers: readonly ReturnType<typeof receiverHistory>[];
  readonly #world: World;
  readonly #receipt: ReceiptContext;
  readonly #context: Omit<ModelContext, "hasFired">;

  constructor(world: World) {
    const { head } = world;
    this.#world = world;
    this.#receipt = { clocks: clocksOf(head), reception: receptionOf(head) };
    this.server = serverHistory(head);
    this.receivers = Array.from({ length: head.channelCount }, (_, channel) =>
      receiverHistory(head, channel),
    );
    this.#context = {
      server: this.server,
      visibilityAtTurns: this.server.turns.map((turn) => visibilityAtTurn(this.server, turn)),
      schedules: new Schedules(head.from),
    };
  }

  /** The result of the model for one check. `hasFired` is called only where both results are correct. */
  of(index: number, hasFired: HasFired): CheckVerdict {
    const history = checkHistory(this.#world.check(index), index, {
      ...this.#receipt,
      silences: this.#world.head.silences,
    });
    return replay(history, { ...this.#context, hasFired });
  }
}
