// Questions on the terminal. Prompts go to standard error, so that standard output has results only.
import { createInterface } from "node:readline/promises";
import type { ReadStream, WriteStream } from "node:tty";

export type Terminal = { input: ReadStream; output: WriteStream };

/** The line that the user enters; null if there is no terminal. */
export async function ask(
  { input, output }: Terminal,
  question: string,
  { isHidden }: { isHidden: boolean },
): Promise<string | null> {
  if (!input.isTTY) return null;
  if (isHidden) return askHidden({ input, output }, question);
  const lines = createInterface({ input, output });
  try {
    return await lines.question(question);
  } finally {
    lines.close();
  }
}

const ENTER = new Set(["\r", "\n", "\u0004"]);
const INTERRUPT = "\u0003";
const ERASE = new Set(["\u007f", "\b"]);

/** In raw mode, in which the terminal does not echo what is typed. */
async function askHidden({ input, output }: Terminal, question: string): Promise<string> {
  output.write(question);
  input.setRawMode(true).setEncoding("utf8").resume();
  try {
    return await new Promise<string>((resolve) => {
      let line = "";
      input.on("data", (text: string) => {
        for (const letter of text) {
          if (ENTER.has(letter)) return resolve(line);
          if (letter === INTERRUPT) return void process.kill(process.pid, "SIGINT");
          line = ERASE.has(letter) ? line.slice(0, -1) : line + letter;
        }
      });
    });
  } finally {
    input.removeAllListeners("data").setRawMode(false).pause();
    output.write("\n");
  }
}

/** All of standard input. Throws RangeError if it is longer. */
export async function readAll(input: NodeJS.ReadableStream, lengthMax: number): Promise<string> {
  let all = "";
  for await (const part of input.setEncoding("utf8")) {
    all += String(part);
    if (all.length > lengthMax) throw new RangeError(`The input has more than ${lengthMax} characters.`);
  }
  return all;
}
