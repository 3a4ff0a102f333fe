// Chooses from a list by a few typed letters: the beginning of a name first, then of a word in it, then anywhere,
// then letters in order. Pure.

export type Ranked = {
  label: string;
  /** Found by, but not shown: slug, tags, id. */
  also?: string;
};

const NOT_FOUND = 9;
const SPREAD_LETTERS_MIN = 3;

/** The best `most` entries; those that fit equally well keep their order. */
export function rankEntries<T extends Ranked>(entries: readonly T[], text: string, most: number): T[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return entries.slice(0, most);
  const buckets: T[][] = [];
  for (const entry of entries) {
    const rank = rankOf(entry, wanted);
    if (rank === NOT_FOUND) continue;
    const bucket = (buckets[rank] ??= []);
    if (bucket.length < most) bucket.push(entry);
  }
  return buckets.flat().slice(0, most);
}

function rankOf({ label, also = "" }: Ranked, wanted: string): number {
  const name = label.toLowerCase();
  const at = name.indexOf(wanted);
  if (at === 0) return 0;
  if (at > 0) return /[^\p{L}\p{N}]/u.test(name[at - 1] ?? "") ? 1 : 2;
  if (also.toLowerCase().includes(wanted)) return 3;
  return wanted.length >= SPREAD_LETTERS_MIN && hasInOrder(name, wanted) ? 4 : NOT_FOUND;
}

function hasInOrder(name: string, letters: string): boolean {
  let from = 0;
  for (const letter of letters) {
    const at = name.indexOf(letter, from);
    if (at === -1) return false;
    from = at + 1;
  }
  return true;
}
