// Reads an iCalendar file as strictly as RFC 5545 is written, for tests. Throws for anything that it does not allow.
const LINE_BYTES_MAX = 75;

export type ParsedEvent = { uid: string; date: string; summary: string; description: string };

const PROPERTY = /^([A-Z-]+)((?:;[A-Z-]+=[A-Za-z0-9-]+)*):(.*)$/s;

export function parseCalendar(bytes: Buffer): ParsedEvent[] {
  // Also fails if a character is split by a fold, because each line is decoded on its own.
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const raw = bytes.toString("latin1");
  if (!raw.endsWith("\r\n")) throw new Error("the last line does not end with CRLF");
  if (/(?<!\r)\n|\r(?!\n)/.test(raw)) throw new Error("a line does not end with CRLF");
  const lines: string[] = [];
  for (const line of raw.slice(0, -2).split("\r\n")) {
    if (line.length > LINE_BYTES_MAX) throw new Error(`a line of ${line.length} bytes`);
    const text = decoder.decode(Buffer.from(line, "latin1"));
    if (/^[ \t]/.test(text)) lines.push((lines.pop() ?? "") + text.slice(1));
    else lines.push(text);
  }
  const properties = lines.map((line) => {
    const [, name, params = "", value = ""] = PROPERTY.exec(line) ?? [];
    if (name === undefined) throw new Error(`not a property: ${line}`);
    // oxlint-disable-next-line no-control-regex -- They are what is looked for.
    if (/[\u0000-\u0008\u000a-\u001f\u007f]/.test(value)) throw new Error(`a control character: ${line}`);
    return { name, params, value };
  });
  const take = (name: string, value?: string) => {
    const next = properties.shift();
    if (next?.name !== name || (value !== undefined && next.value !== value)) {
      throw new Error(`expected ${name}:${value ?? ""}, got ${next?.name}:${next?.value}`);
    }
    return next;
  };
  take("BEGIN", "VCALENDAR");
  const head = new Map<string, string>();
  while (properties[0] !== undefined && !["BEGIN", "END"].includes(properties[0].name)) {
    const { name, value } = take(properties[0].name);
    if (head.has(name)) throw new Error(`${name} twice`);
    head.set(name, value);
  }
  if (head.get("VERSION") !== "2.0" || !head.get("PRODID")) throw new Error("VERSION or PRODID is missing");
  const events: ParsedEvent[] = [];
  while (properties[0]?.name === "BEGIN") events.push(parseEvent(take));
  take("END", "VCALENDAR");
  if (properties.length > 0) throw new Error("something follows the calendar");
  return events;
}

type Take = (name: string, value?: string) => { params: string; value: string };

function parseEvent(take: Take): ParsedEvent {
  take("BEGIN", "VEVENT");
  const uid = take("UID").value;
  if (!/^[\w-]+@[\w.-]+$/.test(uid)) throw new Error(`UID ${uid}`);
  const stamp = take("DTSTAMP").value;
  if (!/^\d{8}T\d{6}Z$/.test(stamp)) throw new Error(`DTSTAMP ${stamp}`);
  const start = take("DTSTART");
  const [, year, month, day] = /^(\d{4})(\d{2})(\d{2})$/.exec(start.value) ?? [];
  const date = `${year}-${month}-${day}`;
  if (start.params !== ";VALUE=DATE" || Number.isNaN(Date.parse(date)))
    throw new Error(`DTSTART ${start.value}`);
  const summary = unescaped(take("SUMMARY").value);
  const description = unescaped(take("DESCRIPTION").value);
  const { href } = new URL(take("URL").value);
  if (href === "") throw new Error("URL is empty");
  take("TRANSP", "TRANSPARENT");
  take("END", "VEVENT");
  return { uid, date, summary, description };
}

function unescaped(text: string): string {
  if (/(?<!\\)(?:\\\\)*[;,]/.test(text)) throw new Error(`not escaped: ${text}`);
  return text.replace(/\\(.?)/g, (_, character: string) => {
    if (!["\\", ";", ",", "n", "N"].includes(character)) throw new Error(`escape of ${character}`);
    return character.toLowerCase() === "n" ? "\n" : character;
  });
}
