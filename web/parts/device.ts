// A readable name of a browser from its user agent, such as "Firefox on Linux". Only shown, never used for a
// decision.
import { accountWords } from "../words/account.ts";

const words = accountWords.sessions;

/** The user agents of later ones contain the names of earlier ones, so the order matters. */
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdgA?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bSamsungBrowser\//, "Samsung Internet"],
  [/\b(Firefox|FxiOS)\//, "Firefox"],
  [/\b(Chrome|Chromium|CriOS|HeadlessChrome)\//, "Chrome"],
  [/^(?=.*\bVersion\/).*\bSafari\//s, "Safari"],
  [/^curl\//, "curl"],
];

const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\b(iPhone|iPad|iPod)\b/, "iOS"],
  [/\bAndroid\b/, "Android"],
  [/\bWindows\b/, "Windows"],
  [/\b(Macintosh|Mac OS X)\b/, "macOS"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bLinux\b/, "Linux"],
];

export function deviceName(ua: string): string {
  const find = (table: typeof BROWSERS) => table.find(([pattern]) => pattern.test(ua))?.[1] ?? null;
  const browser = find(BROWSERS);
  const system = find(SYSTEMS);
  if (browser === null) return system ?? words.unknown;
  return system === null ? browser : words.on(browser, system);
}
