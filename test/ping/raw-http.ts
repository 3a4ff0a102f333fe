// An HTTP client that sends exactly the bytes it is given and reads answers one by one, for everything that a
// well-behaved client would never send or could not see.
import { once } from "node:events";
import { connect, type Socket } from "node:net";

export type RawAnswer = {
  version: string;
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  /** Names and values as they were sent. */
  headerLines: readonly string[];
  body: string;
};

const ANSWER_WAIT_MS = 30_000;

export class RawConnection {
  readonly socket: Socket;
  #text = "";
  #isEnded = false;
  #changed = Promise.withResolvers<void>();

  private constructor(socket: Socket) {
    this.socket = socket;
    const changed = () => {
      this.#changed.resolve();
      this.#changed = Promise.withResolvers();
    };
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => {
      this.#text += text;
      changed();
    });
    socket.on("error", () => socket.destroy());
    for (const event of ["end", "close"]) {
      socket.on(event, () => {
        this.#isEnded = true;
        changed();
      });
    }
  }

  static async open(port: number, text = ""): Promise<RawConnection> {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    const connection = new RawConnection(socket);
    await once(socket, "connect");
    if (text !== "") connection.send(text);
    return connection;
  }

  send(text: string): void {
    this.socket.write(text, "latin1");
  }

  /** Says that nothing more will come, and goes on listening. */
  closeHalf(): void {
    this.socket.end();
  }

  close(): void {
    this.socket.destroy();
  }

  /** The next answer; null when the other side closed without one. To HEAD there is no body. */
  async next({ withoutBody = false } = {}): Promise<RawAnswer | null> {
    const giveUpAt = performance.now() + ANSWER_WAIT_MS;
    for (;;) {
      const found = readAnswer(this.#text, withoutBody);
      if (found !== null) {
        this.#text = this.#text.slice(found.length);
        return found.answer;
      }
      if (this.#isEnded) return null;
      if (performance.now() > giveUpAt) throw new Error(`no answer; so far: ${JSON.stringify(this.#text)}`);
      await this.#changeWithin(giveUpAt - performance.now());
    }
  }

  /** Resolves when the other side has closed; returns what it said that nobody has read. */
  async closed(): Promise<string> {
    const giveUpAt = performance.now() + ANSWER_WAIT_MS;
    while (!this.#isEnded) {
      if (performance.now() > giveUpAt) throw new Error("the other side did not close");
      await this.#changeWithin(giveUpAt - performance.now());
    }
    return this.#text;
  }

  async #changeWithin(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    await Promise.race([this.#changed.promise, timeout]);
    clearTimeout(timer);
  }
}

/** One request, one answer, and the connection is closed. */
export async function rawRequest(
  port: number,
  text: string,
  options?: { withoutBody: boolean },
): Promise<RawAnswer> {
  const connection = await RawConnection.open(port, text);
  try {
    const answer = await connection.next(options);
    if (answer === null) throw new Error("closed without an answer");
    return answer;
  } finally {
    connection.close();
  }
}

function readAnswer(text: string, withoutBody: boolean): { answer: RawAnswer; length: number } | null {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd === -1) return null;
  const [statusLine = "", ...headerLines] = text.slice(0, headEnd).split("\r\n");
  const headers = Object.fromEntries(
    headerLines.map((line) => {
      const colonAt = line.indexOf(":");
      return [line.slice(0, colonAt).toLowerCase(), line.slice(colonAt + 1).trim()];
    }),
  );
  const bodyLength = withoutBody ? 0 : Number(headers["content-length"] ?? 0);
  const length = headEnd + 4 + bodyLength;
  if (text.length < length) return null;
  const [version = "", status = ""] = statusLine.split(" ");
  const body = text.slice(headEnd + 4, length);
  return { answer: { version, status: Number(status), headers, headerLines, body }, length };
}
