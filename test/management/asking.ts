// What the tests of the single endpoints have in common: the fields that each version shows, and short ways to make
// checks and to say what was answered. The fields are written out, because clients count on them.
import type { Dialect } from "../../src/core/access.ts";
import { sampleIntake, type Sent } from "../support/checks-under-change.ts";
import { type Asked, type Cast, type Reply, UNKNOWN_KEY } from "./cast.ts";

export const ALL_VERSIONS = [1, 2, 3] as const;
export type Version = (typeof ALL_VERSIONS)[number];

export type Shown = Readonly<Record<string, unknown>> & { uuid: string };

/** Where the checks are in a version. */
export function checksAt(version: Version = 3): string {
  return `/api/v${version}/checks/`;
}

/** Makes a check of the owner by the API. */
export async function newCheck(cast: Cast, body: object = {}): Promise<Shown> {
  const { json, status, text } = await cast.ask(checksAt(), { method: "POST", key: cast.owner.rw, body });
  if (status !== 201) throw new Error(`no check was made: ${status} ${text}`);
  return json as Shown;
}

/** The check as the owner's key sees it in version 3. */
export async function readCheck(cast: Cast, uuid: string): Promise<Shown> {
  return (await cast.ask(checksAt() + uuid, { key: cast.owner.rw })).json as Shown;
}

/** Signals for a check, recorded just before now, a second apart. */
export async function signals(
  cast: Cast,
  uuid: string,
  sent: readonly Omit<Sent, "uuid">[] = [{}],
): Promise<void> {
  const record = await sampleIntake(cast.db);
  const now = Math.floor((await cast.now()) / 1_000) * 1_000;
  await record(sent.map((one, index) => ({ uuid, at: now - (sent.length - index) * 1_000, ...one })));
}

/** The status and the text of a refusal. */
export function refusal({ status, json, text }: Reply): string {
  return `${status} ${(json as { error?: string } | null)?.error ?? text}`;
}

/** The statuses of several answers, in the order of their numbers. */
export function statusesOf(replies: readonly Reply[]): number[] {
  return replies.map(({ status }) => status).toSorted((one, other) => one - other);
}

const CHANGED_FIELDS =
  "name slug tags desc grace n_pings status started last_ping next_ping manual_resume methods " +
  "subject subject_fail start_kw success_kw failure_kw filter_subject filter_body badge_url";
const READ_FIELDS = CHANGED_FIELDS.replace("subject subject_fail ", "");
const FIRST_FIELDS =
  "name slug tags desc grace n_pings status last_ping next_ping manual_resume methods subject subject_fail";
const OTHER_FIELDS = CHANGED_FIELDS.replace(
  "filter_body",
  "filter_body filter_http_body filter_default_fail",
);
const WRITERS = "uuid ping_url update_url pause_url resume_url channels";
const FIRST_WRITERS = "ping_url update_url pause_url channels";

/** The names of the fields of a check without a schedule, in their order. */
export function fieldsOf(given: {
  dialect: Dialect;
  version: Version;
  key: "rw" | "ro";
  /** Whether the answer is to a read or to a change. */
  on: "read" | "change";
}): string[] {
  const isFirst = given.dialect === "standard" && given.version === 1;
  const later = given.on === "read" ? READ_FIELDS : CHANGED_FIELDS;
  const standard = isFirst ? FIRST_FIELDS : later;
  const common = given.dialect === "standard" ? standard : OTHER_FIELDS;
  const writers = isFirst ? FIRST_WRITERS : WRITERS;
  return [common, given.key === "rw" ? writers : "unique_key", "timeout"].join(" ").split(" ");
}

type Call = { path: string } & Asked;

/** Each way to come with no key, with one that is none, and with one that nobody has: what is said. */
export async function refusedKeys(cast: Cast, { path, ...call }: Call): Promise<Record<string, string>> {
  const ask = async (given: Asked) => refusal(await cast.ask(path, { ...call, ...given }));
  return {
    none: await ask({}),
    empty: await ask({ key: "" }),
    short: await ask({ key: cast.owner.rw.slice(1) }),
    long: await ask({ key: `${cast.owner.rw}x` }),
    unknown: await ask({ key: UNKNOWN_KEY }),
    "the ping key": await ask({ key: cast.owner.pingKey }),
    "other letter case": await ask({ key: swapCase(cast.owner.rw) }),
  };
}

/** What that has to be, in both dialects and all versions. */
export const KEYS_REFUSED = {
  none: "401 missing api key",
  empty: "401 missing api key",
  short: "401 missing api key",
  long: "401 missing api key",
  unknown: "401 wrong api key",
  "the ping key": "401 missing api key",
  "other letter case": "401 wrong api key",
};

function swapCase(text: string): string {
  return text.replace(/[a-z]/gi, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );
}
