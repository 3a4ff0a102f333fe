// The filters above the list: counts by state, tags, order. Each is a part of the view in the address.
import { STATE_WORDS, formatCount } from "../../../src/contract/web/list-words.ts";
import { Link } from "wouter";
import { useState } from "react";
import { Icon } from "../../ui/icon.tsx";
import { StateShape } from "../../ui/marks/state-shape.tsx";
import { Menu, MenuChoice, MenuHead, MenuItem, MenuLine } from "../../ui/menu.tsx";
import { checksWords } from "../../words/checks.ts";
import type { Shown } from "./use-shown.ts";
import { FILTER_STATES, ORDERS, toggled, type View, writeView } from "./view/view.ts";

/** More tags than these are found by typing. */
const TAGS_SHOWN = 60;
/** With so few there is nothing to look for. */
const TAGS_IN_SIGHT = 8;

type Props = { view: View; shown: Pick<Shown, "counts" | "tags">; onView: (view: View) => void };

export function Filters({ view, shown, onView }: Props) {
  return (
    <div className="filters">
      <div className="filters-states" role="group" aria-label={checksWords.filterByState}>
        {FILTER_STATES.filter((state) => shown.counts[state] > 0 || view.states.includes(state)).map(
          (state) => (
            <button
              key={state}
              type="button"
              className="chip"
              aria-pressed={view.states.includes(state)}
              onClick={() => onView({ ...view, states: toggled(view.states, state) })}
            >
              <StateShape state={state} label={null} />
              {formatCount(shown.counts[state])} {STATE_WORDS[state]}
            </button>
          ),
        )}
      </div>
      <div className="filters-more">
        {shown.tags.length > 0 && <TagMenu view={view} tags={shown.tags} onView={onView} />}
        <OrderMenu view={view} onView={onView} />
      </div>
    </div>
  );
}

function TagMenu({ view, tags, onView }: Omit<Props, "shown"> & { tags: Shown["tags"] }) {
  const [text, setText] = useState("");
  const found = tags
    .filter(({ name }) => name.toLowerCase().includes(text.toLowerCase()))
    .slice(0, TAGS_SHOWN);
  const isAny = view.tags.length === 0;
  return (
    <Menu
      align="end"
      label={checksWords.findTag}
      trigger={
        <button type="button" className="chip is-quiet" aria-pressed={!isAny}>
          {isAny ? checksWords.anyTag : checksWords.tagged(view.tags)}
          <Icon name="down" size={12} />
        </button>
      }
    >
      {tags.length > TAGS_IN_SIGHT && (
        <input
          className="input menu-find"
          placeholder={checksWords.findTag}
          aria-label={checksWords.findTag}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) =>
            event.key !== "Escape" && event.key !== "ArrowDown" && event.stopPropagation()
          }
        />
      )}
      {found.map(({ name, count, state }) => (
        <MenuChoice
          key={name}
          stays
          isChosen={view.tags.includes(name)}
          onPick={() => onView({ ...view, tags: toggled(view.tags, name) })}
        >
          <span className="menu-tag">
            <StateShape state={state} />
            <span className="clip">{name}</span>
            <span className="muted figures">{formatCount(count)}</span>
          </span>
        </MenuChoice>
      ))}
      {!isAny && (
        <>
          <MenuLine />
          <MenuItem onPick={() => onView({ ...view, tags: [] })}>{checksWords.clearTags}</MenuItem>
        </>
      )}
    </Menu>
  );
}

function OrderMenu({ view, onView }: Omit<Props, "shown">) {
  return (
    <Menu
      align="end"
      label={checksWords.orderLabel}
      trigger={
        <button type="button" className="chip is-quiet">
          {checksWords.order(checksWords.orders[view.order])}
          <Icon name="down" size={12} />
        </button>
      }
    >
      <MenuHead>{checksWords.orderNote}</MenuHead>
      {ORDERS.map((order) => (
        <MenuChoice key={order} isChosen={view.order === order} onPick={() => onView({ ...view, order })}>
          {checksWords.orders[order]}
        </MenuChoice>
      ))}
      <MenuLine />
      <MenuChoice isChosen={view.isGrouped} onPick={() => onView({ ...view, isGrouped: !view.isGrouped })}>
        {checksWords.groupByTag}
      </MenuChoice>
    </Menu>
  );
}

function allChecksHref(view: View): string {
  return `?${writeView({ ...view, search: "", tags: [], states: [] })}`;
}

/** Shown instead of rows when none fits. */
export function ShowAllLink({ view }: { view: View }) {
  return (
    <Link className="button is-quiet" href={allChecksHref(view)}>
      {checksWords.noMatch.action}
    </Link>
  );
}
