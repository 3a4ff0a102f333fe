// How the wall board reads times: its clock, and since when its data is out of date.

/** Several missed refreshes: a single slow response is not shown as a lost connection. */
const STALE_MS = 15_000;

export type Reading = {
  /** When the shown data was received. */
  readAt: number;
  /** Whether the last request failed. */
  hasFailed: boolean;
  now: number;
};

/** Whether the screen has to say that its data is out of date. */
export function isStale({ readAt, hasFailed, now }: Reading): boolean {
  return hasFailed || now - readAt >= STALE_MS;
}

/** "Riga" for "Europe/Riga". */
export function cityOf(zone: string): string {
  return (zone.split("/").at(-1) ?? zone).replaceAll("_", " ");
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** "Sunday 25 October" in a zone. */
export function formatLongDay(at: number, zone: string): string {
  let format = formats.get(zone);
  if (format === undefined) {
    const options = { weekday: "long", day: "numeric", month: "long", timeZone: zone } as const;
    format = new Intl.DateTimeFormat("en-GB", options);
    formats.set(zone, format);
  }
  return format.format(at).replaceAll(",", "");
}
