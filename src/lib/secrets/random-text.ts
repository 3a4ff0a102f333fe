// Secret random characters. The only place that draws lots; core is handed this function.
import { randomInt } from "node:crypto";

/** A text of `length` characters, each drawn evenly and unpredictably from the alphabet. */
export function randomText({ alphabet, length }: { alphabet: string; length: number }): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join("");
}
