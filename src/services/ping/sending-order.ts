// Signals that one connection sends at once are handed over in the order in which they were sent. Without this,
// a request without a body would overtake the one before it, whose body is delivered a few turns later.
import type { Socket } from "node:net";

/** A place in the line; its work is null until the request is whole. */
type Place = { work: (() => void) | null };

export class SendingOrder {
  /** Only connections on which a body is being read have a line. */
  readonly #lines = new WeakMap<Socket, Place[]>();

  /** Does the work of a request that is whole: at once, unless others on its connection come first. */
  whole(socket: Socket, work: () => void): void {
    const line = this.#lines.get(socket);
    if (line === undefined) work();
    else line.push({ work });
  }

  /** Keeps a place for a request that is not whole yet. What is returned must be called, with its work or none. */
  unfinished(socket: Socket): (work: () => void) => void {
    const line = this.#lines.get(socket) ?? [];
    const place: Place = { work: null };
    this.#lines.set(socket, line);
    line.push(place);
    return (work) => {
      place.work = work;
      this.#advance(socket, line);
    };
  }

  #advance(socket: Socket, line: Place[]): void {
    for (;;) {
      const [first] = line;
      if (first === undefined) return void this.#lines.delete(socket);
      if (first.work === null) return;
      line.shift();
      first.work();
    }
  }
}
