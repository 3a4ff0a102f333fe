// The model, asked about the checks of a world one at a time.
import { type CheckVerdict, replay, type Surroundings } from "./model/check-model.ts";
import { Schedules } from "./model/schedule.ts";
import { seenAtTurn } from "./model/sight.ts";
import { checkHistory, type Way } from "./world/check-history.ts";
import { clocksOf } from "./world/clocks.ts";
import { houseHistory, receiverHistory } from "./world/house-history.ts";
import { receptionOf } from "./world/receipt.ts";
import type { World } from "./world/world.ts";

export type HasFired = (deadlineAt: number) => boolean;

export class Verdicts {
  readonly house: Surroundings["house"];
  readonly receivers: readonly ReturnType<typeof receiverHistory>[];
  readonly #world: World;
  readonly #way: Way;
  readonly #around: Omit<Surroundings, "hasFired">;

  constructor(world: World) {
    const { head } = world;
    this.#world = world;
    this.#way = { clocks: clocksOf(head), reception: receptionOf(head) };
    this.house = houseHistory(head);
    this.receivers = Array.from({ length: head.channelCount }, (_, channel) =>
      receiverHistory(head, channel),
    );
    this.#around = {
      house: this.house,
      seenAtTurns: this.house.turns.map((turn) => seenAtTurn(this.house, turn)),
      schedules: new Schedules(head.from),
    };
  }

  /** What the world owed because of one check. `hasFired` is asked only where either answer is right. */
  of(index: number, hasFired: HasFired): CheckVerdict {
    const history = checkHistory(this.#world.check(index), index, this.#way);
    return replay(history, { ...this.#around, hasFired });
  }
}
