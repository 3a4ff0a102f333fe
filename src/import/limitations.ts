import { IMPORT_DAMAGES_LISTED_MAX } from "../core/limits.ts";

/** What a source cannot tell and which of its values are damaged, as sentences for the report. */
export class Limitations {
  readonly lines: string[] = [];
  #damageCount = 0;

  /** The same sentence is listed once. */
  add(line: string): void {
    if (!this.lines.includes(line)) this.lines.push(line);
  }

  /** A source can have a million damaged values: the first ones are listed, further ones are counted. */
  addDamage(line: string): void {
    // A row may be read twice.
    if (this.lines.includes(line)) return;
    this.#damageCount += 1;
    const moreCount = this.#damageCount - IMPORT_DAMAGES_LISTED_MAX;
    if (moreCount <= 0) {
      this.lines.push(line);
      return;
    }
    if (moreCount > 1) this.lines.splice(this.lines.indexOf(moreText(moreCount - 1)), 1);
    this.lines.push(moreText(moreCount));
  }
}

function moreText(count: number): string {
  return `Further damaged values, not listed: ${count}.`;
}
