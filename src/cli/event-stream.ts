// Reads server-sent events from a response.

export type StreamedEvent = {
  name: string;
  data: string;
  /** Where a new connection continues; null if the event has none. */
  id: string | null;
};

/** One event has at most this many characters; a longer one is not from Overdue. */
const EVENT_LENGTH_MAX = 16 * 1024 * 1024;

/** The events of a stream, until it ends. Throws RangeError for one that is too long. */
export async function* readEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<StreamedEvent> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk, { stream: true }).replaceAll("\r", "");
    const blocks = rest.split("\n\n");
    rest = blocks.pop() ?? "";
    if (rest.length > EVENT_LENGTH_MAX) throw new RangeError("The server sent an event that is too long.");
    for (const block of blocks) {
      const event = parseEvent(block);
      if (event !== null) yield event;
    }
  }
}

/** Null for a comment. */
function parseEvent(block: string): StreamedEvent | null {
  const lines = block.split("\n");
  const valuesOf = (name: string) =>
    lines
      .filter((line) => line.startsWith(`${name}:`))
      .map((line) => line.slice(name.length + 1).replace(/^ /, ""));
  const [name] = valuesOf("event");
  if (name === undefined) return null;
  return { name, data: valuesOf("data").join("\n"), id: valuesOf("id").at(-1) ?? null };
}
