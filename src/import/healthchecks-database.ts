// Reads a Healthchecks installation from its database. Columns that some versions do not have get a default.
import type {
  ImportSource,
  SourceAccount,
  SourceChannel,
  SourceCheck,
  SourceFlip,
  SourceKey,
  SourceMember,
  SourcePing,
  SourceProject,
} from "../core/import-source.ts";
import {
  API_KEY_LENGTH,
  DEFAULT_SCHEDULE,
  DEFAULT_TZ,
  IMPORT_BODY_BYTES_MAX,
  IMPORT_CHECKS_PER_PAGE,
  IMPORT_FLIPS_MAX,
  IMPORT_PAGED_BODY_BYTES_MAX,
  IMPORT_PINGS_PER_PAGE,
  IMPORT_ROWS_MAX,
} from "../core/limits.ts";
import { Limitations } from "./limitations.ts";
import { openSourceDatabase, type SourceDatabase } from "./source-database.ts";
import { SourceError } from "./source-error.ts";
import {
  type Body,
  bytesOf,
  type Columns,
  openTable,
  type SourceTable,
  type TableRow,
} from "./source-table.ts";

const USERS = {
  table: "auth_user",
  otherwise: "Projects are imported without owners and members.",
  columns: {
    id: { type: "integer", isRequired: true },
    email: { type: "text", isRequired: true },
    password: { type: "text", otherwise: "Accounts are imported without passwords." },
    date_joined: { type: "time", otherwise: "The accounts are as old as their import." },
    first_name: { type: "text" },
    last_name: { type: "text" },
    is_superuser: { type: "boolean", otherwise: "No account becomes an admin." },
    is_active: { type: "boolean" },
  },
} as const;

const PROFILES = {
  table: "accounts_profile",
  otherwise: "Accounts are imported without limits and preferences.",
  columns: {
    user_id: { type: "integer", isRequired: true },
    check_limit: { type: "integer", otherwise: "Accounts get the default check limit." },
    ping_log_limit: { type: "integer", otherwise: "Accounts get the default ping log limit." },
    reports: { type: "text", otherwise: "Reports keep their default." },
    nag_period: { type: "duration", otherwise: "Reminders are off." },
    tz: { type: "text", otherwise: `The time zone of reports is ${DEFAULT_TZ}.` },
    totp: { type: "text", otherwise: "Accounts are imported without authenticator apps." },
  },
} as const;

const PROJECTS = {
  table: "accounts_project",
  isRequired: true,
  columns: {
    id: { type: "integer", isRequired: true },
    code: { type: "uuid", otherwise: "Projects get new UUIDs." },
    name: { type: "text", otherwise: "Projects are imported without names." },
    owner_id: { type: "integer", otherwise: "Projects are imported without owners." },
    badge_key: { type: "text", otherwise: "Badge URLs of tags change." },
    ping_key: { type: "text", otherwise: "Projects are imported without ping keys." },
    api_key: { type: "text", otherwise: "Projects are imported without read-write API keys." },
    api_key_readonly: { type: "text", otherwise: "Projects are imported without read-only API keys." },
  },
} as const;

const MEMBERS = {
  table: "accounts_member",
  otherwise: "Projects are imported without members.",
  columns: {
    id: { type: "integer" },
    user_id: { type: "integer", isRequired: true },
    project_id: { type: "integer", isRequired: true },
    role: { type: "text" },
    // Of versions without roles.
    rw: { type: "boolean" },
  },
} as const;

const CHANNELS = {
  table: "api_channel",
  otherwise: "No channels are imported.",
  columns: {
    id: { type: "integer", isRequired: true },
    code: { type: "uuid", isRequired: true },
    project_id: { type: "integer", isRequired: true },
    kind: { type: "text", isRequired: true },
    value: { type: "text", isRequired: true },
    name: { type: "text", otherwise: "Channels are imported without names." },
    email_verified: { type: "boolean", otherwise: "Email addresses of channels must be confirmed again." },
    disabled: { type: "boolean", otherwise: "All channels are enabled." },
    created: { type: "time", otherwise: "The channels are as old as their import." },
  },
} as const;

const OFF = "It is off for all checks.";
const NO_KEYWORDS = "Checks are imported without these keywords.";

const CHECKS = {
  table: "api_check",
  isRequired: true,
  columns: {
    id: { type: "integer", isRequired: true },
    code: { type: "uuid", isRequired: true },
    project_id: { type: "integer", isRequired: true },
    badge_key: { type: "uuid", otherwise: "Badge URLs of checks change." },
    name: { type: "text", otherwise: "Checks are imported without names." },
    slug: { type: "text", otherwise: "Checks are imported without slugs." },
    tags: { type: "text", otherwise: "Checks are imported without tags." },
    desc: { type: "text", otherwise: "Checks are imported without descriptions." },
    kind: { type: "text", isRequired: true },
    timeout: { type: "duration", isRequired: true },
    grace: { type: "duration", isRequired: true },
    schedule: { type: "text", otherwise: `The schedule of all checks is "${DEFAULT_SCHEDULE}".` },
    tz: { type: "text", otherwise: `The time zone of all checks is ${DEFAULT_TZ}.` },
    manual_resume: { type: "boolean", otherwise: OFF },
    methods: { type: "text", otherwise: "All checks accept HEAD, GET, and POST." },
    start_kw: { type: "text", otherwise: NO_KEYWORDS },
    success_kw: { type: "text", otherwise: NO_KEYWORDS },
    failure_kw: { type: "text", otherwise: NO_KEYWORDS },
    filter_subject: { type: "boolean", otherwise: OFF },
    filter_body: { type: "boolean", otherwise: OFF },
    filter_http_body: { type: "boolean", otherwise: OFF },
    filter_default_fail: { type: "boolean", otherwise: OFF },
    created: { type: "time", otherwise: "The checks are as old as their import." },
    status: { type: "text", isRequired: true },
    n_pings: { type: "integer", isRequired: true },
    last_ping: { type: "time", otherwise: "Checks are imported without their last ping." },
    last_start: { type: "time", otherwise: "Runs in progress are not imported." },
    last_start_rid: { type: "uuid", otherwise: "Runs in progress are imported without their run IDs." },
    last_duration: {
      type: "duration",
      otherwise: "Checks are imported without the duration of their last run.",
    },
    alert_after: { type: "time", otherwise: "Deadlines are calculated from the settings." },
  },
} as const;

const ASSIGNMENTS = {
  table: "api_channel_checks",
  otherwise: "Checks are imported without channels.",
  columns: {
    channel_id: { type: "integer", isRequired: true },
    check_id: { type: "integer", isRequired: true },
  },
} as const;

const PINGS = {
  table: "api_ping",
  otherwise: "No pings are imported.",
  columns: {
    id: { type: "integer", isRequired: true },
    owner_id: { type: "integer", isRequired: true },
    n: { type: "integer", isRequired: true },
    created: { type: "time", isRequired: true },
    kind: { type: "text", otherwise: "All pings are imported as successes." },
    scheme: { type: "text", otherwise: "Pings are imported without the scheme." },
    method: { type: "text", otherwise: "Pings are imported without the method." },
    remote_addr: { type: "text", otherwise: "Pings are imported without the address of the client." },
    ua: { type: "text", otherwise: "Pings are imported without the user agent." },
    exitstatus: { type: "integer", otherwise: "Pings are imported without exit statuses." },
    rid: { type: "uuid", otherwise: "Pings are imported without run IDs." },
    object_size: { type: "integer" },
  },
  bodies: ["body_raw", "body"],
} as const;

const FLIPS = {
  table: "api_flip",
  otherwise: "No flips are imported.",
  columns: {
    id: { type: "integer", isRequired: true },
    owner_id: { type: "integer", isRequired: true },
    created: { type: "time", isRequired: true },
    old_status: { type: "text", otherwise: "Flips are imported without the earlier status." },
    new_status: { type: "text", isRequired: true },
    reason: { type: "text", otherwise: "Flips are imported without reasons." },
  },
} as const;

const KINDS = ["simple", "cron", "oncalendar"] as const;
/** Bodies of one page. */
const PAGE_BYTES_MAX = IMPORT_PINGS_PER_PAGE * IMPORT_PAGED_BODY_BYTES_MAX;
/** "8 characters, dot, 64 hexadecimal digits". */
const HASHED_KEY = /^([^.]{8})\.([0-9a-f]{64})$/;
/** Django writes it in front of a password that nothing matches. */
const UNUSABLE_PASSWORD = "!";

type CheckRow = TableRow<(typeof CHECKS)["columns"]>;
type PingRow = TableRow<(typeof PINGS)["columns"]>;

/** Opens the database of a Healthchecks installation, read-only. Throws SourceError. */
export async function openDatabaseSource(url: string): Promise<ImportSource> {
  const database = await openSourceDatabase(url);
  try {
    return sourceOf(database);
  } catch (error) {
    await database.close();
    throw error;
  }
}

function sourceOf(database: SourceDatabase): ImportSource {
  const limitations = new Limitations();
  const tables = {
    users: openTable(database, USERS, limitations),
    profiles: openTable(database, PROFILES, limitations),
    projects: openTable(database, PROJECTS, limitations),
    members: openTable(database, MEMBERS, limitations),
    channels: openTable(database, CHANNELS, limitations),
    checks: openTable(database, CHECKS, limitations),
    assignments: openTable(database, ASSIGNMENTS, limitations),
    pings: openTable(database, PINGS, limitations),
    flips: openTable(database, FLIPS, limitations),
  };
  noteMissing(database, limitations);
  /** The rows of a small table. */
  const all = async <Named extends Columns>(
    table: SourceTable<Named>,
    order: string,
  ): Promise<TableRow<Named>[]> => {
    const { rows, last } = await table.page(`order by ${order}`, [], IMPORT_ROWS_MAX);
    if (last === null) return rows;
    throw new SourceError(
      `The ${database.name} has ${IMPORT_ROWS_MAX} or more accounts, projects, members or channels.`,
    );
  };

  /** Rows of checks that were read, by UUID: their pings are found by ID. */
  const ids = new Map<string, number>();
  const idOf = (check: SourceCheck): number => {
    const id = ids.get(check.uuid);
    if (id === undefined) throw new Error(`the check ${check.uuid} was not read from this source`);
    return id;
  };

  let users: TableRow<(typeof USERS)["columns"]>[] | null = null;
  const readUsers = async () => (users ??= await all(tables.users, "id"));

  const accounts = async (): Promise<SourceAccount[]> => {
    const profiles = new Map((await all(tables.profiles, "user_id")).map((row) => [row.user_id, row]));
    return (await readUsers()).map((user) => {
      const profile = profiles.get(user.id);
      const password = user.password ?? "";
      const isUsable = password !== "" && !password.startsWith(UNUSABLE_PASSWORD) && user.is_active !== false;
      return {
        email: user.email,
        name: [user.first_name ?? "", user.last_name ?? ""].join(" ").trim(),
        createdAt: user.date_joined,
        isAdmin: user.is_superuser === true,
        passwordHash: isUsable ? password : null,
        checkLimit: profile?.check_limit ?? null,
        pingLogLimit: profile?.ping_log_limit ?? null,
        tz: textOrNull(profile?.tz),
        reports: textOrNull(profile?.reports),
        nagPeriodS: profile?.nag_period ?? null,
        totpSecret: textOrNull(profile?.totp),
      };
    });
  };

  const projects = async (): Promise<SourceProject[]> => {
    const emails = new Map((await readUsers()).map((user) => [user.id, user.email]));
    const members = Map.groupBy(await all(tables.members, "project_id, user_id"), (row) => row.project_id);
    const channels = Map.groupBy(await all(tables.channels, "id"), (row) => row.project_id);
    const counts = new Map(
      (
        await database.query("select project_id, count(*) as checks from api_check group by project_id", [])
      ).map((row) => [Number(row["project_id"]), Number(row["checks"])]),
    );
    return (await all(tables.projects, "id")).map((project) => ({
      ref: String(project.id),
      uuid: project.code,
      name: project.name ?? "",
      badgeKey: textOrNull(project.badge_key),
      pingKey: textOrNull(project.ping_key),
      keys: {
        readWrite: keyOf(project.api_key, { prefix: "hcw_", project: project.id, limitations }),
        readOnly: keyOf(project.api_key_readonly, { prefix: "hcr_", project: project.id, limitations }),
      },
      ownerEmail: emails.get(project.owner_id ?? Number.NaN) ?? null,
      members: (members.get(project.id) ?? []).flatMap((member): SourceMember[] => {
        const email = emails.get(member.user_id);
        return email === undefined ? [] : [{ email, role: member.role ?? (member.rw === false ? "r" : "w") }];
      }),
      channels: (channels.get(project.id) ?? []).map(
        (channel): SourceChannel => ({
          uuid: channel.code,
          kind: channel.kind,
          name: channel.name ?? "",
          value: channel.value,
          isEmailVerified: channel.email_verified === true,
          isDisabled: channel.disabled === true,
          createdAt: channel.created,
        }),
      ),
      checkCount: counts.get(project.id) ?? 0,
    }));
  };

  let channelUuids: Map<number, string> | null = null;

  /** The UUIDs of the channels of each check in a range of IDs. */
  const channelsOf = async ({ from, to }: { from: number; to: number }): Promise<Map<number, string[]>> => {
    channelUuids ??= new Map((await all(tables.channels, "id")).map(({ id, code }) => [id, code]));
    const rows = await tables.assignments.rows("where check_id >= ? and check_id <= ?", [from, to]);
    const found = new Map<number, string[]>();
    for (const { check_id, channel_id } of rows) {
      const uuid = channelUuids.get(channel_id);
      if (uuid !== undefined) found.set(check_id, [...(found.get(check_id) ?? []), uuid]);
    }
    return found;
  };

  async function* readChecks(project: SourceProject): AsyncIterable<SourceCheck[]> {
    let after: number | null = 0;
    while (after !== null) {
      const { rows, last } = await tables.checks.page(
        "where project_id = ? and id > ? order by id",
        [project.ref, after],
        IMPORT_CHECKS_PER_PAGE,
      );
      const channels = await channelsOf({ from: rows.at(0)?.id ?? 0, to: rows.at(-1)?.id ?? 0 });
      for (const row of rows) ids.set(row.code, row.id);
      yield rows.map((row) => checkOf(row, { channelUuids: channels.get(row.id) ?? [], limitations }));
      after = last?.("id") ?? null;
    }
  }

  async function* readPings(check: SourceCheck, after: number): AsyncIterable<SourcePing[]> {
    const owner = idOf(check);
    let [number, id]: [number | null, number] = [after, Number.MAX_SAFE_INTEGER];
    while (number !== null) {
      // Not by ID alone: PostgreSQL might then read the pings of all checks in the order of its primary key.
      const { rows, last } = await tables.pings.page(
        "where owner_id = ? and n >= ? and (n > ? or id > ?) order by n, id",
        [owner, number, number, id],
        IMPORT_PINGS_PER_PAGE,
      );
      yield* readBodies(rows);
      number = last?.("n") ?? null;
      id = last?.("id") ?? id;
    }
  }

  /** Adds bodies; pages with large ones are split. */
  async function* readBodies(rows: readonly PingRow[]): AsyncIterable<SourcePing[]> {
    let page: SourcePing[] = [];
    let byteCount = 0;
    for (const row of rows) {
      if (byteCount + (row.body?.byteCount ?? 0) > PAGE_BYTES_MAX && page.length > 0) {
        yield page;
        [page, byteCount] = [[], 0];
      }
      const ping = pingOf(row, await readBody(row));
      byteCount += ping.body?.length ?? 0;
      page.push(ping);
    }
    if (page.length > 0) yield page;
  }

  const readBody = async ({ id, body }: { id: number; body: Body | null }): Promise<Uint8Array | null> => {
    if (body === null || body.bytes !== null || body.byteCount > IMPORT_BODY_BYTES_MAX)
      return body?.bytes ?? null;
    const column = database.quote(body.column);
    const [row] = await database.query(`select ${column} as body from api_ping where id = ?`, [id]);
    return bytesOf(row?.["body"]);
  };

  const pingOf = (row: PingRow, body: Uint8Array | null): SourcePing => {
    const missingBytes = body !== null ? 0 : (row.body?.byteCount ?? row.object_size ?? 0);
    if (row.body !== null && body === null) {
      limitations.addDamage(
        `api_ping, row ${row.id}: the body has ${row.body.byteCount} bytes. Bodies of more than ${IMPORT_BODY_BYTES_MAX} bytes are left out.`,
      );
    } else if (missingBytes > 0) {
      limitations.add(
        "Some ping bodies are in the object store of Healthchecks and are not imported. The report counts them.",
      );
    }
    return {
      number: row.n,
      at: row.created,
      kind: textOrNull(row.kind) ?? "success",
      scheme: row.scheme ?? "",
      method: row.method ?? "",
      // PostgreSQL adds the length of the network.
      remoteAddress: textOrNull(row.remote_addr?.replace(/\/(32|128)$/, "")),
      userAgent: row.ua ?? "",
      exitStatus: row.exitstatus,
      rid: row.rid,
      body,
      missingBodyBytes: missingBytes > 0 ? missingBytes : null,
    };
  };

  const flips = async (check: SourceCheck): Promise<SourceFlip[]> => {
    const rows = await tables.flips.rows(
      `where owner_id = ? order by created desc, id desc limit ${IMPORT_FLIPS_MAX + 1}`,
      [idOf(check)],
    );
    if (rows.length > IMPORT_FLIPS_MAX) {
      limitations.add(`Of checks with more than ${IMPORT_FLIPS_MAX} flips, the newest are imported.`);
    }
    return rows
      .slice(0, IMPORT_FLIPS_MAX)
      .map(({ created, old_status, new_status, reason }) => ({
        at: created,
        from: old_status ?? "",
        to: new_status,
        reason: reason ?? "",
      }))
      .toReversed();
  };

  return {
    name: `Healthchecks, ${database.name}`,
    limitations: limitations.lines,
    accounts,
    projects,
    checks: readChecks,
    pings: readPings,
    flips,
    close: () => database.close(),
  };
}

/** What the columns of no single table show. */
function noteMissing(database: SourceDatabase, limitations: Limitations): void {
  if (!database.isSnapshot) {
    limitations.add(
      "The SQLite file is not in WAL mode. It is read in several steps, so that Healthchecks can write to it; stop Healthchecks, or import a copy of the file, to read one consistent state.",
    );
  }
  const members = database.columns.get("accounts_member");
  if (members !== undefined && !members.has("role")) {
    limitations.add(
      members.has("rw")
        ? "The table accounts_member has no column role. Members that may change checks become members, others read-only."
        : "The table accounts_member has no column role. All members may change checks.",
    );
  }
  const pings = database.columns.get("api_ping");
  if (pings !== undefined && !pings.has("body_raw") && !pings.has("body")) {
    limitations.add("The table api_ping has no column body_raw. Pings are imported without bodies.");
  }
}

function checkOf(
  row: CheckRow,
  { channelUuids, limitations }: { channelUuids: readonly string[]; limitations: Limitations },
): SourceCheck {
  const kind = KINDS.find((one) => one === row.kind);
  if (kind === undefined) {
    limitations.addDamage(
      `api_check, row ${row.id}: the kind "${row.kind.slice(0, 20)}" is unknown. It becomes simple.`,
    );
  }
  return {
    uuid: row.code,
    badgeKey: row.badge_key,
    name: row.name ?? "",
    slug: row.slug ?? "",
    tags: row.tags ?? "",
    desc: row.desc ?? "",
    kind: kind ?? "simple",
    timeoutS: row.timeout,
    graceS: row.grace,
    schedule: row.schedule ?? DEFAULT_SCHEDULE,
    tz: row.tz ?? DEFAULT_TZ,
    manualResume: row.manual_resume === true,
    methods: row.methods ?? "",
    subject: { start: row.start_kw ?? "", success: row.success_kw ?? "", fail: row.failure_kw ?? "" },
    filters: {
      subject: row.filter_subject === true,
      body: row.filter_body === true,
      httpBody: row.filter_http_body === true,
      defaultFail: row.filter_default_fail === true,
    },
    createdAt: row.created,
    status: row.status,
    pingCount: row.n_pings,
    lastPingAt: row.last_ping,
    lastStartAt: row.last_start,
    // Healthchecks does not clear it when the run ends.
    lastStartRid: row.last_start === null ? null : row.last_start_rid,
    lastDurationS: row.last_duration,
    alertAfterAt: row.alert_after,
    channelUuids: channelUuids.toSorted(),
  };
}

/** A key of current versions is hashed, one of older versions is plain text. */
function keyOf(
  stored: string | null,
  { prefix, project, limitations }: { prefix: string; project: number; limitations: Limitations },
): SourceKey | null {
  if (stored === null || stored === "") return null;
  const [, beginning, digestHex] = HASHED_KEY.exec(stored) ?? [];
  if (beginning !== undefined && digestHex !== undefined) return { prefix: prefix + beginning, digestHex };
  if (stored.length === API_KEY_LENGTH) return { text: stored };
  limitations.addDamage(
    `accounts_project, row ${project}: an API key is neither plain text nor a hash, and is left out.`,
  );
  return null;
}

function textOrNull(text: string | null | undefined): string | null {
  return text === undefined || text === "" ? null : text;
}
