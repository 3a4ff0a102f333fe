// Speaks a recorded dialogue with a mail server, line by line over a connection of its own, and compares how the
// answers begin.
import { once } from "node:events";
import { connect } from "node:net";
import { createInterface } from "node:readline";

/** The last line of each answer, the greeting first. */
export type Dialogue = readonly string[];

const ANSWER_WAIT_MS = 30_000;

/** Says the lines one after the other, each when the one before it was answered. */
export function mailClient({ port }: { port: number }): (lines: readonly string[]) => Promise<Dialogue> {
  return async (lines) => {
    const socket = connect({ host: "127.0.0.1", port });
    socket.setTimeout(ANSWER_WAIT_MS, () =>
      socket.destroy(new Error(`no answer within ${ANSWER_WAIT_MS} ms`)),
    );
    const broken = once(socket, "close").then(() => Promise.reject(new Error("the connection was closed")));
    const failed = new Promise<never>((_, reject) => socket.once("error", reject));
    for (const one of [broken, failed]) one.catch(() => {});
    const answers = createInterface({ input: socket, crlfDelay: Number.POSITIVE_INFINITY })[
      Symbol.asyncIterator
    ]();
    const heard: string[] = [];
    try {
      for (const line of [null, ...lines]) {
        if (line !== null) socket.write(`${line}\r\n`);
        heard.push(await Promise.race([lastLine(answers), broken, failed]));
      }
      return heard;
    } finally {
      socket.destroy();
    }
  };
}

async function lastLine(answers: AsyncIterator<string>): Promise<string> {
  for (;;) {
    const { value, done } = await answers.next();
    if (done === true) throw new Error("the connection was closed");
    if (value[3] !== "-") return value;
  }
}

/** What was heard otherwise than expected; expectations are beginnings. */
export function dialogueProblems(expected: readonly string[], heard: Dialogue): string[] {
  const count = Math.max(expected.length, heard.length);
  return Array.from({ length: count }, (_, index) => ({ wanted: expected[index], got: heard[index] }))
    .filter(({ wanted, got }) => wanted === undefined || got?.startsWith(wanted) !== true)
    .map(({ wanted, got }) => `expected ${JSON.stringify(wanted)}, heard ${JSON.stringify(got)}`);
}
