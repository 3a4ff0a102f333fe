// The gallery of channel kinds: search, categories, and a card for each kind. Also the icons of kinds.
import { type RefObject, useDeferredValue, useState } from "react";
import type { Channel, ChannelKindInfo } from "../../src/contract/api/channels.ts";
import { useShortcuts } from "../shortcuts.ts";
import { Keys } from "../ui/button.tsx";
import { CATEGORY_WORDS, channelsWords, galleryWords as words, needsAttention } from "../words/channels.ts";
import { CHANNEL_ICONS } from "./channel-icons.ts";

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

/** The kinds of a category that contain every word of a text in their name or description. */
export function foundKinds(
  kinds: readonly ChannelKindInfo[],
  { text, category }: { text: string; category: Category | null },
): ChannelKindInfo[] {
  const wanted = text.toLowerCase().split(/\s+/);
  return kinds.filter((kind) => {
    const searched = [kind.name, kind.title, kind.description, CATEGORY_WORDS[kind.category]]
      .join(" ")
      .toLowerCase();
    return (
      (category === null || kind.category === category) && wanted.every((word) => searched.includes(word))
    );
  });
}

type TileProps = Pick<GalleryProps, "channels" | "onPick"> & { kind: ChannelKindInfo };

function Tile({ kind, channels, onPick }: TileProps) {
  const { name, title, description, unavailable } = kind;
  const connected = channels.filter((channel) => channel.kind === name);
  return (
    <button
      type="button"
      className={unavailable === null ? "channels-tile" : "channels-tile is-off"}
      onClick={() => onPick(name)}
    >
      <KindIcon kind={kind} />
      <span className="channels-tile-text">
        <b>{title}</b>
        <span className="channels-line-two">{unavailable ?? description}</span>
        {connected.length > 0 && (
          <span className={connected.some(needsAttention) ? "channels-bad" : "channels-good"}>
            {words.connected(connected.length)}
          </span>
        )}
      </span>
    </button>
  );
}

// Icons: of the brand, or of the category.

const GLYPHS: Readonly<Record<Category | "email", string>> = {
  chat: "M4 5h16v11H10l-5 4v-4H4z",
  push: "M6.5 17v-6a5.5 5.5 0 0 1 11 0v6l1.5 2H5zM10.5 21.5h3",
  phone: "M7.5 3h9v18h-9zM11 18h2",
  incidents: "M12 4.5 20.5 19h-17zM12 10v4M12 16.5v.1",
  automation: "m9 8-4 4 4 4M15 8l4 4-4 4",
  email: "M3.5 6h17v12h-17zM4 7l8 6 8-6",
};

/** Decorative: the name of the kind is beside it. */
export function KindIcon({ kind }: { kind: Pick<ChannelKindInfo, "name" | "category" | "icon"> }) {
  const brand = kind.icon === null ? undefined : CHANNEL_ICONS[kind.icon];
  const glyph = kind.name === "email" ? GLYPHS.email : GLYPHS[kind.category];
  return (
    <span className={`channels-icon is-${kind.category}`} aria-hidden="true">
      <svg viewBox="0 0 24 24" width="20" height="20">
        {brand === undefined ? <path className="is-glyph" d={glyph} /> : <path d={brand} />}
      </svg>
    </span>
  );
}
