// Spoils answers of the API on purpose: takes a field away from every object of a kind, or gives it another name. Which
// kind an answer holds is told by the path it came from.

/** The objects that answers are made of. */
export type Kind = "check" | "ping" | "flip" | "channel" | "badge";

/** A field of the objects of a kind. */
export type Field = { kind: Kind; name: string };

export const SPOILINGS = ["dropped", "renamed"] as const;
export type Spoiling = (typeof SPOILINGS)[number];

type Fields = Record<string, unknown>;

const PATHS: Readonly<Record<Kind, RegExp>> = {
  check: /^\/api\/v\d\/checks\/(?:[0-9a-f-]+(?:\/pause|\/resume)?)?\/?$/,
  ping: /^\/api\/v\d\/checks\/[0-9a-f-]+\/pings\/?$/,
  flip: /^\/api\/v\d\/checks\/[0-9a-f-]+\/flips\/?$/,
  channel: /^\/api\/v\d\/channels\/?$/,
  badge: /^\/api\/v\d\/badges\/?$/,
};

/** The objects of a kind in the JSON of a good answer, to be changed in place. */
const OBJECTS: Readonly<Record<Kind, (json: unknown) => unknown[]>> = {
  check: (json) => listIn(json, "checks") ?? [json],
  ping: (json) => listIn(json, "pings") ?? [],
  flip: (json) => listIn(json, "flips") ?? (Array.isArray(json) ? (json as unknown[]) : []),
  channel: (json) => listIn(json, "channels") ?? [],
  badge: (json) => Object.values((json as { badges?: Fields }).badges ?? {}),
};

function listIn(json: unknown, name: string): unknown[] | null {
  const list = typeof json === "object" && json !== null ? (json as Fields)[name] : null;
  return Array.isArray(list) ? (list as unknown[]) : null;
}

/** The text of an answer with the field spoiled wherever it occurs; null where it does not. */
export function spoiled(
  { path, text }: { path: string; text: string },
  { field, spoiling }: { field: Field; spoiling: Spoiling },
): string | null {
  if (!PATHS[field.kind].test(path.replace(/\?.*$/s, ""))) return null;
  const json: unknown = JSON.parse(text);
  let count = 0;
  for (const object of OBJECTS[field.kind](json)) {
    if (typeof object !== "object" || object === null || !Object.hasOwn(object, field.name)) continue;
    const fields = object as Fields;
    if (spoiling === "renamed") fields[`${field.name}_`] = fields[field.name];
    delete fields[field.name];
    count += 1;
  }
  return count === 0 ? null : JSON.stringify(json);
}
