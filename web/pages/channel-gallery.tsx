// The gallery of channel kinds: search, categories, and a card for each kind.
import { type RefObject, useDeferredValue, useState } from "react";
import type { Channel, ChannelKindInfo } from "../../src/contract/api/channels.ts";
import { useShortcuts } from "../shortcuts.ts";
import { Keys } from "../ui/button.tsx";
import { CATEGORY_WORDS, channelsWords, galleryWords as words, needsAttention } from "../words/channels.ts";
import { fieldsOf } from "./channel-form.tsx";
import { KindIcon } from "./channel-icon.tsx";

export type Category = ChannelKindInfo["category"];

/** In the order of the filter. */
const CATEGORIES = Object.keys(CATEGORY_WORDS) as Category[];

type GalleryProps = {
  kinds: readonly ChannelKindInfo[];
  channels: readonly Channel[];
  /** The search field, so that the page can focus it. */
  field: RefObject<HTMLInputElement | null>;
  onPick: (kind: string) => void;
};

export function Gallery({ kinds, channels, field, onPick }: GalleryProps) {
  const [text, setText] = useState("");
  const [category, setCategory] = useState<Category | null>(null);
  const found = foundKinds(kinds, { text: useDeferredValue(text), category });
  useShortcuts([
    { keys: "/", label: words.find, group: channelsWords.tab, run: () => field.current?.focus() },
  ]);
  const [first] = found;
  return (
    <section aria-labelledby="channels-gallery">
      <div className="channels-tools">
        <h2 id="channels-gallery">{words.title}</h2>
        <form
          className="channels-find"
          role="search"
          onSubmit={(event) => {
            event.preventDefault();
            if (first !== undefined && text.trim() !== "") onPick(first.name);
          }}
        >
          <input
            ref={field}
            className="input"
            type="search"
            aria-label={words.find}
            placeholder={words.placeholder(kinds.length)}
            value={text}
            autoComplete="off"
            onChange={(change) => setText(change.target.value)}
          />
          <span aria-hidden="true">
            <Keys keys="/" />
          </span>
        </form>
        <div className="channels-filter" role="group" aria-label={words.category}>
          {[null, ...CATEGORIES].map((one) => {
            const count = kinds.filter((kind) => one === null || kind.category === one).length;
            if (count === 0) return null;
            return (
              <button
                key={one}
                type="button"
                className="chip is-quiet"
                aria-pressed={category === one}
                onClick={() => setCategory(one)}
              >
                {one === null ? words.all : CATEGORY_WORDS[one]} {count}
              </button>
            );
          })}
        </div>
      </div>
      <ul className="channels-tiles">
        {found.map((kind) => (
          <li key={kind.name}>
            <Tile kind={kind} channels={channels} onPick={onPick} />
          </li>
        ))}
      </ul>
      {/* Screen readers announce how many match. */}
      <p className={found.length === 0 ? "channels-none" : "sr"} role="status">
        {found.length === 0 ? words.none : words.count(found.length)}
      </p>
    </section>
  );
}

/** The kinds of a category that contain every word of a text, those with a word in their title first. */
export function foundKinds(
  kinds: readonly ChannelKindInfo[],
  { text, category }: { text: string; category: Category | null },
): ChannelKindInfo[] {
  const wanted = text.trim().toLowerCase().split(/\s+/);
  const found = kinds.filter((kind) => {
    const searched = [kind.name, kind.title, kind.description, CATEGORY_WORDS[kind.category]]
      .join(" ")
      .toLowerCase();
    return (
      (category === null || kind.category === category) && wanted.every((word) => searched.includes(word))
    );
  });
  const isTitled = ({ title }: ChannelKindInfo) => wanted.some((word) => title.toLowerCase().includes(word));
  return found.toSorted((a, b) => Number(isTitled(b)) - Number(isTitled(a)));
}

/** What has to be entered for a channel, or what it does if nothing has to be. */
function summaryOf(kind: ChannelKindInfo): string {
  if (kind.unavailable !== null) return words.unavailable;
  if (kind.name === "webpush") return words.thisBrowser;
  const labels = fieldsOf(kind)
    .filter(({ isRequired }) => isRequired)
    .map(({ label }) => label);
  return labels.length === 0 ? kind.description : words.needs(labels);
}

type TileProps = Pick<GalleryProps, "channels" | "onPick"> & { kind: ChannelKindInfo };

function Tile({ kind, channels, onPick }: TileProps) {
  const { name, title, description, unavailable } = kind;
  const connected = channels.filter((channel) => channel.kind === name);
  const broken = connected.filter(needsAttention).length;
  return (
    <button
      type="button"
      className={unavailable === null ? "channels-tile" : "channels-tile is-off"}
      title={description}
      onClick={() => onPick(name)}
    >
      <KindIcon kind={kind} />
      <span className="channels-tile-text">
        <b>{title}</b>
        {connected.length === 0 ? (
          <span className="channels-line-two">{summaryOf(kind)}</span>
        ) : (
          <span className={broken > 0 ? "channels-bad" : "channels-good"}>
            {words.connected(connected.length, broken)}
          </span>
        )}
      </span>
    </button>
  );
}
