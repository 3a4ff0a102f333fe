// Requests that a connection sends without waiting for answers are worked on one after the other: the second may be
// about what the first has changed. Those of different connections never wait for each other here.
import type { Socket } from "node:net";

export class Turns {
  readonly #last = new WeakMap<Socket, Promise<void>>();

  /**
   * Takes the next turn of a connection. `before` is what has to be waited for, null when nobody is at work; `end`
   * must be called once, whatever becomes of the request.
   */
  take(socket: Socket): { before: Promise<void> | null; end: () => void } {
    const before = this.#last.get(socket) ?? null;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last.set(socket, promise);
    const end = () => {
      if (this.#last.get(socket) === promise) this.#last.delete(socket);
      resolve();
    };
    return { before, end };
  }
}
