// The settings as text: .env.example, and the output of `overdue config`. Secrets are masked.
import type { EffectiveSetting, LoadedConfig } from "./config.ts";
import { type Setting, SETTINGS } from "./settings.ts";

type AnySetting = Setting<unknown, unknown>;

const COMMENT_COLUMNS = 100;

/** The contents of .env.example: every setting, commented out, with kind, default, meaning and example. */
export function renderEnvExample(): string {
  const settings: readonly AnySetting[] = Object.values(SETTINGS);
  const lines = [
    "# All settings of Overdue, with examples. Generated from src/config/settings.ts by `npm run generate`.",
    "# To change a setting, remove the # in front of it.",
    "# Overdue reads this file as `.env` in the working directory. Environment variables override it.",
    "# Put values that contain # in quotes. To read a secret from a file, set NAME_FILE to the path of the",
    "# file instead of setting NAME.",
  ];
  for (const group of new Set(settings.map((given) => given.group))) {
    lines.push("", `# --- ${group} ---`);
    for (const given of settings.filter((one) => one.group === group))
      lines.push("", ...renderSetting(given));
  }
  return `${lines.join("\n")}\n`;
}

function renderSetting(given: AnySetting): string[] {
  const fallback =
    given.fallback === null ? (given.fallbackMeans ?? "none; required") : given.kind.print(given.fallback);
  const facts = [`Type: ${given.kind.describe}. Default: ${fallback}.`];
  if (given.secret) facts.push(`Secret. To read it from a file, set ${given.key}_FILE.`);
  const aliases = [...(given.aliases ?? []), ...(given.composedOf?.names ?? [])];
  if (aliases.length > 0) facts.push(`Also read from: ${aliases.join(", ")}.`);
  return [...[given.meaning, ...facts].flatMap(wrapComment), `#${given.key}=${given.example}`];
}

function wrapComment(text: string): string[] {
  const lines: string[] = [];
  let line = "#";
  for (const word of text.split(" ")) {
    if (line.length + 1 + word.length > COMMENT_COLUMNS) {
      lines.push(line);
      line = "#";
    }
    line += ` ${word}`;
  }
  return [...lines, line];
}

/** One line for each setting: name, value in effect, and source. */
export function renderEffective(effective: readonly EffectiveSetting[]): string {
  const rows = effective.map(({ key, shown, source }) => {
    const origin = source.from === null ? "default" : `${source.kind} ${source.from}`;
    return [key, shown, origin] as const;
  });
  const keyWidth = Math.max(...rows.map(([key]) => key.length));
  const valueWidth = Math.max(...rows.map(([, shown]) => shown.length));
  return rows
    .map(([key, shown, origin]) => `${key.padEnd(keyWidth)}  ${shown.padEnd(valueWidth)}  (${origin})\n`)
    .join("");
}

/** The same for scripts: an object keyed by setting; a value that is not set is null. */
export function effectiveAsJson(
  effective: readonly EffectiveSetting[],
): Record<string, { value: string | null; source: string; from: string | null }> {
  return Object.fromEntries(
    effective.map(({ key, shown, isSet, source }) => [
      key,
      { value: isSet ? shown : null, source: source.kind, from: source.from },
    ]),
  );
}

/** Values that need no quotes in a .env file. */
const PLAIN_VALUE = /^[\w./:@,+?&=%-]*$/;

/**
 * The settings that are not defaults, as a .env file. Secrets are left out unless asked for; the settings that are
 * secret are named.
 */
export function renderSettingsFile(
  { config, effective }: LoadedConfig,
  { withSecrets }: { withSecrets: boolean },
): string {
  const lines = effective
    .filter(({ source, isSet }) => source.from !== null && isSet)
    .map(({ name, key }) => {
      const { kind, secret } = SETTINGS[name] as AnySetting;
      if (secret && !withSecrets) return `# ${key} is a secret and is not included.`;
      return `${key}=${quoteValue(kind.print(config[name]))}`;
    });
  return `# The settings in effect when the backup was made, without defaults.\n${lines.join("\n")}\n`;
}

function quoteValue(text: string): string {
  if (PLAIN_VALUE.test(text)) return text;
  const quote = ["'", '"', "`"].find((one) => !text.includes(one)) ?? "'";
  return `${quote}${text}${quote}`;
}
