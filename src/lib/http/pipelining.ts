// HTTP/1.1 lets a client send requests without waiting for answers. Node parses all of them at once; this bounds how
// many of one connection are handled at a time. Beyond that, the server stops reading until answers have been sent.
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Requests of one connection that are handled at a time. At least 2: the newest may still wait for its body. */
const PIPELINED_REQUESTS_MAX = 32;

type Connection = {
  /** Requests that have been parsed and whose answers have not been sent. */
  unanswered: number;
  /** Those of them that wait to be handled, at most as many as one read from the socket holds (64 KiB). */
  readonly held: { response: ServerResponse; handle: () => void }[];
  isPaused: boolean;
};

export class Pipelining {
  readonly #connections = new WeakMap<Socket, Connection>();
  readonly #answered: (this: ServerResponse) => void;

  constructor(server: Server) {
    const onAnswered = (socket: Socket) => this.#onAnswered(socket);
    // One function for all answers, because it is attached to each of them.
    this.#answered = function () {
      onAnswered(this.req.socket);
    };
    server.on("connection", (socket) => {
      const connection: Connection = { unanswered: 0, held: [], isPaused: false };
      this.#connections.set(socket, connection);
      // Reading a request's body resumes the socket.
      socket.on("resume", () => {
        if (connection.isPaused) socket.pause();
      });
      socket.once("close", () => connection.held.splice(0));
    });
  }

  /** Handles the request now, or once enough earlier requests of its connection have been answered. */
  handle(request: IncomingMessage, response: ServerResponse, handle: () => void): void {
    const { socket } = request;
    const connection = this.#connections.get(socket);
    if (connection === undefined) return handle();
    connection.unanswered += 1;
    response.on("close", this.#answered);
    if (connection.unanswered >= PIPELINED_REQUESTS_MAX && !connection.isPaused) {
      connection.isPaused = true;
      socket.pause();
    }
    if (connection.unanswered > PIPELINED_REQUESTS_MAX) connection.held.push({ response, handle });
    else handle();
  }

  #onAnswered(socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    const { held } = connection;
    connection.unanswered -= 1;
    while (held.length > 0 && connection.unanswered - held.length < PIPELINED_REQUESTS_MAX) {
      const next = held.shift();
      // A request that could not be read to its end has been answered with an error.
      if (next !== undefined && !next.response.writableEnded && !next.response.destroyed) next.handle();
    }
    if (!connection.isPaused || connection.unanswered >= PIPELINED_REQUESTS_MAX) return;
    connection.isPaused = false;
    socket.resume();
  }
}
