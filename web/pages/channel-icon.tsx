// The icon of a channel kind: of its brand; initials for a brand without one; a drawing for what has no brand.
import type { ChannelKindInfo } from "../../src/contract/api/channels.ts";
import { CHANNEL_ICONS } from "./channel-icons.ts";

type Drawn = Pick<ChannelKindInfo, "name" | "title" | "category" | "icon">;

const GLYPHS: Readonly<Record<string, string>> = {
  email: "M3.5 6h17v12h-17zM4 7l8 6 8-6",
  webhook: "m9 7-5 5 5 5M15 7l5 5-5 5",
  sms: "M4 5h16v11H10l-5 4v-4H4zM8 10.5h.1M12 10.5h.1M16 10.5h.1",
  call: "M6.5 3.5h3l1.5 4.5-2 1.5a11 11 0 0 0 5.5 5.5l1.5-2 4.5 1.5v3a2 2 0 0 1-2 2A14.5 14.5 0 0 1 4.5 5.5a2 2 0 0 1 2-2z",
  webpush: "M6.5 17v-6a5.5 5.5 0 0 1 11 0v6l1.5 2H5zM10.5 21.5h3",
  shell: "M3.5 5h17v14h-17zM7 9.5l3 2.5-3 2.5M12.5 15h4",
  group: "M12 4.5v5M12 9.5l-6 5M12 9.5l6 5M12 3v3M4.5 15h3v3h-3zM16.5 15h3v3h-3z",
};

/** Decorative: the name of the kind is beside it. */
export function KindIcon({ kind }: { kind: Drawn }) {
  return (
    <span className={`channels-icon is-${kind.category}`} aria-hidden="true">
      <Drawing kind={kind} />
    </span>
  );
}

function Drawing({ kind: { name, title, icon } }: { kind: Drawn }) {
  const brand = icon === null ? undefined : CHANNEL_ICONS[icon];
  const glyph = GLYPHS[name];
  if (brand === undefined && glyph === undefined) return initialsOf(title);
  return (
    <svg viewBox="0 0 24 24" width="20" height="20">
      {brand === undefined ? <path className="is-glyph" d={glyph} /> : <path d={brand} />}
    </svg>
  );
}

/** "MT" for "Microsoft Teams", "DT" for "DingTalk", "Sl" for "Slack". */
export function initialsOf(title: string): string {
  const [first = "", second] = title.split(/ |(?<=[a-z])(?=[A-Z])/);
  const two = second === undefined ? first.slice(0, 2) : first.charAt(0) + second.charAt(0);
  return two.charAt(0).toUpperCase() + two.slice(1);
}
