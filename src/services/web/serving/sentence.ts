// The texts of refusals are made for programs; a person gets a sentence.

/** "not paused" as "Not paused.", and a sentence as it is. */
export function sentenceOf(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}
