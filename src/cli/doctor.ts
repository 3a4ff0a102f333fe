// `overdue doctor`: checks a server and its surroundings from the command line, and says what to fix. It changes
// nothing, except that it writes and deletes a test object if an object store is configured, and sends an email if asked.
import { type Command, InvalidArgumentError } from "commander";
import { randomUUID } from "node:crypto";
import { accessSync, constants, existsSync, statfsSync } from "node:fs";
import { dirname } from "node:path";
import { type Config, ConfigError, type Environment, knownSecrets, loadConfig } from "../config/config.ts";
import { chooseSpoolFolder, couldBeWritable } from "../config/spool-folder.ts";
import { DOCS } from "../contract/api/docs.ts";
import {
  addressFindings,
  diskFindings,
  type Finding,
  fine,
  nodeFinding,
  problem,
  problemOf,
  siteUrlFindings,
  type Subject,
  warning,
} from "../core/doctor.ts";
import { SECOND_MS } from "../core/instant.ts";
import { formatListenAddress } from "../lib/address.ts";
import { secretRemover } from "../lib/secret-remover.ts";
import { within } from "../lib/service.ts";
import { type CommandContext, databaseOptionsOf, EXIT, printJson } from "./command-context.ts";

/** How long one check may take. The public URL is checked after the database; all others run at the same time. */
const CHECK_MS_MAX = 9 * SECOND_MS;
const SECONDS_MAX = (2 * CHECK_MS_MAX) / SECOND_MS;
/** One step of a check, such as connecting. */
const STEP_MS_MAX = 4 * SECOND_MS;
const ADMIN_BYTES_MAX = 64 * 1024;

/** Connections of roles in addition to the shared pool. */
export const EXTRA_CONNECTIONS = { receiving: 8, sweeper: 3, recorder: 3 };

const AFTER_HELP = `
Checks the settings, the database and its schema, secret keys, clocks, the spool folder, the log, email, the public
URL and its proxy, the object store, and the running server. Run it on the machine of the server, as the same user and
with the same settings. Each check has a time limit; all of them take at most ${SECONDS_MAX} seconds. Secrets are never printed.

Nothing is changed and no email is sent, except a test email with --send-mail. If an object store is configured, a
small test object is written and deleted.

The exit code is 1 if there is a problem. Warnings do not change it.

Examples:
  $ overdue doctor
  $ overdue doctor --send-mail you@example.org
  $ overdue doctor --json | jq '.findings[] | select(.level != "ok")'`;

type Options = { json?: true; sendMail?: string };

/** Adds the options and the action. */
export function defineDoctor(
  command: Command,
  context: CommandContext,
  setExitCode: (code: number) => void,
): void {
  command
    .option("--json", "Output JSON (problems, warnings, findings)")
    .option("--send-mail <address>", "Send a test email to this address", emailAddress)
    .addHelpText("after", AFTER_HELP)
    .action(async (options: Options) => {
      if (!options.json) context.err(`Checking the server. This takes up to ${SECONDS_MAX} seconds.\n`);
      const { findings, siteUrl } = await examine(context, options);
      const problems = findings.filter(({ level }) => level === "problem").length;
      const warnings = findings.filter(({ level }) => level === "warning").length;
      if (problems > 0) setExitCode(EXIT.failed);
      if (options.json) return printJson(context, { problems, warnings, findings });
      const help = siteUrl === null || problems + warnings === 0 ? "" : `Help: ${siteUrl}${DOCS.doctor}\n`;
      context.out(`${findings.map(lineOf).join("")}\n${summaryOf({ problems, warnings })}\n${help}`);
    });
}

function emailAddress(text: string): string {
  if (/^[^\s@<>]+@[^\s@<>]+$/.test(text)) return text;
  throw new InvalidArgumentError("Expected an email address.");
}

const LEVEL_WIDTH = "problem".length;
const SUBJECT_WIDTH = "object store".length;

function lineOf({ level, about, text, fix }: Finding): string {
  const line = `${level.padEnd(LEVEL_WIDTH)}  ${about.padEnd(SUBJECT_WIDTH)}  ${text}\n`;
  return fix === null ? line : `${line}${" ".repeat(LEVEL_WIDTH + SUBJECT_WIDTH + 4)}${fix}\n`;
}

function summaryOf({ problems, warnings }: { problems: number; warnings: number }): string {
  if (problems + warnings === 0) return "No problems found.";
  const count = (number: number, word: string) => `${number} ${word}${number === 1 ? "" : "s"}`;
  return `${count(problems, "problem")}, ${count(warnings, "warning")}.`;
}

/** `siteUrl`: null if the settings are invalid. */
type Examined = { findings: Finding[]; siteUrl: string | null };

async function examine(context: CommandContext, options: Options): Promise<Examined> {
  const node = nodeFinding(process.versions.node);
  let config: Config;
  try {
    config = loadConfig(context.environment).config;
    context.chooseRoles(config.roles);
  } catch (error) {
    return { findings: [...settingsFindings(error), node], siteUrl: null };
  }
  const clean = secretRemover(knownSecrets(config));
  const reading = diagnose(config);
  const groups = await Promise.all([
    guarded(
      "database",
      reading.then(({ findings }) => findings),
    ),
    guarded("spool", spoolFindings(config, { environment: context.environment, reading })),
    guarded("log", logFindings(config)),
    guarded("email", mailFindings(config, options)),
    guarded("object store", objectFindings(config)),
    guarded("server", serverFindings(config)),
    publicUrlFindings(config, { context, reading }),
  ]);
  const findings = [fine("settings", "All settings are valid."), node, ...groups.flat()].map((one) => {
    return { ...one, text: clean(one.text), fix: one.fix === null ? null : clean(one.fix) };
  });
  return { findings, siteUrl: config.siteUrl };
}

/** A check that fails unexpectedly or takes too long is a finding, too. */
async function guarded(about: Subject, work: Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await within(work, CHECK_MS_MAX);
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    const fix = "Check that the host, the port and any firewalls are right, and run the command again.";
    return [problem(about, `This could not be checked: ${said}.`, fix)];
  }
}

function settingsFindings(error: unknown): Finding[] {
  const fix = "Correct it. `overdue config --example` describes every setting.";
  if (error instanceof ConfigError) {
    return error.problems.map((text) => problemOf("settings", text, fix));
  }
  return [problemOf("settings", error instanceof Error ? error.message : String(error), fix)];
}

// The database.

type Reading = Promise<{
  findings: Finding[];
  challenge: { id: string; answer: string } | null;
  secret: string | null;
}>;

async function diagnose(config: Config): Reading {
  if (config.databaseUrl === null) {
    const fix =
      "Set it to the URL of a PostgreSQL database, for example postgres://overdue@127.0.0.1:5432/overdue.";
    const finding = problem("database", "OVERDUE_DATABASE_URL is not set.", fix);
    return { findings: [finding], challenge: null, secret: null };
  }
  const { diagnoseDatabase } = await import("../operations/doctor.ts");
  return diagnoseDatabase({
    database: databaseOptionsOf(config),
    timeoutMs: STEP_MS_MAX,
    connectionsNeeded: connectionsOf(config),
    adminChannel: config.adminChannel,
    secrets: { secretKey: config.secretKey, secretKeyPrevious: config.secretKeyPrevious },
  });
}

/** How many connections a process with these settings can open. */
function connectionsOf({ roles, databasePoolSize, logTopic }: Config): number {
  const has = (...names: string[]) =>
    roles === null || roles.includes("all") || names.some((name) => roles.includes(name));
  return (
    databasePoolSize +
    (has("ping", "smtp") ? EXTRA_CONNECTIONS.receiving : 0) +
    (has("sweeper") ? EXTRA_CONNECTIONS.sweeper : 0) +
    (logTopic !== null && has("recorder") ? EXTRA_CONNECTIONS.recorder : 0)
  );
}

// The spool folder.

async function spoolFindings(
  config: Config,
  { environment, reading }: { environment: Environment; reading: Reading },
): Promise<Finding[]> {
  let folder: string | null;
  try {
    folder = chooseSpoolFolder(config.spoolFolder, environment, { isFit: couldBeWritable });
  } catch (error) {
    return settingsFindings(error).map((one) => ({ ...one, about: "spool" }));
  }
  if (folder === null) {
    const text = "The spool is off, so pings are rejected while the database is unavailable.";
    return [
      warning("spool", text, "Remove OVERDUE_SPOOL_FOLDER=off, or set it to a folder on a local disk."),
    ];
  }
  const found = [...folderFindings(folder, config), ...(await contentFindings(folder, reading))];
  return found.length > 0 ? found : [fine("spool", `The spool folder ${folder} can be used.`)];
}

function folderFindings(folder: string, { spoolBytesMax }: Config): Finding[] {
  let existing = folder;
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  const { type, bavail, bsize } = statfsSync(existing);
  const disk = { folder, fileSystem: type, freeBytes: bavail * bsize, bytesMax: spoolBytesMax };
  return [...accessFindings(folder, existing), ...diskFindings(disk)];
}

/** The server creates the folder if it can. */
function accessFindings(folder: string, existing: string): Finding[] {
  try {
    accessSync(existing, constants.W_OK | constants.X_OK);
    return [];
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
    const text = `This user cannot write to the spool folder ${folder} (${code}).`;
    const fix =
      "Make the user that runs Overdue its owner, or set OVERDUE_SPOOL_FOLDER to a folder that this user can write to.";
    return [problem("spool", text, fix)];
  }
}

async function contentFindings(folder: string, reading: Reading): Promise<Finding[]> {
  if (!existsSync(folder)) return [];
  const { filesSetAside, folderOwner, isOwnedByOther } = await import("../intake/spool-file.ts");
  const found: Finding[] = [];
  const { secret } = await reading;
  if (secret !== null && (await isOwnedByOther(folder, folderOwner(secret)))) {
    const text = `The spool folder ${folder} contains pings of another Overdue server.`;
    const fix =
      "Use a separate folder for each server on this machine. If the other server no longer exists, delete its files there.";
    found.push(problem("spool", text, fix));
  }
  const damaged = filesSetAside(folder);
  if (damaged.length > 0) {
    const text = `The spool folder ${folder} contains ${damaged.length} damaged files, such as ${damaged[0]?.name}.`;
    found.push(warning("spool", text, "Check the disk. Delete the files when you no longer need them."));
  }
  return found;
}

// Kafka as a log.

async function logFindings({ logTopic }: Config): Promise<Finding[]> {
  if (logTopic === null) return [];
  const [{ KafkaTopic }, { topicProblems }] = await Promise.all([
    import("../lib/kafka.ts"),
    import("../core/log.ts"),
  ]);
  const topic = await KafkaTopic.open(logTopic);
  try {
    const found = await topic.describe();
    if (found === null) {
      return [
        problem("log", "The topic of OVERDUE_LOG does not exist.", "Create it with: overdue log create"),
      ];
    }
    const { partitions } = found;
    const [unsafe] = topicProblems(found);
    if (unsafe !== undefined) {
      const text = `The topic of OVERDUE_LOG could lose confirmed pings: ${unsafe}.`;
      return [problem("log", text, "Correct the settings of the topic. Until then, pings are rejected.")];
    }
    const behind = partitions.filter(({ inSync, replicas }) => inSync < replicas).length;
    if (behind > 0) {
      const text = `Under-replicated partitions in the topic of OVERDUE_LOG: ${behind}.`;
      return [warning("log", text, "Check that all Kafka brokers are running.")];
    }
    return [fine("log", `The topic of OVERDUE_LOG has safe settings (partitions: ${partitions.length}).`)];
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    return [problem("log", said, "Check OVERDUE_LOG, and that the Kafka brokers are running.")];
  } finally {
    await topic.close();
  }
}

// Email.

const MAIL_ADVICE: readonly [RegExp, string][] = [
  [/rejected the login/, "Correct OVERDUE_SMTP_USER and OVERDUE_SMTP_PASSWORD."],
  [/certificate/, "Use the host name in the certificate, or set NODE_EXTRA_CA_CERTS to trust your own CA."],
  [
    /TLS|encrypted/,
    "Correct OVERDUE_SMTP_TLS and OVERDUE_SMTP_PORT: starttls for port 587, tls for port 465, none for a relay on the same machine.",
  ],
  [/host name/, "Correct OVERDUE_SMTP_HOST."],
  [/recipient/, "Use another address, or allow this server to send to it."],
  [/rejected the email/, "Set OVERDUE_MAIL_FROM to a sender that the mail server accepts."],
];
const MAIL_ADVICE_OTHERWISE =
  "Check OVERDUE_SMTP_HOST, OVERDUE_SMTP_PORT, OVERDUE_SMTP_TLS and any firewalls.";

async function mailFindings(config: Config, { sendMail }: Options): Promise<Finding[]> {
  const { mailServerOf } = await import("../config/connections.ts");
  const server = mailServerOf(config);
  if (server === null) {
    const text = "OVERDUE_SMTP_HOST is not set, so no email is sent.";
    return [warning("email", text, "Set it and the other OVERDUE_SMTP_* settings to your mail server.")];
  }
  const { openMailSender } = await import("../lib/mail-sender.ts");
  const sender = openMailSender({ ...server, connectionsMax: 1, timeoutMs: STEP_MS_MAX });
  const place = `${server.host}:${server.port}`;
  try {
    const refused = await sender.problem();
    if (refused !== null) return [mailProblem(refused, place)];
    if (sendMail === undefined) {
      return [fine("email", `The mail server ${place} accepts connections. No email was sent.`)];
    }
    const result = await sender.send({
      to: sendMail,
      subject: `${config.siteName}: test email`,
      text: `This is a test email from ${config.siteName}. Alerts will come from the same address.\n`,
      html: "<p>This is a test email. Alerts will come from the same address.</p>",
      messageId: `<${randomUUID()}@${server.clientName ?? "overdue"}>`,
    });
    if (result.kind === "failed") return [mailProblem(result.reason, place)];
    return [fine("email", `The mail server ${place} accepted an email to ${sendMail}.`)];
  } finally {
    await sender.close();
  }
}

function mailProblem(reason: string, place: string): Finding {
  const fix = MAIL_ADVICE.find(([pattern]) => pattern.test(reason))?.[1] ?? MAIL_ADVICE_OTHERWISE;
  return problem("email", `${reason.replace(/\.$/, "")} (${place}).`, fix);
}

// The object store.

async function objectFindings(config: Config): Promise<Finding[]> {
  const { objectStoreOf } = await import("../config/connections.ts");
  const limits = { signal: AbortSignal.timeout(CHECK_MS_MAX) };
  const store = objectStoreOf({ ...config, s3TimeoutSeconds: STEP_MS_MAX / SECOND_MS }, limits);
  if (store === null) return [];
  const key = `doctor/${randomUUID()}`;
  try {
    await store.put(key, Buffer.from("overdue doctor"));
    await store.get(key);
    await store.delete(key);
    return [fine("object store", `Objects can be written, read and deleted in ${config.s3Bucket}.`)];
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    const fix =
      "Check OVERDUE_S3_ENDPOINT, OVERDUE_S3_BUCKET, OVERDUE_S3_REGION and the keys. The access key needs permission to put, get and delete.";
    return [problem("object store", `The object store ${config.s3Endpoint} failed: ${said}.`, fix)];
  }
}

// The running server.

async function serverFindings({ adminListen }: Config): Promise<Finding[]> {
  const isEverywhere = ["0.0.0.0", "::"].includes(adminListen.host);
  const place = formatListenAddress(isEverywhere ? { ...adminListen, host: "127.0.0.1" } : adminListen);
  const start = "Start `overdue serve`, or set OVERDUE_ADMIN_LISTEN to the address of the running process.";
  let response: Response;
  let text: string;
  try {
    response = await fetch(`http://${place}/readyz`, { signal: AbortSignal.timeout(STEP_MS_MAX) });
    text = (await response.text()).slice(0, ADMIN_BYTES_MAX);
  } catch {
    return [warning("server", `No process answers on the admin port ${place}.`, start)];
  }
  const checks = readyChecks(text);
  if (checks === null)
    return [problem("server", `Another program answers on the admin port ${place}.`, start)];
  if (response.ok) return [fine("server", `The process on ${place} is ready.`)];
  const failed = Object.entries(checks).filter(([, said]) => said !== "ok");
  const said = failed.map(([name, reason]) => `${name}: ${reason}`).join("; ");
  return [
    problem("server", `The process on ${place} is not ready: ${said}.`, "Check its log for the reason."),
  ];
}

function readyChecks(text: string): Record<string, string> | null {
  try {
    const value = JSON.parse(text) as { checks?: Record<string, string> } | null;
    return typeof value?.checks === "object" ? value.checks : null;
  } catch {
    return null;
  }
}

// The public URL.

async function publicUrlFindings(
  config: Config,
  { context, reading }: { context: CommandContext; reading: Reading },
): Promise<Finding[]> {
  const { siteUrl } = config;
  const read = await within(reading, CHECK_MS_MAX).catch(() => null);
  const reached = guarded(
    "public URL",
    context
      .testPublicUrl(config, read?.challenge ?? null)
      .then(({ isThisServer, test }) =>
        addressFindings(siteUrl, { isThisServer, isOverdue: test.isOurs, problems: test.problems }),
      ),
  );
  return [...siteUrlFindings(siteUrl), ...(await reached)];
}
