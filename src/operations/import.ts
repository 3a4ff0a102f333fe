// Imports another installation: accounts, projects with their keys, members and channels, and checks with their
// history. Without `isWriting`, it only reports what it would do. Each project is one transaction; a repeated run
// takes what has changed.
import { createHmac, randomUUID } from "node:crypto";
import { type ChannelConfig, type ConfigRules, DISABLED_BY_OWNER } from "../core/channel.ts";
import { AppError } from "../core/errors.ts";
import {
  canonicalText,
  type Finding,
  FINDINGS_LISTED_MAX,
  IMPORT_SILENCE_MS,
  isProjectChosen,
  mapAccounts,
  mapChannels,
  type MappedAccount,
  type MappedChannel,
  type MappedProject,
  mapProject,
  type Note,
} from "../core/import.ts";
import type { ImportSource, SourceCheck, SourcePing, SourceProject } from "../core/import-source.ts";
import { newProjectIds } from "../core/identity.ts";
import type { Instant } from "../core/instant.ts";
import { isUsableHash } from "../lib/password-hash.ts";
import { randomText, secretIdOf } from "../lib/secrets.ts";
import { type Account, findAccountByEmail, insertAccount } from "../store/accounts.ts";
import { insertApiKey } from "../store/api-keys.ts";
import {
  type Channel,
  findChannelById,
  insertChannel,
  listChannels,
  markVerified,
  writeChannel,
} from "../store/channels.ts";
import { writePassword } from "../store/credentials.ts";
import type { Database, DatabaseOptions, Db } from "../store/db.ts";
import { writePreferences } from "../store/emails.ts";
import { postgresErrorName } from "../store/errors.ts";
import {
  findImportedChecks,
  findImportItems,
  findImportOf,
  findTakenIdentifiers,
  type Import,
  type ImportItem,
  insertImport,
  listImportItems,
  lockImport,
  markImport,
  writeImportItems,
} from "../store/imports.ts";
import { readDatabaseClock } from "../store/instance.ts";
import {
  findProjectById,
  findProjectByUuid,
  insertMember,
  insertProject,
  listMembers,
  type Project,
  renameProject,
} from "../store/projects.ts";
import { findSilence, findSilencesByIds, insertSilence, writeSilence } from "../store/silences.ts";
import { type BulkTx, inBulkTransaction, inTransaction, type Tx } from "../store/transaction.ts";
import { audit } from "./audit.ts";
import { addAuthenticator } from "./credentials.ts";
import {
  type CheckCounts,
  type CheckToImport,
  fingerprint,
  noCounts,
  sortChecks,
  type TargetProject,
  writeChecks,
} from "./import-checks.ts";
import { newKeyDigest } from "./secrets.ts";

export type ImportProgress = { project: string; checks: number; checksMax: number; pings: number };

export type ImportRequest = {
  source: ImportSource;
  database: Database;
  /** For transactions that copy whole logs. */
  connection: DatabaseOptions;
  isWriting: boolean;
  /** Names or UUIDs of projects; empty: all. */
  projects: readonly string[];
  /** UUID of a project here that gets the checks. */
  into: string | null;
  /** Owner of projects whose owner the source does not tell. */
  ownerEmail: string | null;
  takesLimits: boolean;
  /** Whether checks may be taken without channels that cannot be. */
  skipsUnknownChannels: boolean;
  configRules: Pick<ConfigRules, "read">;
  secretKey: string;
  /** A secret that is accepted besides. */
  secretKeyPrevious: string | null;
  /** An API key of the source, to verify the secret. */
  knownKey: string | null;
  /** The clock of the database, unless time is simulated. */
  clock?: (db: Db) => Promise<Instant>;
  onProgress?: (progress: ImportProgress) => void;
};

export type ProjectReport = {
  name: string;
  uuid: string | null;
  outcome: "new" | "known" | "refused";
  checksInSource: number;
  channels: { taken: number; left: number };
  counts: CheckCounts;
};

/** Whether hashed API keys and tag badges of the source work here. */
export type SecretReport = "not needed" | "verified" | "wrong" | "not verified";

export type ImportReport = {
  source: string;
  isWritten: boolean;
  limitations: readonly string[];
  /** Why nothing was or would be written. */
  refusals: string[];
  accounts: { created: number; existing: number };
  projects: ProjectReport[];
  secret: SecretReport;
  findings: Finding[];
  /** How many there are; the list is cut. */
  findingCount: number;
};

/** Imports a source, or reports what an import would do. AppError `conflict` if another run is writing. */
export async function runImport(request: ImportRequest): Promise<ImportReport> {
  const { source, database } = request;
  const findings: Finding[] = [];
  let findingCount = 0;
  const note: Note = (finding) => {
    findingCount += 1;
    if (findings.length < FINDINGS_LISTED_MAX) findings.push(finding);
  };
  const before = await findImportOf(database, source.name);
  if (before !== null && before.finishedAt !== null) {
    throw new AppError(
      "conflict",
      "This import was finished. Checks and pings belong to this server now, and are not taken again.",
    );
  }
  const plan = await planImport(request, before, note);
  const report: ImportReport = {
    source: source.name,
    isWritten: request.isWriting && plan.refusals.length === 0,
    limitations: source.limitations,
    refusals: plan.refusals,
    accounts: { created: 0, existing: 0 },
    projects: plan.projects.map(({ report: one }) => one),
    secret: plan.secret,
    findings,
    findingCount: 0,
  };
  if (report.isWritten) await write(request, { plan, before, note, report });
  else await preview(request, { plan, before, note, report });
  return { ...report, findingCount, limitations: source.limitations };
}

type PlannedProject = {
  source: SourceProject;
  mapped: MappedProject;
  channels: MappedChannel[];
  report: ProjectReport;
};

type Plan = {
  accounts: MappedAccount[];
  projects: PlannedProject[];
  into: Project | null;
  owner: Account | null;
  refusals: string[];
  secret: SecretReport;
};

async function planImport(request: ImportRequest, before: Import | null, note: Note): Promise<Plan> {
  const { source, database } = request;
  const refusals: string[] = [];
  const all = await source.projects();
  const chosen = all.filter((project) => isProjectChosen(project, request.projects));
  if (chosen.length === 0) refusals.push("The source has no project with this name.");
  const projects = chosen.map((project): PlannedProject => {
    const mapped = mapProject(project, note);
    const channels = mapChannels(project.channels, request.configRules, note);
    const left = project.channels.length - channels.length;
    return {
      source: project,
      mapped,
      channels,
      report: {
        name: mapped.name,
        uuid: mapped.uuid,
        outcome: "new",
        checksInSource: project.checkCount,
        channels: { taken: channels.length, left },
        counts: noCounts(),
      },
    };
  });
  const wanted = new Set(
    projects.flatMap(({ mapped }) => [mapped.ownerEmail ?? "", ...mapped.members.map(({ email }) => email)]),
  );
  const rules = { isUsableHash, limits: request.takesLimits };
  const accounts = mapAccounts(await source.accounts(), rules, note).filter(
    ({ email }) => request.projects.length === 0 || wanted.has(email),
  );
  const into = request.into === null ? null : await findProjectByUuid(database, request.into);
  if (request.into !== null && into === null) refusals.push(`No project with UUID ${request.into}.`);
  if (request.into !== null && projects.length > 1) {
    refusals.push("Only one project can be imported into a project. Choose it with --project.");
  }
  const owner =
    request.ownerEmail === null
      ? null
      : await findAccountByEmail(database, request.ownerEmail.trim().toLowerCase());
  if (request.ownerEmail !== null && owner === null) {
    refusals.push(
      `No account found for ${request.ownerEmail}. Create it with \`overdue admin account create\`.`,
    );
  }
  const plan: Plan = { accounts, projects, into, owner, refusals, secret: secretOf(request, projects) };
  for (const project of projects) await judgeProject(request, { plan, project, before, note });
  return plan;
}

/** Refusals and collisions of a project that are known before its checks are read. */
async function judgeProject(
  { database, skipsUnknownChannels }: ImportRequest,
  { plan, project, before, note }: { plan: Plan; project: PlannedProject; before: Import | null; note: Note },
): Promise<void> {
  const { mapped, report } = project;
  const { left } = report.channels;
  const linked = plan.into === null ? 0 : (await linkedChannels(database, plan.into, project)).size;
  if (left - linked > 0 && !skipsUnknownChannels) {
    plan.refusals.push(
      `${left - linked} ${left - linked === 1 ? "channel" : "channels"} of "${mapped.name}" cannot be imported. ` +
        "To import the checks without them, use --skip-unknown-channels (for an API: --skip-channels).",
    );
  }
  const item = await projectItem(database, before, mapped);
  if (item !== null) report.outcome = "known";
  if (item !== null || plan.into !== null) return;
  if (mapped.ownerEmail === null && plan.owner === null) {
    plan.refusals.push(`The owner of "${mapped.name}" is unknown. Choose an account with --owner.`);
  }
  const digests = mapped.keys.flatMap(({ stored }) => ("digestHex" in stored ? [stored.digestHex] : []));
  const taken = await findTakenIdentifiers(database, {
    project: mapped.uuid === null ? [] : [mapped.uuid],
    pingKey: mapped.pingKey === null ? [] : [mapped.pingKey],
    badgeKey: mapped.badgeKey === null ? [] : [mapped.badgeKey],
    apiKey: digests,
    channel: project.channels.map(({ uuid }) => uuid),
  });
  for (const { what, value } of taken) {
    note({ level: "collision", kind: COLLIDING[what], name: mapped.name, why: COLLISION[what] });
    if (what === "project") report.outcome = "refused";
    if (what === "pingKey") mapped.pingKey = null;
    if (what === "badgeKey") mapped.badgeKey = null;
    if (what === "apiKey") {
      mapped.keys = mapped.keys.filter(
        ({ stored }) => !("digestHex" in stored) || stored.digestHex !== value,
      );
    }
    if (what === "channel") project.channels = project.channels.filter(({ uuid }) => uuid !== value);
  }
  if (report.outcome === "refused") {
    plan.refusals.push(
      `The project "${mapped.name}" exists here. Choose other projects with --project, or use --into.`,
    );
  }
}

const COLLIDING = {
  check: "check",
  badge: "check",
  channel: "channel",
  project: "project",
  pingKey: "key",
  badgeKey: "project",
  apiKey: "key",
} as const;

const COLLISION = {
  check: "A check with this UUID exists here.",
  badge: "A check with this badge exists here.",
  channel: "A channel with this UUID exists here and was left as it is.",
  project: "A project with this UUID exists here.",
  pingKey: "Another project here has its ping key, so ping URLs with a slug do not work.",
  badgeKey: "Another project here has its badge key, so the URLs of tag badges are new.",
  apiKey: "Another project here has one of its API keys.",
} as const;

async function projectItem(
  db: Db,
  before: Import | null,
  { ref }: MappedProject,
): Promise<ImportItem | null> {
  if (before === null) return null;
  const items = await findImportItems(db, { importId: before.id, kind: "project", refs: [ref] });
  return items.get(ref) ?? null;
}

/** Hashed keys and tag badges depend on the secret of the source. */
function secretOf(request: ImportRequest, projects: readonly PlannedProject[]): SecretReport {
  const digests = new Set(
    projects.flatMap(({ mapped }) =>
      mapped.keys.flatMap(({ stored }) => ("digestHex" in stored ? [stored.digestHex] : [])),
    ),
  );
  if (digests.size === 0) return "not needed";
  const { knownKey, secretKey, secretKeyPrevious } = request;
  if (knownKey === null) return "not verified";
  const isHere = [secretKey, secretKeyPrevious].some(
    (secret) => secret !== null && digests.has(createHmac("sha256", secret).update(knownKey).digest("hex")),
  );
  return isHere ? "verified" : "wrong";
}

/** Channels without settings that a channel of the target project replaces: the same kind and name. */
async function linkedChannels(
  db: Db,
  into: Project,
  { source, channels }: PlannedProject,
): Promise<Map<string, { id: number; uuid: string }>> {
  const taken = new Set(channels.map(({ uuid }) => uuid));
  const here = await listChannels(db, into.id);
  return new Map(
    source.channels
      .filter(({ uuid }) => !taken.has(uuid))
      .flatMap(({ uuid, kind, name }) => {
        const same = here.filter((channel) => channel.kind === kind && channel.name === name);
        const [only] = same;
        return only === undefined || same.length > 1 ? [] : [[uuid, { id: only.id, uuid: only.uuid }]];
      }),
  );
}

type Running = { plan: Plan; before: Import | null; note: Note; report: ImportReport };

/** Reads everything without pings, and counts. */
async function preview(
  { source, database, onProgress }: ImportRequest,
  { plan, before, note, report }: Running,
): Promise<void> {
  for (const { email } of plan.accounts) {
    if ((await findAccountByEmail(database, email)) === null) report.accounts.created += 1;
    else report.accounts.existing += 1;
  }
  for (const project of plan.projects) {
    const { counts, name } = project.report;
    const item = await projectItem(database, before, project.mapped);
    const linked = plan.into === null ? new Map() : await linkedChannels(database, plan.into, project);
    const usable = new Set([...project.channels.map(({ uuid }) => uuid), ...linked.keys()]);
    let read = 0;
    for await (const page of source.checks(project.source)) {
      const checks = page.map((check) => ({ check, readAt: 0, pings: () => [], flips: async () => [] }));
      const projectId = item?.targetId ?? null;
      const sorted = await sortChecks(database, { checks, importId: before?.id ?? null, projectId }, note);
      counts.created += sorted.created.length;
      counts.left += sorted.left;
      const uuids = sorted.known.map(({ mapped }) => mapped.uuid);
      const here = uuids.length === 0 ? new Map() : await findImportedChecks(database, uuids);
      for (const { to, mapped } of sorted.known) {
        const newPings = Math.max(0, to.check.pingCount - (here.get(mapped.uuid)?.pingCount ?? 0));
        counts.pings += newPings;
        if (newPings > 0) counts.updated += 1;
        else counts.unchanged += 1;
      }
      for (const { to } of sorted.created) counts.pings += to.check.pingCount;
      for (const { mapped } of [...sorted.created, ...sorted.known]) noteLost(mapped, usable, note);
      read += page.length;
      onProgress?.({ project: name, checks: read, checksMax: project.report.checksInSource, pings: 0 });
    }
  }
}

/** A check whose channels are all lost notifies nobody. */
function noteLost(
  {
    channelUuids,
    settings,
    uuid,
  }: { channelUuids: readonly string[]; settings: { name: string }; uuid: string },
  usable: ReadonlySet<string>,
  note: Note,
): void {
  if (channelUuids.length === 0 || channelUuids.some((one) => usable.has(one))) return;
  note({
    level: "adapted",
    kind: "check",
    name: settings.name || uuid,
    why: "None of its channels can be imported, so nobody is notified about it.",
  });
}

async function write(request: ImportRequest, running: Running): Promise<void> {
  const { database, source } = request;
  const { plan, report } = running;
  const { clock = readDatabaseClock } = request;
  const startedAt = await clock(database);
  const importId =
    running.before?.id ??
    (await inTransaction(database, (tx) =>
      insertImport(tx, { uuid: randomUUID(), source: source.name, at: startedAt }),
    ));
  await exclusively(() =>
    inTransaction(database, async (tx) => {
      await lockImport(tx, importId);
      await writeAccounts(tx, { importId, plan, at: startedAt, report, secretKey: request.secretKey });
      await markImport(tx, importId, { runAt: startedAt });
    }),
  );
  for (const project of plan.projects) {
    const item = await projectItem(database, { id: importId } as Import, project.mapped);
    if (item === null) await createProject(request, { ...running, importId, project });
    else await updateProject(request, { ...running, importId, project, projectId: item.targetId });
  }
}

/** Another run holds the lock on the import. */
async function exclusively<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (postgresErrorName(error) !== "lock_not_available") throw error;
    throw new AppError("conflict", "Another run of this import is writing. Wait until it has ended.");
  }
}

type Added = { importId: number; at: Instant };

async function writeAccounts(
  tx: Tx,
  { importId, plan, at, report, secretKey }: Added & { plan: Plan; report: ImportReport; secretKey: string },
): Promise<void> {
  const refs = plan.accounts.map(({ email }) => email);
  const known = await findImportItems(tx, { importId, kind: "account", refs });
  const items: ImportItem[] = [];
  for (const account of plan.accounts) {
    const existing = await findAccountByEmail(tx, account.email);
    if (existing === null && known.has(account.email)) continue;
    if (existing !== null) report.accounts.existing += 1;
    else report.accounts.created += 1;
    if (known.has(account.email)) continue;
    const accountId = existing?.id ?? (await addImportedAccount(tx, { account, at, secretKey }));
    const isCreated = existing === null;
    const detail = isCreated ? account.preferences : null;
    items.push(itemOf("account", { ref: account.email, targetId: accountId, isCreated, detail }));
  }
  await writeImportItems(tx, { importId, items });
}

async function addImportedAccount(
  tx: Tx,
  { account, at, secretKey }: { account: MappedAccount; at: Instant; secretKey: string },
): Promise<number> {
  const { email, name, checkLimit, pingLogLimit } = account;
  const createdAt = account.createdAt ?? at;
  const row = { uuid: randomUUID(), email, name, isAdmin: false, checkLimit, pingLogLimit, createdAt };
  const accountId = await insertAccount(tx, row);
  if (account.passwordHash !== null) {
    await writePassword(tx, { accountId, hash: account.passwordHash, at: createdAt });
  }
  if (account.totpSecret !== null) {
    await addAuthenticator(tx, { accountId, secret: account.totpSecret, secretKey, at });
  }
  // Until the import is finished, the other server sends reports and reminders.
  const { tz } = account.preferences;
  await writePreferences(tx, { accountId, tz, reports: "off", reminders: "off" });
  const by = { projectId: null, accountId: null, keyId: null };
  await audit(tx, {
    ...by,
    what: "account.created",
    subject: email,
    before: null,
    after: { imported: true },
    at,
  });
  return accountId;
}

function itemOf(
  kind: ImportItem["kind"],
  of: { ref: string; targetId: number; isCreated: boolean; text?: string; detail?: object | null },
): ImportItem {
  return {
    kind,
    sourceRef: of.ref,
    targetId: of.targetId,
    isCreated: of.isCreated,
    fingerprint: of.text === undefined ? null : fingerprint(of.text),
    sourceStatus: null,
    pingCount: null,
    readAt: null,
    detail: of.detail ?? null,
  };
}

type OfProject = Running & { importId: number; project: PlannedProject };

/** A new project, or the first run into an existing one: one transaction, so nothing of it is visible before. */
async function createProject(request: ImportRequest, of: OfProject): Promise<void> {
  const { source, database, connection, clock = readDatabaseClock } = request;
  const { importId, project, plan } = of;
  await exclusively(() =>
    inBulkTransaction(connection, { kind: "load" }, async (tx) => {
      await lockImport(tx, importId);
      const at = await clock(tx);
      const target = plan.into ?? (await addProject(tx, request, { ...of, at }));
      const isNew = plan.into === null;
      await writeImportItems(tx, {
        importId,
        items: [
          itemOf("project", {
            ref: project.mapped.ref,
            targetId: target.id,
            isCreated: isNew,
            text: canonicalText({ name: target.name }),
          }),
        ],
      });
      if (!isNew)
        await writeKeys(tx, request, { mapped: project.mapped, importId, projectId: target.id, at });
      const into: TargetProject = {
        importId,
        projectId: target.id,
        projectUuid: target.uuid,
        hasPolicies: !isNew,
        silence: await silenceOf(tx, { importId, target, isNew, at }),
        channels: await writeChannels(tx, { ...of, target, at }),
        at,
      };
      let readAt = at;
      const { counts, checksInSource, name } = project.report;
      for await (const page of source.checks(project.source)) {
        for (const check of page)
          noteLost({ ...check, settings: check }, new Set(into.channels.keys()), of.note);
        const checks = page.map((check) => streamed(source, check, readAt));
        await writeChecks(tx, into, { checks, note: of.note, counts });
        if (!isNew) await coverChecks(tx, { importId, target, silence: into.silence });
        request.onProgress?.({
          project: name,
          checks: counts.created,
          checksMax: checksInSource,
          pings: counts.pings,
        });
        readAt = await clock(database);
      }
    }),
  );
}

/** Read while it is written, so that a log is never in memory as a whole. */
function streamed(source: ImportSource, check: SourceCheck, readAt: Instant): CheckToImport {
  return {
    check,
    readAt,
    pings: (after) => source.pings(check, after),
    flips: () => source.flips(check),
  };
}

async function addProject(
  tx: Tx,
  request: ImportRequest,
  { project: { mapped }, plan, importId, at }: OfProject & { at: Instant },
): Promise<Project> {
  const made = newProjectIds({ uuid: randomUUID, text: randomText }, tx.slots);
  const owner =
    plan.owner ?? (mapped.ownerEmail === null ? null : await findAccountByEmail(tx, mapped.ownerEmail));
  if (owner === null) {
    throw new AppError("conflict", `The owner of "${mapped.name}" has no account here. Use --owner.`);
  }
  const row = {
    uuid: mapped.uuid ?? made.uuid,
    name: mapped.name,
    // A source that does not tell the UUID does not tell the ping key either.
    pingKey: mapped.uuid === null ? made.pingKey : mapped.pingKey,
    badgeKey: mapped.badgeKey ?? made.badgeKey,
    createdAt: at,
  };
  const id = await insertProject(tx, { ...row, ownerId: owner.id });
  const by = { projectId: id, accountId: null, keyId: null };
  const after = { name: row.name, importedFrom: request.source.name };
  await audit(tx, { ...by, what: "project.created", subject: row.name, before: null, after, at });
  await writeMembers(tx, { mapped, importId, projectId: id, at });
  await writeKeys(tx, request, { mapped, importId, projectId: id, at });
  return { id, tz: "UTC", ...row };
}

type InProject = { mapped: MappedProject; importId: number; projectId: number; at: Instant };

async function writeMembers(tx: Tx, { mapped, importId, projectId, at }: InProject): Promise<void> {
  const items: ImportItem[] = [];
  for (const { email, role } of mapped.members) {
    const account = await findAccountByEmail(tx, email);
    if (account === null) continue;
    const isCreated = await insertMember(tx, { projectId, accountId: account.id, role, at });
    const ref = `${mapped.ref}/${email}`;
    items.push(itemOf("member", { ref, targetId: account.id, isCreated, detail: { projectId } }));
  }
  await writeImportItems(tx, { importId, items });
}

/** Keys that are not here yet. Their digests are unique. */
async function writeKeys(
  tx: Tx,
  { secretKey, secretKeyPrevious }: ImportRequest,
  { mapped, importId, projectId, at }: InProject,
): Promise<void> {
  // The previous secret is that of the source, unless both servers have the same one.
  const secretId = secretIdOf(secretKeyPrevious ?? secretKey);
  const keys = mapped.keys.map(({ kind, prefix, stored }) => ({
    kind,
    prefix,
    ...("text" in stored
      ? newKeyDigest({ key: stored.text, secretKey })
      : { digest: Buffer.from(stored.digestHex, "hex"), secretId }),
  }));
  const digests = keys.map(({ digest }) => digest.toString("hex"));
  const taken = await findTakenIdentifiers(tx, { apiKey: digests });
  const known = new Set(taken.map(({ value }) => value));
  const items: ImportItem[] = [];
  for (const { kind, prefix, ...stored } of keys) {
    const ref = stored.digest.toString("hex");
    if (known.has(ref)) continue;
    const key = await insertApiKey(tx, {
      projectId,
      kind,
      name: "Imported",
      prefix,
      ...stored,
      createdAt: at,
    });
    items.push(itemOf("key", { ref, targetId: key.id, isCreated: true }));
  }
  await writeImportItems(tx, { importId, items });
}

const SILENCE_REASON = "Import: notifications are off until `overdue import finish`";

/** The silence that is part of the import. A later run extends it, unless a user has ended it. */
async function silenceOf(
  tx: Tx,
  { importId, target, isNew, at }: Added & { target: Project; isNew: boolean },
): Promise<TargetProject["silence"]> {
  const until = at + IMPORT_SILENCE_MS;
  const known = await findImportItems(tx, { importId, kind: "silence", refs: [target.uuid] });
  const id = known.get(target.uuid)?.targetId;
  if (id !== undefined) {
    const [silence] = await findSilencesByIds(tx, [id]);
    if (silence !== undefined && silence.endedAt === null) await writeSilence(tx, { ...silence, until });
    return { id, until };
  }
  const uuid = randomUUID();
  await insertSilence(tx, {
    uuid,
    projectId: target.id,
    accountId: null,
    createdAt: at,
    // Checks of the project that were here before are not silenced.
    scope: isNew ? { kind: "all" } : { kind: "checks", checkIds: [] },
    from: at,
    until,
    untilSuccess: false,
    schedule: null,
    tz: null,
    durationSeconds: null,
    holdAfterSeconds: 0,
    reason: SILENCE_REASON,
  });
  const silence = await findSilence(tx, { projectId: target.id, uuid });
  if (silence === null) throw new Error("the silence was just created");
  const item = itemOf("silence", { ref: target.uuid, targetId: silence.id, isCreated: true });
  await writeImportItems(tx, { importId, items: [item] });
  return { id: silence.id, until };
}

const ITEMS_PER_PAGE = 1_000;

/** Items of one kind, all pages. */
export async function* itemsOf(
  db: Db,
  { importId, kind }: { importId: number; kind: ImportItem["kind"] },
): AsyncGenerator<ImportItem[]> {
  let after: ImportItem | null = null;
  for (;;) {
    const page: ImportItem[] = await listImportItems(db, { importId, kind, after, limit: ITEMS_PER_PAGE });
    after = page.at(-1) ?? null;
    if (after === null) return;
    yield page;
  }
}

/** The silence of an import into an existing project covers the imported checks only. */
async function coverChecks(
  tx: Tx,
  { importId, target, silence }: { importId: number; target: Project; silence: TargetProject["silence"] },
): Promise<void> {
  const [stored] = await findSilencesByIds(tx, [silence.id]);
  if (stored === undefined || stored.endedAt !== null || stored.projectId !== target.id) return;
  const checkIds: number[] = [];
  for await (const page of itemsOf(tx, { importId, kind: "check" })) {
    checkIds.push(...page.map(({ targetId }) => targetId));
  }
  await writeSilence(tx, { ...stored, scope: { kind: "checks", checkIds } });
}

/** Creates channels, or takes changes of those that nobody has edited here. Returns all by the UUIDs of the source. */
async function writeChannels(
  tx: Tx,
  { importId, project, plan, target, at, note }: OfProject & { target: Project; at: Instant },
): Promise<Map<string, { id: number; uuid: string }>> {
  const refs = project.channels.map(({ uuid }) => uuid);
  const known = await findImportItems(tx, { importId, kind: "channel", refs });
  const found = new Map<string, { id: number; uuid: string }>(
    plan.into === null ? [] : await linkedChannels(tx, plan.into, project),
  );
  const items: ImportItem[] = [];
  for (const mapped of project.channels) {
    const item = known.get(mapped.uuid);
    if (item === undefined) {
      const { id } = await addChannel(tx, { mapped, projectId: target.id, at });
      found.set(mapped.uuid, { id, uuid: mapped.uuid });
      const text = channelText(mapped);
      items.push(itemOf("channel", { ref: mapped.uuid, targetId: id, isCreated: true, text }));
      continue;
    }
    const channel = await findChannelById(tx, item.targetId);
    if (channel === null || channel.projectId !== target.id) {
      const why = "It was deleted here.";
      note({ level: "edited", kind: "channel", name: `${mapped.kind}: ${mapped.name}`, why });
      continue;
    }
    found.set(mapped.uuid, { id: channel.id, uuid: channel.uuid });
    const text = channelText(mapped);
    if (fingerprint(text) === item.fingerprint) continue;
    if (fingerprint(channelText(channel)) !== item.fingerprint) {
      const why = "It was changed here, so its settings were kept.";
      note({ level: "edited", kind: "channel", name: `${mapped.kind}: ${mapped.name}`, why });
      continue;
    }
    await writeChannel(tx, { channelId: channel.id, name: mapped.name, config: mapped.config });
    await markVerified(tx, { channelId: channel.id, address: mapped.verifiedAddress });
    items.push(itemOf("channel", { ref: mapped.uuid, targetId: channel.id, isCreated: true, text }));
  }
  await writeImportItems(tx, { importId, items });
  return found;
}

/** What a fingerprint of a channel is made of. */
export function channelText({ name, config }: { name: string; config: ChannelConfig }): string {
  return canonicalText({ name, config });
}

async function addChannel(
  tx: Tx,
  { mapped, projectId, at }: { mapped: MappedChannel; projectId: number; at: Instant },
): Promise<Channel> {
  const { uuid, kind, name, config, verifiedAddress } = mapped;
  const createdAt = mapped.createdAt ?? at;
  const channel = await insertChannel(tx, { uuid, projectId, kind, name, config, createdAt });
  if (verifiedAddress !== null) await markVerified(tx, { channelId: channel.id, address: verifiedAddress });
  if (mapped.isDisabled) {
    const disabled = { at, reason: DISABLED_BY_OWNER };
    await writeChannel(tx, { channelId: channel.id, disabled });
  }
  return channel;
}

/** Checks of a known project are written in small transactions: pings may be arriving. */
const CHUNK_CHECKS_MAX = 100;
const CHUNK_PINGS_MAX = 5_000;
const CHUNK_BODY_BYTES_MAX = 8 * 1024 * 1024;
const CHUNK_TRIES_MAX = 10;

async function updateProject(request: ImportRequest, of: OfProject & { projectId: number }): Promise<void> {
  const { database, connection, clock = readDatabaseClock } = request;
  const { importId, project, projectId } = of;
  const { target, channels } = await exclusively(() =>
    inTransaction(database, async (tx) => {
      await lockImport(tx, importId);
      const at = await clock(tx);
      const found = await findTarget(tx, projectId);
      if (found === null) return { target: null, channels: null };
      await followProject(tx, request, { ...of, target: found, at });
      return { target: found, channels: await writeChannels(tx, { ...of, target: found, at }) };
    }),
  );
  if (target === null) {
    const why = "It was deleted here.";
    of.note({ level: "edited", kind: "project", name: project.mapped.name, why });
    return;
  }
  const { counts, checksInSource, name } = project.report;
  const isInto = of.plan.into !== null;
  for await (const chunk of chunksOf(request, { ...of, importId })) {
    await exclusively(() =>
      retried(() =>
        inBulkTransaction(connection, { kind: "load" }, async (tx: BulkTx) => {
          await lockImport(tx, importId);
          const at = await clock(tx);
          const silence = await silenceOf(tx, { importId, target, isNew: !isInto, at });
          const shared = { importId, projectId, projectUuid: target.uuid, hasPolicies: true };
          const into: TargetProject = { ...shared, silence, channels, at };
          const fresh = noCounts();
          await writeChecks(tx, into, { checks: chunk, note: of.note, counts: fresh });
          if (isInto && fresh.created > 0) await coverChecks(tx, { importId, target, silence });
          return fresh;
        }),
      ).then((fresh) => addCounts(counts, fresh)),
    );
    const done = counts.created + counts.updated + counts.unchanged + counts.left;
    request.onProgress?.({ project: name, checks: done, checksMax: checksInSource, pings: counts.pings });
  }
}

function addCounts(to: CheckCounts, more: CheckCounts): void {
  for (const name of Object.keys(more) as (keyof CheckCounts)[]) to[name] += more[name];
}

/** A check may be locked by pings that are being recorded. */
async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      const name = postgresErrorName(error);
      const isPassing = name === "lock_not_available" || name === "deadlock_detected";
      if (!isPassing || tries >= CHUNK_TRIES_MAX) throw error;
    }
  }
}

async function findTarget(tx: Tx, projectId: number): Promise<Project | null> {
  const members = await listMembers(tx, projectId);
  return members.length === 0 ? null : findProjectById(tx, projectId);
}

/** Takes a new name, members and keys. */
async function followProject(
  tx: Tx,
  request: ImportRequest,
  { importId, project: { mapped }, target, plan, at, note }: OfProject & { target: Project; at: Instant },
): Promise<void> {
  const of = { mapped, importId, projectId: target.id, at };
  await writeKeys(tx, request, of);
  if (plan.into !== null) return;
  await writeMembers(tx, of);
  const items = await findImportItems(tx, { importId, kind: "project", refs: [mapped.ref] });
  const text = canonicalText({ name: mapped.name });
  const written = items.get(mapped.ref)?.fingerprint ?? null;
  if (fingerprint(text) === written || mapped.name === target.name) return;
  if (fingerprint(canonicalText({ name: target.name })) !== written) {
    note({ level: "edited", kind: "project", name: target.name, why: "It was renamed here." });
    return;
  }
  await renameProject(tx, { projectId: target.id, name: mapped.name });
  const item = itemOf("project", { ref: mapped.ref, targetId: target.id, isCreated: true, text });
  await writeImportItems(tx, { importId, items: [item] });
}

/** Checks with their new pings, read before anything is locked. */
async function* chunksOf(
  { source, database, clock = readDatabaseClock }: ImportRequest,
  { project }: OfProject,
): AsyncGenerator<CheckToImport[]> {
  let chunk: CheckToImport[] = [];
  let pingCount = 0;
  let bodyBytes = 0;
  let readAt = await clock(database);
  for await (const page of source.checks(project.source)) {
    const uuids = page.map(({ uuid }) => uuid.toLowerCase());
    const here = await findImportedChecks(database, uuids);
    for (const check of page) {
      const pings: SourcePing[] = [];
      const after = here.get(check.uuid.toLowerCase())?.pingCount ?? 0;
      const hasMore = check.pingCount > after;
      if (hasMore) for await (const some of source.pings(check, after)) pings.push(...some);
      const flips = await source.flips(check);
      chunk.push({
        check,
        readAt,
        pings: (from) => [pings.filter(({ number }) => number > from)],
        flips: async () => flips,
      });
      pingCount += pings.length;
      bodyBytes += pings.reduce((sum, { body }) => sum + (body?.length ?? 0), 0);
      const isFull =
        chunk.length >= CHUNK_CHECKS_MAX || pingCount >= CHUNK_PINGS_MAX || bodyBytes >= CHUNK_BODY_BYTES_MAX;
      if (!isFull) continue;
      yield chunk;
      chunk = [];
      pingCount = 0;
      bodyBytes = 0;
    }
    readAt = await clock(database);
  }
  if (chunk.length > 0) yield chunk;
}
