// The data of the fuzzed server: two projects, checks of every kind and in every state, pings with bodies, flips,
// integrations. Created over HTTP, as by a client.
import { randomBytes } from "node:crypto";
import { uniqueKey } from "../../src/core/identity.ts";
import { sha1Hex } from "../../src/lib/secrets.ts";
import type { ServerUnderTest } from "../../test/conformance/server-under-test.ts";

/** A check to request, and the numbers of its pings that have bodies. */
type KnownCheck = { uuid: string; uniqueKey: string; slug: string; bodies: readonly number[] };

/** The IDs of existing resources, in the form that hooks.py reads. */
export type World = {
  /** The URL of version 3. */
  api: string;
  keys: { readWrite: string; readOnly: string; stranger: string; unknown: string };
  checks: readonly KnownCheck[];
  strangersCheck: string;
  /** Values for fields with rules that a schema cannot express. */
  texts: { schedule: readonly string[]; tz: readonly string[]; channels: readonly string[] };
};

const CHANNELS = [
  { kind: "email", name: "Ops" },
  { kind: "webhook", name: "Pager" },
  { kind: "sms", name: "" },
];

const CHECKS: readonly Readonly<Record<string, unknown>>[] = [
  { name: "Plain" },
  { name: "Nightly backup", tags: "prod backup", schedule: "30 2 * * *", tz: "Europe/Riga", channels: "*" },
  {
    name: "Calendar",
    tags: "prod",
    schedule: "Mon..Fri *-*-* 09:00",
    tz: "America/New_York",
    desc: "Ünïcödé",
  },
  { name: "Only POST", methods: "POST", manual_resume: true, grace: 60, timeout: 60 },
  { name: "Keywords", filter_subject: true, filter_body: true, success_kw: "done", failure_kw: "error" },
  { name: "Ours", filter_http_body: true, filter_default_fail: true, start_kw: "begin", tags: "* a/b é" },
];

const TEXTS = {
  schedule: ["* * * * *", "*/5 0-6 1,15 * mon-fri", "0 0 29 2 *", "@daily", "daily", "Sat,Sun 03:00:00"],
  tz: ["UTC", "Europe/Riga", "America/New_York", "Asia/Kolkata", "Pacific/Chatham"],
};

/** For each state of a check, how to get there: suffixes of ping URLs, or a call of the API. */
const PING_SEQUENCES: readonly (readonly string[])[] = [
  [],
  ["", "/fail", "/log", "/start", "", "/7", "/0"],
  ["/start"],
  ["", "/fail"],
  ["", "pause"],
  ["/fail", "/start?rid=2f9e4c5a-6d0b-4f43-9c61-8a7e5d1b3c20", "?rid=2f9e4c5a-6d0b-4f43-9c61-8a7e5d1b3c20"],
];

const BODIES: readonly (string | Uint8Array)[] = [
  "42 tables dumped, 0 errors\n",
  "done",
  "\u0000 \ud83d\udc4b \r\n",
  Uint8Array.from([0xff, 0xfe, 0x00, 0x80]),
  "x".repeat(20_000),
  "",
];

/** Creates the projects, and a check of each kind in each state. */
export async function makeWorld(server: ServerUnderTest): Promise<World> {
  const own = await server.makeProject({ channels: CHANNELS });
  const other = await server.makeProject({});
  const api = `${server.site}/api/v3`;
  const uuids: string[] = [];
  for (const [kind, settings] of CHECKS.entries()) {
    for (const [state, life] of PING_SEQUENCES.entries()) {
      const slug = `kind-${kind}-state-${state}`;
      const { uuid } = await create(api, { key: own.api_key, body: { ...settings, slug } });
      await bringToState({ site: server.site, api, key: own.api_key }, { uuid, life });
      uuids.push(uuid);
    }
  }
  const { uuid: strangersCheck } = await create(api, { key: other.api_key, body: { name: "Elsewhere" } });
  const ids = own.channels?.map(({ id }) => id) ?? [];
  return {
    api,
    keys: {
      readWrite: own.api_key,
      readOnly: own.api_key_readonly,
      stranger: other.api_key,
      unknown: randomBytes(16).toString("hex"),
    },
    checks: await Promise.all(uuids.map((uuid) => knownCheck(api, { key: own.api_key, uuid }))),
    strangersCheck,
    texts: { ...TEXTS, channels: ["*", "", "Ops", "Ops,Pager", ids.join(","), ids[0] ?? ""] },
  };
}

async function create(api: string, { key, body }: { key: string; body: object }): Promise<{ uuid: string }> {
  const made = await well(`${api}/checks/`, { method: "POST", key, body: JSON.stringify(body) });
  return (await made.json()) as { uuid: string };
}

async function bringToState(
  { site, api, key }: { site: string; api: string; key: string },
  { uuid, life }: { uuid: string; life: readonly string[] },
): Promise<void> {
  for (const [number, event] of life.entries()) {
    const address = event === "pause" ? `${api}/checks/${uuid}/pause` : `${site}/ping/${uuid}${event}`;
    const body = event === "pause" ? "" : (BODIES[number % BODIES.length] ?? "");
    await well(address, { method: "POST", key, body });
  }
}

type ShownCheck = { slug: string; unique_key: string };
type ShownPings = { pings: readonly { n: number; body_url: string | null }[] };

/** The check as a read-write key sees it, except its unique key, which is derived from its UUID. */
async function knownCheck(api: string, { key, uuid }: { key: string; uuid: string }): Promise<KnownCheck> {
  const shown = (await (await well(`${api}/checks/${uuid}`, { key })).json()) as ShownCheck;
  const { pings } = (await (await well(`${api}/checks/${uuid}/pings/`, { key })).json()) as ShownPings;
  const bodies = pings.filter(({ body_url: url }) => url !== null).map(({ n }) => n);
  return { uuid, slug: shown.slug, uniqueKey: uniqueKey(uuid, sha1Hex), bodies };
}

/** A request that must succeed. */
async function well(
  address: string,
  { key, ...init }: { key: string; method?: string; body?: string | Uint8Array },
): Promise<Response> {
  const { body, ...rest } = init;
  const headers = { "X-Api-Key": key };
  const response = await fetch(address, {
    ...rest,
    headers,
    ...(body !== undefined && { body: body as string }),
  });
  if (!response.ok) throw new Error(`${address} was answered ${response.status}: ${await response.text()}`);
  return response;
}
