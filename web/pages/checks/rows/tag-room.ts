// How many tags of a check stand beside its name. What a text needs is reckoned by its letters: measuring every row
// would have the page laid out again and again while somebody scrolls.

/** Widths on screen, a little more than most letters need: a name is not to be cut short for a tag. */
const NAME_LETTER_PX = 7.7;
const TAG_LETTER_PX = 6.6;
/** Signs of scripts whose letters are as wide as they are high count twice. */
const WIDE_FROM = 0x2e80;
const TAG_RIM_PX = 19;
/** "+2", with what parts it from the tag before. */
const REST_PX = 36;
/** A tag that is longer is cut, by `.tag` in ui.css. */
const TAG_LETTERS_MAX = 16;
/** More than these say less than a number. */
const TAGS_MAX = 3;

export type TagRoom = { name: string; tags: readonly string[]; roomPx: number };

/** The number of tags that fit, in their order, with the number of the others behind them. */
export function tagsBeside({ name, tags, roomPx }: TagRoom): number {
  let left = roomPx - lettersOf(name) * NAME_LETTER_PX;
  let count = 0;
  for (const tag of tags.slice(0, TAGS_MAX)) {
    const isLast = count === tags.length - 1;
    left -= Math.min(lettersOf(tag), TAG_LETTERS_MAX) * TAG_LETTER_PX + TAG_RIM_PX;
    if (left < (isLast ? 0 : REST_PX)) break;
    count += 1;
  }
  return count;
}

function lettersOf(text: string): number {
  let letters = 0;
  for (const sign of text) letters += (sign.codePointAt(0) ?? 0) >= WIDE_FROM ? 2 : 1;
  return letters;
}
