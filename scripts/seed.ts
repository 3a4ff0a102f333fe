// The data of a fresh development, screenshot or benchmark database: an account, a project with its keys, and jobs with
// a history. Only for development: it bypasses the limits and the audit log.
import { randomUUID } from "node:crypto";
import { type CheckParams, newCheck } from "../src/core/check.ts";
import { newUuidIn } from "../src/core/identity.ts";
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS } from "../src/core/instant.ts";
import { createAccount } from "../src/operations/accounts.ts";
import { secretKeyOf } from "../src/operations/secrets.ts";
import { pauseCheck } from "../src/operations/checks.ts";
import { type CreatedProject, createProject } from "../src/operations/projects.ts";
import { assignToAllChecks, insertChannel } from "../src/store/channels.ts";
import { insertCheck, insertState } from "../src/store/checks.ts";
import type { Database } from "../src/store/db.ts";
import { readDatabaseClock } from "../src/store/instance.ts";
import { insertBlindInterval } from "../src/store/intakes.ts";
import { findProjectByUuid, type Project } from "../src/store/projects.ts";
import { inTransaction } from "../src/store/transaction.ts";
import { draw, type Job, JOBS, runsOf } from "./seed/jobs.ts";
import { type Interval, liveThrough, signalsOf } from "./seed/live-through.ts";
import { addNearMisses } from "./seed/near-misses.ts";

export const SEED_EMAIL = "dev@example.org";

const HISTORY_DAYS = 30;
/** Checks beyond the dozen only need a short history. */
const FILLER_DAYS = 0.4;
const TOGETHER_MS = { few: 10 * MINUTE_MS, many: 2 * HOUR_MS };
const CHECKS_PER_TRANSACTION = 500;

const CHANNELS = [
  { kind: "email", name: "Operations", config: { value: "ops@example.org" } },
  { kind: "slack", name: "#alerts", config: { url: "https://hooks.slack.com/services/T0/B0/x" } },
  { kind: "webhook", name: "Pager bridge", config: { url_down: "https://hooks.example.org/down" } },
] as const;

export type Seeded = CreatedProject & { id: number; ownerId: number };

/** An account with all permissions. */
export async function seedAccount(database: Database, email = SEED_EMAIL): Promise<{ id: number }> {
  const now = await readDatabaseClock(database);
  return createAccount(database, { email, name: "Developer", isAdmin: true, checkLimit: null, now });
}

/** Fills an empty database and returns the keys, which cannot be read again. */
export async function seed(
  database: Database,
  { secretKey }: { secretKey: string | null },
): Promise<CreatedProject> {
  const { id } = await seedAccount(database);
  const made = await seedProject(database, { ownerId: id, name: "Demo", secretKey, checkCount: JOBS.length });
  return { uuid: made.uuid, apiKey: made.apiKey, apiKeyReadonly: made.apiKeyReadonly, pingKey: made.pingKey };
}

/** A project with this many checks, all with a history; the first dozen are the jobs in screenshots. */
export async function seedProject(
  database: Database,
  options: { ownerId: number; name: string; secretKey: string | null; checkCount: number },
): Promise<Seeded> {
  const { ownerId, name, checkCount } = options;
  const now = await readDatabaseClock(database);
  const secretKey = await secretKeyOf(database, options.secretKey);
  const made = await createProject(database, { ownerId, name, secretKey, now: now - HISTORY_DAYS * DAY_MS });
  const project = await findProjectByUuid(database, made.uuid);
  if (project === null) throw new Error("the new project does not exist");
  const jobs = Array.from({ length: checkCount }, (_, index) => JOBS[index] ?? fillerJob(index));
  const checks = await insertChecks(database, { project, jobs, now });
  if (checkCount > 0) {
    await addChannels(database, { project, now });
    await addPast(database, { checks, now });
    await pauseSome(database, { checks, projectId: project.id, now });
    await addNearMisses(database, { project, checks, now });
  }
  return { ...made, id: project.id, ownerId };
}

type SeededCheck = { id: number; uuid: string; slug: string; job: Job };

async function insertChecks(
  database: Database,
  { project, jobs, now }: { project: Project; jobs: readonly Job[]; now: Instant },
): Promise<SeededCheck[]> {
  const made: SeededCheck[] = [];
  for (let from = 0; from < jobs.length; from += CHECKS_PER_TRANSACTION) {
    await inTransaction(database, async (tx) => {
      const some = jobs.slice(from, from + CHECKS_PER_TRANSACTION);
      const inserted = some.map(async (job): Promise<SeededCheck> => {
        const settings = newCheck(job.params, { deriveSlug: true });
        const uuid = newUuidIn(project.uuid, randomUUID);
        const id = await insertCheck(tx, {
          uuid,
          badgeUuid: newUuidIn(project.uuid, randomUUID),
          projectId: project.id,
          settings,
          createdAt: now - HISTORY_DAYS * DAY_MS,
        });
        await insertState(tx, id);
        return { id, uuid, slug: settings.slug, job };
      });
      made.push(...(await Promise.all(inserted)));
    });
  }
  return made;
}

async function addChannels(
  database: Database,
  { project, now }: { project: Project; now: Instant },
): Promise<void> {
  const projectId = project.id;
  await inTransaction(database, async (tx) => {
    for (const { kind, name, config } of CHANNELS) {
      const createdAt = now - HISTORY_DAYS * DAY_MS;
      const channel = await insertChannel(tx, {
        uuid: newUuidIn(project.uuid, randomUUID),
        projectId,
        kind,
        name,
        config,
        createdAt,
      });
      if (kind !== "webhook") await assignToAllChecks(tx, { projectId, channelId: channel.id });
    }
  });
}

async function addPast(
  database: Database,
  { checks, now }: { checks: readonly SeededCheck[]; now: Instant },
): Promise<void> {
  const blind = [blindNight(now)];
  await inTransaction(database, async (tx) => {
    for (const { from, to } of blind) {
      await insertBlindInterval(tx, {
        intakeId: null,
        from,
        to,
        reason: "the receiving process did not accept pings",
      });
    }
  });
  const signals = checks.flatMap(({ uuid, job }, index) => {
    const days = index < JOBS.length ? HISTORY_DAYS : FILLER_DAYS;
    return runsOf(job, { days, now, salt: index + 1 }).flatMap((run) => signalsOf({ uuid, job, run }));
  });
  const heard = signals.filter(({ at }) => !blind.some(({ from, to }) => at >= from && at <= to));
  const togetherMs = checks.length > JOBS.length ? TOGETHER_MS.many : TOGETHER_MS.few;
  await liveThrough(database, { signals: heard, blind, togetherMs, now });
}

/** A night with an outage of our own: a monitoring gap that pages show. */
function blindNight(now: Instant): Interval {
  const midnight = now - (now % DAY_MS) - 11 * DAY_MS;
  return { from: midnight, to: midnight + 4 * HOUR_MS + 10 * MINUTE_MS };
}

async function pauseSome(
  database: Database,
  { checks, projectId, now }: { checks: readonly SeededCheck[]; projectId: number; now: Instant },
): Promise<void> {
  const visibility = { watermarkAt: now, blind: [] };
  for (const { id, job } of checks) {
    if (job.ending === "paused") {
      await pauseCheck(database, { projectId, checkId: id, at: now, accountId: null, visibility });
    }
  }
}

const KINDS = [
  "backup",
  "export",
  "sync",
  "report",
  "cleanup",
  "import",
  "reindex",
  "rotation",
  "digest",
  "probe",
];
const PLACES = ["eu-west", "eu-north", "us-east", "us-west", "ap-south"];

/** One of many: with a machine-like name, mostly healthy. */
function fillerJob(index: number): Job {
  const luck = draw(index);
  const kind = KINDS[index % KINDS.length] ?? "job";
  const place = PLACES[Math.floor(luck * PLACES.length)] ?? "eu";
  const ending = luck < 0.004 ? "failed" : luck < 0.01 ? "late" : luck < 0.02 ? "new" : "well";
  const params: CheckParams = {
    name: `${kind} ${place} host-${String(index).padStart(5, "0")}`,
    tags: `${luck < 0.8 ? "prod" : "staging"} ${kind} ${place}`,
    ...(index % 3 === 0 ? { schedule: `${index % 60} */4 * * *` } : { timeoutSeconds: 6 * 3_600 }),
  };
  return { params, ending, durationMs: Math.round(2_000 + luck * 90_000) };
}
