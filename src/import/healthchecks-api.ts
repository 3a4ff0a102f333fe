// Reads one project of a Healthchecks installation by its management API. The API returns less than the database: what
// is missing is in the limitations.
import { setTimeout as sleepFor } from "node:timers/promises";
import type {
  ImportSource,
  SourceChannel,
  SourceCheck,
  SourceFlip,
  SourcePing,
  SourceProject,
} from "../core/import-source.ts";
import { SECOND_MS } from "../core/instant.ts";
import {
  DEFAULT_GRACE_SECONDS,
  DEFAULT_SCHEDULE,
  DEFAULT_TIMEOUT_SECONDS,
  DEFAULT_TZ,
  IMPORT_BODY_BYTES_MAX,
  IMPORT_CHECKS_PER_PAGE,
  IMPORT_FAILURES_MAX,
  IMPORT_FLIPS_MAX,
  IMPORT_PAGED_BODY_BYTES_MAX,
  IMPORT_PINGS_PER_PAGE,
  IMPORT_RATE_LIMITED_MAX,
  IMPORT_REQUESTS_MAX,
  IMPORT_RESPONSE_BYTES_MAX,
  IMPORT_RESPONSE_MS_MAX,
  IMPORT_RETRY_MS_MAX,
  IMPORT_RETRY_MS_MIN,
} from "../core/limits.ts";
import { detectKind } from "../core/schedule/schedule.ts";
import {
  type DownloadedResponse,
  type GuardedHttp,
  guardedHttp,
  OutgoingError,
} from "../lib/outgoing-http.ts";
import { Limitations } from "./limitations.ts";
import { SourceError } from "./source-error.ts";
import { type Read, readBoolean, readInteger, readText, readTime, readUuid } from "./source-value.ts";

export type ApiSourceOptions = {
  /** A read-write key of the project. */
  apiKey: string;
  /** Whether the installation may be in a private network. */
  allowPrivate: boolean;
  proxyUrl?: string | null;
  /** Each body is a request of its own; false leaves them out. */
  withBodies?: boolean;
  /** For tests. */
  sleep?: (ms: number) => Promise<unknown>;
};

/** Newer versions show more. */
const VERSIONS = ["v3", "v2", "v1"] as const;
const REF = "api";
const KEY_HINT = "Set HEALTHCHECKS_API_KEY to the read-write key of the project.";
const READ_ONLY_TEXT = `HEALTHCHECKS_API_KEY is a read-only key, which does not show the UUIDs of checks. ${KEY_HINT}`;
/** What a header can contain. */
const KEY = /^[\x21-\x7e]{1,200}$/;
const BADGE_OF_CHECK = /\/b\/\d+\/([0-9a-f-]{36})\.[a-z]+$/;
const BADGE_OF_TAG = /\/badge\/([^/]+)\//;
const LAST_SEGMENT = /\/([^/]+)$/;
const PAGE_BYTES_MAX = IMPORT_PINGS_PER_PAGE * IMPORT_PAGED_BODY_BYTES_MAX;
/** A failure of the network or the server that may be over soon. */
const RETRIED_KINDS: readonly string[] = ["timeout", "unresolved", "unconnected", "broken"];
const SERVER_ERROR = 500;

const LIMITATIONS = [
  "The API does not return the configuration of channels, only their names and kinds.",
  "The API does not return the name, the UUID, the ping key, the team and the read-only key of the project.",
  "The API does not return when checks were created, when they alert, and the exit statuses of pings.",
  "The API shows times of checks and flips in whole seconds, and flips without reasons. A pause is shown like going down.",
  "The API returns as many pings of a check as the account keeps, and at most 1,000.",
];

type Json = Readonly<Record<string, unknown>>;

/** Connects to the API of a project. Throws SourceError. */
export async function openApiSource(url: string, options: ApiSourceOptions): Promise<ImportSource> {
  const site = siteOf(url);
  if (!KEY.test(options.apiKey)) throw new SourceError(`The API key is empty or damaged. ${KEY_HINT}`);
  const http = guardedHttp({
    userAgent: "Overdue",
    allowPrivate: options.allowPrivate,
    proxyUrl: options.proxyUrl ?? null,
  });
  try {
    const client = new ApiClient(http, { site, ...options });
    return await sourceOf(client, options);
  } catch (error) {
    await http.close();
    throw error;
  }
}

/** The URL of the installation; one of its API is accepted, too. */
function siteOf(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new SourceError("The URL of the API must look like https://healthchecks.example.org.");
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw new SourceError("The URL of the API must not contain a user name, a password, ? or #.");
  }
  return url.href.replace(/\/+$/, "").replace(/\/api(\/v\d)?$/, "");
}

async function sourceOf(
  client: ApiClient,
  { apiKey, withBodies = true }: ApiSourceOptions,
): Promise<ImportSource> {
  const limitations = new Limitations();
  for (const line of LIMITATIONS) limitations.add(line);
  if (!withBodies) limitations.add("The bodies of pings are left out, as requested.");
  const listed = await client.connect();
  const channels = await readChannels(client, limitations);
  const checks = listOf(listed, "checks");
  if (checks.some((check) => uuidOf(check) === null)) throw new SourceError(READ_ONLY_TEXT);

  const projects = async (): Promise<SourceProject[]> => [
    {
      ref: REF,
      uuid: null,
      name: new URL(client.site).host,
      badgeKey: await readBadgeKey(client),
      pingKey: null,
      keys: { readWrite: { text: apiKey }, readOnly: null },
      ownerEmail: null,
      members: [],
      channels,
      checkCount: checks.length,
    },
  ];

  const listPings = async (uuid: string): Promise<SourcePing[]> => {
    const path = `checks/${uuid}/pings/`;
    const rows = listOf(await client.json(path), "pings");
    const pings = rows.flatMap((row) => pingOf(row, { check: uuid, limitations }) ?? []);
    return pings.toSorted((one, other) => one.number - other.number);
  };

  async function* readChecks(): AsyncIterable<SourceCheck[]> {
    for (let from = 0; from < checks.length; from += IMPORT_CHECKS_PER_PAGE) {
      const page: SourceCheck[] = [];
      for (const json of checks.slice(from, from + IMPORT_CHECKS_PER_PAGE)) {
        const check = checkOf(json, limitations);
        page.push(json["started"] === true ? await withStart(check) : check);
      }
      yield page;
    }
  }

  /** The run in progress, from the log: the check shows neither its run ID nor its exact time. */
  const withStart = async (check: SourceCheck): Promise<SourceCheck> => {
    const start = (await listPings(check.uuid)).findLast(({ kind }) => kind === "start");
    if (start === undefined) {
      limitations.addDamage(`Check ${check.uuid}: a run is in progress, but its start is not in the log.`);
      return check;
    }
    return { ...check, lastStartAt: start.at, lastStartRid: start.rid };
  };

  async function* readPings(check: SourceCheck, after: number): AsyncIterable<SourcePing[]> {
    const pings = (await listPings(check.uuid)).filter(({ number }) => number > after);
    let page: SourcePing[] = [];
    let byteCount = 0;
    for (let from = 0; from < pings.length; from += IMPORT_REQUESTS_MAX) {
      const some = pings.slice(from, from + IMPORT_REQUESTS_MAX);
      const read = await Promise.all(some.map((ping) => withBody(check.uuid, ping)));
      page.push(...read);
      byteCount += read.reduce((total, { body }) => total + (body?.length ?? 0), 0);
      if (page.length < IMPORT_PINGS_PER_PAGE && byteCount < PAGE_BYTES_MAX) continue;
      yield page;
      [page, byteCount] = [[], 0];
    }
    if (page.length > 0) yield page;
  }

  /** Of a ping that has a body, `body` is empty until here. */
  const withBody = async (uuid: string, ping: SourcePing): Promise<SourcePing> => {
    if (ping.body === null) return ping;
    if (!withBodies) return { ...ping, body: null };
    const path = `checks/${uuid}/pings/${ping.number}/body`;
    const { status, headers, bytes, isWhole } = await client.get(path, IMPORT_BODY_BYTES_MAX);
    if (status === 200 && isWhole) return { ...ping, body: bytes.length === 0 ? null : bytes };
    const why =
      status === 200 ? `has more than ${IMPORT_BODY_BYTES_MAX} bytes` : `cannot be read (HTTP ${status})`;
    // Deleted since the list was read.
    if (status !== 404)
      limitations.addDamage(`Check ${uuid}, ping ${ping.number}: the body ${why} and is left out.`);
    const size = readInteger(headers["content-length"]).value ?? IMPORT_BODY_BYTES_MAX + 1;
    return { ...ping, body: null, missingBodyBytes: status === 200 ? size : null };
  };

  const flips = async ({ uuid }: SourceCheck): Promise<SourceFlip[]> => {
    const rows = listOf(await client.json(`checks/${uuid}/flips/`), "flips");
    const found = rows.flatMap((row): SourceFlip[] => {
      const at = readTime(row["timestamp"]).value;
      if (at !== null) return [{ at, from: "", to: row["up"] === 1 ? "up" : "down", reason: "" }];
      limitations.addDamage(
        `Check ${uuid}: the time of a flip is not a valid date and time. It is left out.`,
      );
      return [];
    });
    if (found.length > IMPORT_FLIPS_MAX) {
      limitations.add(`Of checks with more than ${IMPORT_FLIPS_MAX} flips, the newest are imported.`);
    }
    // Newest first, in the order of their creation.
    return found.slice(0, IMPORT_FLIPS_MAX).toReversed();
  };

  return {
    name: `Healthchecks, API at ${client.site}`,
    limitations: limitations.lines,
    accounts: async () => [],
    projects,
    checks: readChecks,
    pings: readPings,
    flips,
    close: () => client.close(),
  };
}

/** Only a read-write key may list channels. */
async function readChannels(client: ApiClient, limitations: Limitations): Promise<SourceChannel[]> {
  const response = await client.get("channels/");
  if (response.status === 401 || response.status === 403) throw new SourceError(READ_ONLY_TEXT);
  return listOf(client.parse(response), "channels").flatMap((row): SourceChannel[] => {
    const uuid = readUuid(row["id"]).value;
    const kind = readText(row["kind"]).value;
    if (uuid === null || kind === null) {
      limitations.addDamage("A channel without a UUID or kind is left out.");
      return [];
    }
    const name = readText(row["name"] ?? "").value ?? "";
    return [{ uuid, kind, name, value: null, isEmailVerified: false, isDisabled: false, createdAt: null }];
  });
}

/** The badge key of the project is in the URLs of its badges. */
async function readBadgeKey(client: ApiClient): Promise<string | null> {
  const response = await client.get("badges/");
  if (response.status !== 200) return null;
  const badges = objectOf(objectOf(client.parse(response))["badges"]);
  for (const formats of Object.values(badges)) {
    for (const address of Object.values(objectOf(formats))) {
      const key = typeof address === "string" ? BADGE_OF_TAG.exec(address)?.[1] : undefined;
      if (key !== undefined) return key;
    }
  }
  return null;
}

/** The UUID, which some versions show only in URLs; null for a read-only key. */
function uuidOf(check: Json): string | null {
  const { uuid, ping_url, update_url } = check;
  const texts = [uuid, ...[ping_url, update_url].map((one) => LAST_SEGMENT.exec(String(one))?.[1])];
  return texts.map((text) => readUuid(text).value).find((found) => found !== null) ?? null;
}

function checkOf(json: Json, limitations: Limitations): SourceCheck {
  const uuid = uuidOf(json) ?? "";
  /** A field, or its default if the version does not show it or its value is damaged. */
  const field = <T, D>(name: string, read: (raw: unknown) => Read<T>, otherwise: D): T | D => {
    const raw = json[name];
    if (raw === undefined) limitations.add(`The API does not return ${name}. The import uses the default.`);
    if (raw === undefined || raw === null) return otherwise;
    const { value, why } = read(raw);
    if (why !== undefined) limitations.addDamage(`Check ${uuid}: ${name} ${why}.`);
    return value ?? otherwise;
  };
  const isSimple = json["schedule"] === undefined;
  const schedule = isSimple ? DEFAULT_SCHEDULE : field("schedule", readText, DEFAULT_SCHEDULE);
  // Before there were keywords, these two fields had their part.
  const isOld = json["success_kw"] === undefined && json["subject"] !== undefined;
  const success = field(isOld ? "subject" : "success_kw", readText, "");
  const fail = field(isOld ? "subject_fail" : "failure_kw", readText, "");
  const [, badgeKey] = BADGE_OF_CHECK.exec(field("badge_url", readText, "")) ?? [];
  return {
    uuid,
    badgeKey: readUuid(badgeKey).value,
    name: field("name", readText, ""),
    slug: field("slug", readText, ""),
    tags: field("tags", readText, ""),
    desc: field("desc", readText, ""),
    kind: isSimple ? "simple" : detectKind(schedule),
    timeoutS: isSimple ? field("timeout", readInteger, DEFAULT_TIMEOUT_SECONDS) : DEFAULT_TIMEOUT_SECONDS,
    graceS: field("grace", readInteger, DEFAULT_GRACE_SECONDS),
    schedule,
    tz: isSimple ? DEFAULT_TZ : field("tz", readText, DEFAULT_TZ),
    manualResume: field("manual_resume", readBoolean, false),
    methods: field("methods", readText, ""),
    subject: { start: field("start_kw", readText, ""), success, fail },
    filters: {
      subject: isOld ? success !== "" || fail !== "" : field("filter_subject", readBoolean, false),
      body: field("filter_body", readBoolean, false),
      httpBody: field("filter_http_body", readBoolean, false),
      defaultFail: field("filter_default_fail", readBoolean, false),
    },
    createdAt: null,
    status: storedStatus(field("status", readText, "new"), json["last_ping"] !== null),
    pingCount: field("n_pings", readInteger, 0),
    lastPingAt: field("last_ping", readTime, null),
    lastStartAt: null,
    lastStartRid: null,
    // Shown only if it is known.
    lastDurationS: json["last_duration"] === undefined ? null : field("last_duration", readInteger, null),
    alertAfterAt: null,
    channelUuids: field("channels", readText, "")
      .split(",")
      .flatMap((text) => readUuid(text).value ?? [])
      .toSorted(),
  };
}

/** The API shows calculated statuses: a late check is stored as up, and version 1 shows runs in progress. */
function storedStatus(shown: string, wasPinged: boolean): string {
  if (shown === "grace") return "up";
  return shown === "started" ? (wasPinged ? "up" : "new") : shown;
}

/** Null, and reported, if it has no number or time. A body that exists is empty until it is read. */
function pingOf(
  json: Json,
  { check, limitations }: { check: string; limitations: Limitations },
): SourcePing | null {
  const number = readInteger(json["n"]).value;
  const at = readTime(json["date"]).value;
  if (number === null || at === null) {
    limitations.addDamage(`Check ${check}: a ping without a number or a valid date and time is left out.`);
    return null;
  }
  const text = (name: string): string => {
    const raw = json[name] ?? "";
    const { value, why } = readText(raw);
    if (why !== undefined) limitations.addDamage(`Check ${check}, ping ${number}: ${name} ${why}.`);
    return value ?? "";
  };
  const remoteAddress = text("remote_addr");
  return {
    number,
    at,
    kind: text("type"),
    scheme: text("scheme"),
    method: text("method"),
    remoteAddress: remoteAddress === "" ? null : remoteAddress,
    userAgent: text("ua"),
    exitStatus: null,
    rid: readUuid(json["rid"]).value,
    body: typeof json["body_url"] === "string" ? new Uint8Array() : null,
    missingBodyBytes: null,
  };
}

function objectOf(json: unknown): Json {
  return typeof json === "object" && json !== null && !Array.isArray(json) ? (json as Json) : {};
}

/** The list of a response: an array, or an object that contains it under its name. */
function listOf(json: unknown, name: string): Json[] {
  const list = Array.isArray(json) ? json : objectOf(json)[name];
  if (!Array.isArray(list)) throw new SourceError(`The API returned something else than a list of ${name}.`);
  return list.map(objectOf);
}

/** GET requests with retries. All of them wait while the server limits their rate. */
class ApiClient {
  readonly site: string;
  readonly #http: GuardedHttp;
  readonly #apiKey: string;
  readonly #sleep: (ms: number) => Promise<unknown>;
  #version: (typeof VERSIONS)[number] = "v3";
  #pause: Promise<unknown> = Promise.resolve();

  constructor(
    http: GuardedHttp,
    { site, apiKey, sleep = sleepFor }: Pick<ApiSourceOptions, "apiKey" | "sleep"> & { site: string },
  ) {
    this.#http = http;
    this.site = site;
    this.#apiKey = apiKey;
    this.#sleep = sleep;
  }

  /** Finds the newest version that the server has, and returns its list of checks. */
  async connect(): Promise<unknown> {
    for (const version of VERSIONS) {
      this.#version = version;
      const response = await this.get("checks/");
      if (response.status === 401 || response.status === 403) {
        throw new SourceError(`${this.site} rejected the API key. ${KEY_HINT}`);
      }
      if (response.status !== 404) return this.parse(response);
    }
    throw new SourceError(`${this.site} has no Healthchecks API. Check the URL.`);
  }

  async json(path: string): Promise<unknown> {
    return this.parse(await this.get(path));
  }

  parse({ status, bytes, isWhole }: DownloadedResponse): unknown {
    if (status !== 200) throw new SourceError(`${this.site} responded with HTTP ${status}. Try again later.`);
    if (!isWhole) {
      throw new SourceError(
        `${this.site} responded with more than ${IMPORT_RESPONSE_BYTES_MAX} bytes. Import from the database instead.`,
      );
    }
    try {
      return JSON.parse(new TextDecoder().decode(bytes));
    } catch {
      throw new SourceError(`${this.site} responded with something else than JSON. Check the URL.`);
    }
  }

  /** The response, whatever its status, once the server neither fails nor limits the rate. */
  async get(path: string, bytesMax = IMPORT_RESPONSE_BYTES_MAX): Promise<DownloadedResponse> {
    let [failureCount, limitedCount] = [0, 0];
    for (;;) {
      await this.#pause;
      const response = await this.#try(path, bytesMax);
      if (response instanceof OutgoingError || response.status >= SERVER_ERROR) {
        failureCount += 1;
        if (failureCount < IMPORT_FAILURES_MAX && isTemporary(response)) {
          await this.#sleep(Math.min(IMPORT_RETRY_MS_MIN * 2 ** (failureCount - 1), IMPORT_RETRY_MS_MAX));
          continue;
        }
        if (!(response instanceof OutgoingError)) return response;
        throw new SourceError(`Cannot read ${this.site}: ${response.message}.`, { cause: response });
      }
      if (response.status !== 429) return response;
      limitedCount += 1;
      if (limitedCount >= IMPORT_RATE_LIMITED_MAX) {
        throw new SourceError(
          `${this.site} limits the rate of requests and did not accept more within the time allowed. Try again later, or leave out the bodies of pings.`,
        );
      }
      this.#pause = this.#sleep(retryAfterMs(response.headers["retry-after"]));
    }
  }

  async #try(path: string, bytesMax: number): Promise<DownloadedResponse | OutgoingError> {
    try {
      return await this.#http.download({
        url: `${this.site}/api/${this.#version}/${path}`,
        headers: { "x-api-key": this.#apiKey },
        timeoutMs: IMPORT_RESPONSE_MS_MAX,
        bytesMax,
      });
    } catch (error) {
      if (error instanceof OutgoingError) return error;
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#http.close();
  }
}

function isTemporary(response: DownloadedResponse | OutgoingError): boolean {
  return !(response instanceof OutgoingError) || RETRIED_KINDS.includes(response.kind);
}

/** Seconds, as servers of this API send it; the longest wait for anything else. */
function retryAfterMs(header: string | string[] | undefined): number {
  const seconds = typeof header === "string" ? readInteger(header).value : null;
  if (seconds === null) return IMPORT_RETRY_MS_MAX;
  return Math.min(Math.max(seconds * SECOND_MS, IMPORT_RETRY_MS_MIN), IMPORT_RETRY_MS_MAX);
}
