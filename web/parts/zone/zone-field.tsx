// A time zone to be chosen: typed into, searched, and picked from a list with the pointer, keys or a screen reader.
import "./zone.css";
import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import type { Zones } from "../../../src/contract/web/zones.ts";
import { get } from "../../api/api.ts";
import { Field } from "../../ui/field.tsx";
import { zoneWords as words } from "../../words/zones.ts";
import { abbreviationsOf, offsetOf } from "./zone-clock.ts";
import { type FoundZone, searchZones, spelledZone } from "./zone-search.ts";

const NONE: Zones = { zones: [], others: [] };

type Props = {
  label: string;
  value: string;
  onChange: (zone: string) => void;
  hint?: ReactNode;
  error?: string;
  disabled?: boolean;
  /** A value that is no zone, offered first: its name stands for it. */
  instead?: { value: string; label: string };
};

export function ZoneField({ label, value, onChange, instead, ...field }: Props) {
  const { disabled = false, ...noted } = field;
  const listId = useId();
  const input = useRef<HTMLInputElement>(null);
  const { data = NONE } = useQuery({
    queryKey: ["zones"],
    queryFn: () => get<Zones>("/zones"),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const shownValue = instead !== undefined && value === instead.value ? instead.label : value;
  // Null: nobody types, and what is chosen is shown.
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
  /** What is spelled out counts as it is; otherwise the marked one; otherwise the text, for the server to refuse. */
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
          <div id={listId} className="zone-list" role="listbox" aria-label={words.matches} hidden={!isOpen}>
            {isOpen && (
              <Options listId={listId} options={found} active={active} value={value} onChoose={choose} />
            )}
          </div>
          <span className="sr" role="status">
            {isOpen && typed !== null && words.count(found.length)}
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
  return { value: name, label: name, note: formerly === null ? "" : words.formerly(formerly) };
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
  // In braces: some browsers answer with a promise, which is no way to clean up.
  useEffect(() => {
    mark.current?.scrollIntoView({ block: "nearest" });
  }, [active, options.length]);
  if (options.length === 0) {
    return (
      <div className="zone-none" role="option" aria-disabled="true" aria-selected="false">
        {words.none}
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
