// The list of settings in docs/operate/settings.md.
import { type Setting, SETTINGS } from "../src/config/settings.ts";

type AnySetting = Setting<unknown, unknown>;

/** Every setting, by group, with meaning, type, default, example and other names. */
export function renderSettings(): string {
  const settings: readonly AnySetting[] = Object.values(SETTINGS);
  const groups = [...new Set(settings.map(({ group }) => group))];
  return groups
    .map((group) => {
      const given = settings.filter((one) => one.group === group);
      return [`## ${group}`, ...given.map(renderSetting)].join("\n\n");
    })
    .join("\n\n");
}

function renderSetting(given: AnySetting): string {
  const { key, kind, meaning, example, secret } = given;
  const aliases = [...(given.aliases ?? []), ...(given.composedOf?.names ?? [])];
  const facts = [
    `Type: ${markUp(kind.describe)}`,
    `Default: ${defaultOf(given)}`,
    `Example: \`${key}=${example}\``,
    ...(secret ? [`Secret: to read it from a file, set \`${key}_FILE\``] : []),
    ...(aliases.length > 0 ? [`Also read from: ${aliases.map((name) => `\`${name}\``).join(", ")}`] : []),
  ];
  return [`### \`${key}\``, "", markUp(meaning), "", ...facts.map((fact) => `- ${fact}`)].join("\n");
}

function defaultOf({ fallback, fallbackMeans, kind }: AnySetting): string {
  if (fallback === null) return markUp(fallbackMeans ?? "none; required");
  return `\`${kind.print(fallback)}\``;
}

/** Shows names of settings, headers and placeholders as code. */
function markUp(text: string): string {
  return text.replaceAll(
    /`[^`]*`|\bOVERDUE_[A-Z0-9_]*[A-Z0-9](?:_\*)?|\$[A-Z_]+(?:\/\w+)?|<[^>]+>[^\s.,]*|X-Forwarded-\*/g,
    (part) => (part.startsWith("`") ? part : `\`${part}\``),
  );
}
