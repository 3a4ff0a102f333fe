// A mail client for tests: speaks SMTP by hand over one connection, so that it can be as slow, as rude or as broken as a
// test needs it.
import { once } from "node:events";
import { connect, type Socket } from "node:net";

export type MailClient = {
  socket: Socket;
  /** Says a line and returns the last line of the answer. */
  say(line: string): Promise<string>;
  /** The next answer. */
  hear(): Promise<string>;
  /** A whole message, as it is; returns the answer to it, or the first refusal. */
  send(message: Buffer, envelope: { from?: string; to: readonly string[] }): Promise<string>;
  close(): void;
};

export type ClientOptions = { port: number; localAddress?: string };

/** Connects, hears the greeting and introduces itself. */
export async function mailClient(options: ClientOptions): Promise<MailClient> {
  const client = bareClient(options);
  const greeting = await client.hear();
  if (!greeting.startsWith("220")) throw new Error(greeting);
  await client.say("EHLO client.example.org");
  return client;
}

/** Connects and says nothing. */
export function bareClient({ port, localAddress }: ClientOptions): MailClient {
  const socket = connect({
    host: "127.0.0.1",
    port,
    ...(localAddress === undefined ? {} : { localAddress }),
  });
  socket.setNoDelay(true);
  const { hear } = answersOf(socket);
  const say = (line: string) => {
    socket.write(`${line}\r\n`);
    return hear();
  };
  return {
    socket,
    say,
    hear,
    send: async (message, { from = "job@example.org", to }) => {
      const commands = [`MAIL FROM:<${from}>`, ...to.map((one) => `RCPT TO:<${one}>`)];
      for (const command of commands) {
        const answer = await say(command);
        if (!answer.startsWith("250")) return answer;
      }
      const asked = await say("DATA");
      if (!asked.startsWith("354")) return asked;
      if (!socket.write(stuffed(message))) await once(socket, "drain");
      return say(".");
    },
    close: () => socket.destroy(),
  };
}

/** Dots at the beginning of lines are doubled, and the last line is ended. */
function stuffed(message: Buffer): Buffer {
  const text = message.toString("latin1").replace(/^\./, "..").replaceAll("\r\n.", "\r\n..");
  return Buffer.from(text === "" || text.endsWith("\r\n") ? text : `${text}\r\n`, "latin1");
}

/** Answers in the order in which they come, their last lines. */
function answersOf(socket: Socket): { hear: () => Promise<string> } {
  const heard: string[] = [];
  const waiting: { resolve: (line: string) => void; reject: (error: Error) => void }[] = [];
  let rest = "";
  let end: Error | null = null;
  socket.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\r\n");
    rest = lines.pop() ?? "";
    for (const line of lines.filter((one) => one[3] !== "-")) {
      const next = waiting.shift();
      if (next === undefined) heard.push(line);
      else next.resolve(line);
    }
  });
  const finish = (error: Error) => {
    end ??= error;
    for (const { reject } of waiting.splice(0)) reject(error);
  };
  socket.on("error", finish).on("close", () => finish(new Error("the connection was closed")));
  return {
    hear: () => {
      const line = heard.shift();
      if (line !== undefined) return Promise.resolve(line);
      if (end !== null) return Promise.reject(end);
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
  };
}
