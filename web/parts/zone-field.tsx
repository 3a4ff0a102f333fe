// A combobox for a time zone.
import "./zone-field.css";
import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import type { Zones } from "../../src/contract/api/history.ts";
import { call } from "../api.ts";
import { Field } from "../ui/field.tsx";
import { plural } from "../words/format.ts";

const zoneWords = {
  matches: "Matches",
  none: "No matching time zone",
  formerly: (name: string) => `formerly ${name}`,
  count: (count: number) => (count === 0 ? zoneWords.none : plural(count, "match", "matches")),
};

const NONE: Zones = { zones: [], others: [] };

type Props = {
  label: string;
  value: string;
  onChange: (zone: string) => void;
  hint?: ReactNode;
  error?: string;
  disabled?: boolean;
  /** A value that is no zone, offered first, with its label. */
  instead?: { value: string; label: string };
};

export function ZoneField({ label, value, onChange, instead, ...field }: Props) {
  const { disabled = false, ...noted } = field;
  const listId = useId();
  const input = useRef<HTMLInputElement>(null);
  const { data = NONE } = useQuery({
    queryKey: ["zones"],
    queryFn: () => call("listTimeZones", {}),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const shownValue = instead !== undefined && value === instead.value ? instead.label : value;
  // Null: the user is not typing, and the chosen zone is shown.
  const [typed, setTyped] = useState<string | null>(null);
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  const found = isOpen ? optionsOf(data, { typed, instead }) : [];
  const chosen = found[active];

  const close = () => {
    setOpen(false);
    setTyped(null);
  };
  const choose = (name: string) => {
    close();
    if (name !== value) onChange(name);
  };
  /** An exact name is used as it is; otherwise the highlighted one; otherwise the text, which the server rejects. */
  const settle = () => {
    if (typed === null || typed.trim() === shownValue) return close();
    const text = typed.trim();
    choose(spelledZone(data, text) ?? (text === "" ? value : (chosen?.value ?? text)));
  };
  const open = () => {
    if (isOpen || disabled) return;
    setOpen(true);
    setActive(
      Math.max(
        0,
        optionsOf(data, { typed: null, instead }).findIndex((one) => one.value === value),
      ),
    );
  };
  const press = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      if (!isOpen) return open();
      setActive((was) => Math.min(found.length - 1, Math.max(0, was + step)));
    } else if (event.key === "Enter" && isOpen) {
      event.preventDefault();
      if (typed === null && chosen !== undefined) choose(chosen.value);
      else settle();
    } else if (event.key === "Escape" && isOpen) {
      close();
    }
  };
  return (
    <Field label={label} {...noted}>
      {(given) => (
        <div className="zone">
          <input
            {...given}
            ref={input}
            className="input zone-input"
            role="combobox"
            aria-expanded={isOpen}
            aria-controls={listId}
            aria-autocomplete="list"
            {...(isOpen && chosen !== undefined && { "aria-activedescendant": `${listId}-${active}` })}
            value={typed ?? shownValue}
            disabled={disabled}
            autoComplete="off"
            autoCapitalize="off"
            spellCheck={false}
            onFocus={(event) => event.target.select()}
            onClick={open}
            onChange={(event) => {
              setTyped(event.target.value);
              setActive(0);
              setOpen(true);
            }}
            onKeyDown={press}
            onBlur={settle}
          />
          <div
            id={listId}
            className="zone-list"
            role="listbox"
            aria-label={zoneWords.matches}
            hidden={!isOpen}
          >
            {isOpen && (
              <Options listId={listId} options={found} active={active} value={value} onChoose={choose} />
            )}
          </div>
          <span className="sr" role="status">
            {isOpen && typed !== null && zoneWords.count(found.length)}
          </span>
        </div>
      )}
    </Field>
  );
}

type Option = { value: string; label: string; note: string };

function optionsOf(
  zones: Zones,
  { typed, instead }: { typed: string | null; instead: Props["instead"] },
): Option[] {
  const found = searchZones(zones, { text: typed ?? "", offsetOf, abbreviationsOf }).map(optionOf);
  const isFitting = instead?.label.toLowerCase().includes((typed ?? "").trim().toLowerCase());
  return instead === undefined || isFitting !== true ? found : [{ ...instead, note: "" }, ...found];
}

function optionOf({ name, formerly }: FoundZone): Option {
  return { value: name, label: name, note: formerly === null ? "" : zoneWords.formerly(formerly) };
}

type OptionsProps = {
  listId: string;
  options: readonly Option[];
  active: number;
  value: string;
  onChoose: (value: string) => void;
};

function Options({ listId, options, active, value, onChoose }: OptionsProps) {
  const mark = useRef<HTMLDivElement>(null);
  // In braces: some browsers return a promise, which is no cleanup function.
  useEffect(() => {
    mark.current?.scrollIntoView({ block: "nearest" });
  }, [active, options.length]);
  if (options.length === 0) {
    return (
      <div className="zone-none" role="option" aria-disabled="true" aria-selected="false">
        {zoneWords.none}
      </div>
    );
  }
  return options.map((one, index) => (
    <div
      key={one.value}
      id={`${listId}-${index}`}
      ref={index === active ? mark : null}
      className="zone-option"
      role="option"
      aria-selected={one.value === value}
      data-active={index === active ? "" : undefined}
      // The field keeps the focus; the arrow keys choose from there.
      tabIndex={-1}
      onPointerDown={(event) => event.preventDefault()}
      onClick={() => onChoose(one.value)}
    >
      <span className="clip">{one.label}</span>
      <span className="muted">{one.note === "" ? offsetOf(one.value) : one.note}</span>
    </div>
  ));
}

// Searches time zones by city, old name, abbreviation or offset.

/** What a zone can also be found by, as of today. Slow to compute, so it is only called where it may match. */
export type ZoneClocks = {
  /** "+05:30"; null: not known to this browser. */
  offsetOf: (name: string) => string | null;
  abbreviationsOf: (name: string) => readonly string[];
};

export type FoundZone = {
  name: string;
  /** The old name that was searched for; null: it was found by something else. */
  formerly: string | null;
};

/** Lower case, with the same separator between all words: "America/New_York" is found by "new york". */
function plain(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[\s_/]+/g, " ")
    .trim();
}

/** All current zones for an empty text; otherwise the matches, best first. */
export function searchZones(
  { zones, others }: Zones,
  { text, ...clocks }: ZoneClocks & { text: string },
): FoundZone[] {
  const wanted = plain(text);
  if (wanted === "") return zones.map(({ name }) => ({ name, formerly: null }));
  const found: (FoundZone & { rank: number })[] = [];
  for (const { name, aliases } of zones) {
    const own = rankOf(name, wanted);
    const old = own === null ? aliases.find((one) => rankOf(one, wanted) !== null) : undefined;
    const rank = own ?? (old === undefined ? clockRank(name, wanted, clocks) : OLD_NAME);
    if (rank !== null) found.push({ name, formerly: old ?? null, rank });
  }
  for (const name of others) {
    const rank = rankOf(name, wanted);
    if (rank !== null) found.push({ name, formerly: null, rank: rank + WITHOUT_PLACE });
  }
  return found
    .toSorted((one, other) => one.rank - other.rank)
    .map(({ name, formerly }) => ({ name, formerly }));
}

const EXACT = 0;
const BEGINNING = 1;
const WITHIN = 2;
const OLD_NAME = 2;
const CLOCK = 3;
const WITHOUT_PLACE = 0.5;

function rankOf(name: string, wanted: string): number | null {
  const whole = plain(name);
  const place = plain(name.slice(name.lastIndexOf("/") + 1));
  if (whole === wanted || place === wanted) return EXACT;
  if (place.startsWith(wanted) || whole.startsWith(wanted)) return BEGINNING;
  return whole.includes(wanted) ? WITHIN : null;
}

const OFFSET = /^(?:utc|gmt)?\s*([+-])\s*(\d{1,2})(?::?(\d\d))?$/;
const ABBREVIATION = /^[a-z]{2,5}$/;

function clockRank(name: string, wanted: string, clocks: ZoneClocks): number | null {
  const [, sign, hours, minutes = "00"] = OFFSET.exec(wanted) ?? [];
  const fits =
    hours === undefined
      ? ABBREVIATION.test(wanted) && clocks.abbreviationsOf(name).some((one) => one.toLowerCase() === wanted)
      : clocks.offsetOf(name) === `${sign}${hours.padStart(2, "0")}:${minutes}`;
  return fits ? CLOCK : null;
}

/** The zone with this name, ignoring case; old names are accepted and kept. */
export function spelledZone({ zones, others }: Zones, text: string): string | null {
  const wanted = plain(text);
  const all = zones.flatMap(({ name, aliases }) => [name, ...aliases]);
  return [...all, ...others].find((name) => plain(name) === wanted) ?? null;
}

// Offsets and abbreviations of today, cached because formatters are slow to create.

/** Abbreviations differ by language: EST is American, CET is British. */
const LOCALES = ["en-US", "en-GB"];

const offsets = new Map<string, string | null>();
const abbreviations = new Map<string, readonly string[]>();

/** "+05:30"; null if this browser does not support the zone. */
function offsetOf(name: string): string | null {
  const known = offsets.get(name);
  if (known !== undefined) return known;
  const text = zonePart(name, "en-US", "longOffset")?.replace("GMT", "");
  const offset = text === "" ? "+00:00" : (text ?? null);
  offsets.set(name, offset);
  return offset;
}

function abbreviationsOf(name: string): readonly string[] {
  const known = abbreviations.get(name);
  if (known !== undefined) return known;
  const found = LOCALES.flatMap((locale) => zonePart(name, locale, "short") ?? []);
  abbreviations.set(name, found);
  return found;
}

function zonePart(timeZone: string, locale: string, timeZoneName: "longOffset" | "short"): string | null {
  try {
    const parts = new Intl.DateTimeFormat(locale, { timeZone, timeZoneName }).formatToParts();
    return parts.find(({ type }) => type === "timeZoneName")?.value ?? null;
  } catch {
    return null;
  }
}
