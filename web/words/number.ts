// Counts, percentages and sizes. Pure.
import { formatCount } from "../../src/contract/web/list-words.ts";

const LOCALE = "en-GB";
const PERCENT = new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 1 });
/** "1 check", "3 checks". */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** "99.2%" for a share between 0 and 1; rounded down, so only 1 gives 100%. */
export function formatShare(share: number): string {
  const percent = Math.floor(share * 1_000) / 10;
  return `${PERCENT.format(percent)}%`;
}

/** "812 B", "2.1 kB", "14 MB": steps of a thousand. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let size = bytes / 1_000;
  let step = 0;
  while (size >= 1_000 && step < units.length - 1) {
    size /= 1_000;
    step += 1;
  }
  return `${size < 10 ? size.toFixed(1).replace(/\.0$/, "") : Math.round(size)} ${units[step]}`;
}
