// Splits schedule texts into words, the same way for both languages: only the white space of ASCII
// separates them.

const WORD = /[^\t-\r ]+/g;
const OTHER_THAN_ASCII = /[^\t-\r -~]/;

/** The words in order. */
export function words(text: string): readonly string[] {
  return text.match(WORD) ?? [];
}

/** Whether the text has only printable ASCII and white space: no schedule needs anything else. */
export function isPlainText(text: string): boolean {
  return !OTHER_THAN_ASCII.test(text);
}
