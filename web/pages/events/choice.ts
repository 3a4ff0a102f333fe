// Which events are shown, and in whose time: kept in the address, so that it can be sent and gone back to. Pure.
import { LOCAL_MINUTE } from "../../../src/contract/web/requests/local-minute.ts";

export const SHOWN = ["all", "flip", "event"] as const;
export const ZONES = ["mine", "utc", "check"] as const;

export type Choice = {
  show: (typeof SHOWN)[number];
  text: string;
  /** "2026-11-15T03:00", or empty. */
  from: string;
  to: string;
  zone: (typeof ZONES)[number];
};

export const EVERYTHING: Choice = { show: "all", text: "", from: "", to: "", zone: "mine" };

const MINUTE = new RegExp(LOCAL_MINUTE);

/** What an address asks for; what it says wrongly is as if it had not been said. */
export function readChoice(search: URLSearchParams): Choice {
  const minute = (name: string) => (MINUTE.test(search.get(name) ?? "") ? (search.get(name) ?? "") : "");
  return {
    show: SHOWN.find((one) => one === search.get("show")) ?? EVERYTHING.show,
    text: search.get("text") ?? "",
    from: minute("from"),
    to: minute("to"),
    zone: ZONES.find((one) => one === search.get("zone")) ?? EVERYTHING.zone,
  };
}

/** The address of a choice: only what differs from everything. */
export function choiceQuery(choice: Choice): Record<string, string> {
  return Object.fromEntries(
    Object.entries(choice).filter(([name, value]) => value !== EVERYTHING[name as keyof Choice]),
  );
}

/** By whose clock a range is read: where each check's own is shown, that is the reader's. */
export function clockOf({ zone }: Pick<Choice, "zone">, readerZone: string): string {
  return zone === "utc" ? "UTC" : readerZone;
}

/** The same for the server, which knows what a minute on the clocks of a zone is. */
export function askedOf({ show, text, from, to, zone }: Choice, readerZone: string) {
  const isCut = from !== "" || to !== "";
  return {
    types: show === "all" ? null : show,
    text: text.trim() === "" ? null : text.trim(),
    from: from === "" ? null : from,
    to: to === "" ? null : to,
    zone: isCut ? clockOf({ zone }, readerZone) : null,
  };
}
