// A text cut at the places where something was found: odd pieces are matches. Letter case does not matter. Pure.

/** More marks than these help nobody and make the page slow. */
const MATCHES_MAX = 500;

export function splitByMatches(text: string, search: string): string[] {
  if (search === "") return [text];
  const wanted = search.toLowerCase();
  const lower = text.toLowerCase();
  // Some letters change their length with their case; then places in one are not places in the other.
  if (lower.length !== text.length) return splitExactly(text, search, text);
  return splitExactly(lower, wanted, text);
}

function splitExactly(searched: string, wanted: string, text: string): string[] {
  const pieces: string[] = [];
  let from = 0;
  while (pieces.length < 2 * MATCHES_MAX) {
    const at = searched.indexOf(wanted, from);
    if (at === -1) break;
    pieces.push(text.slice(from, at), text.slice(at, at + wanted.length));
    from = at + wanted.length;
  }
  return [...pieces, text.slice(from)];
}
