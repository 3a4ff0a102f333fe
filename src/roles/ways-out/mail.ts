// Mail, put together from the settings: the server that takes it, what the mail kind needs to know of its readers, and
// the loops that write to people by themselves. Without a server in the settings there is none of it.
import { randomInt } from "node:crypto";
import type { BounceableMail, MailPort } from "../../channels/mail-port.ts";
import { type LetterLinks, letterMail } from "../../channels/mail/letter-mail.ts";
import type { Config } from "../../config.ts";
import {
  type BounceId,
  bounceLocalPart,
  reportsToken,
  type Signing,
  unsubscribeToken,
  verificationToken,
} from "../../core/alerts/mail-tokens.ts";
import { confirmCode, linkToken } from "../../core/accounts/token-rules.ts";
import type { LetterFacts } from "../../core/alerts/letters.ts";
import { REPORT_MINUTES } from "../../core/alerts/reports.ts";
import { MINUTE_MS, SECOND_MS } from "../../core/instant.ts";
import type { Log } from "../../lib/log.ts";
import { type Loop, loopService } from "../../lib/loop.ts";
import type { MailResult, MailSender } from "../../lib/mail/mail.ts";
import { type MailSenderOptions, openMailSender } from "../../lib/mail/mail-sender.ts";
import { addressIn, returnPathFor } from "../../lib/mail/mail-setting.ts";
import { addFigures, type Metrics } from "../../lib/metrics.ts";
import {
  type ClaimedLetter,
  claimLetters,
  readLetter,
  settleLetter,
  type WrittenLetter,
} from "../../operations/alerts/mail/letters.ts";
import { planReminders, planReports } from "../../operations/alerts/mail/reports.ts";
import { signingWith } from "../../operations/alerts/mail/signing.ts";
import { tellUnverified } from "../../operations/alerts/mail/verification.ts";
import { secretKeyOf } from "../../operations/api-key.ts";
import { findRecipient } from "../../store/alerts/mail-channels.ts";
import type { Database } from "../../store/db.ts";
import { readDatabaseClock } from "../../store/instance.ts";
import { whileInService } from "../in-service.ts";

export type MailResources = { config: Config; database: Database; log: Log; metrics: Metrics };

export type OpenMail = {
  port: MailPort;
  /** They are started and stopped by whoever opens mail. */
  loops: readonly Loop[];
  close(): Promise<void>;
};

/** How often reports and reminders are looked for. */
const PLAN_IDLE_MS = MINUTE_MS;
const LETTERS_IDLE_MS = 2 * SECOND_MS;
/** Letters of one turn. They go one after the other, so that alerts find the server free. */
const LETTERS_PER_TURN = 5;

type House = MailResources & { sender: MailSender; signing: () => Promise<Signing>; from: string };

/** Opens mail, or null where the settings name no server. */
export function openMail(resources: MailResources): OpenMail | null {
  const { config, database } = resources;
  const server = mailServerOf(config);
  if (server === null) return null;
  const { from } = server;
  const sender = openMailSender(server);
  let signing: Promise<Signing> | null = null;
  const house: House = {
    ...resources,
    sender,
    from,
    signing: () => {
      signing ??= secretKeyOf(database, config.secretKey).then(signingWith);
      // A database that was away is asked again.
      signing.catch(() => (signing = null));
      return signing;
    },
  };
  return { port: mailPort(house), loops: [letterLoop(house), planLoop(house)], close: () => sender.close() };
}

/** The mail server of the settings and how it is spoken to, or null where they name none. */
export function mailServerOf(config: Config): MailSenderOptions | null {
  const host = config.smtpHost;
  if (host === null) return null;
  return {
    host,
    port: config.smtpPort,
    security: config.smtpSecurity,
    user: config.smtpUser,
    password: config.smtpPassword,
    clientName: siteHost(config),
    from: config.mailFrom ?? `${config.siteName.replace(/[<>"\r\n]/g, "")} <overdue@${siteHost(config)}>`,
    connectionsMax: config.smtpConnections,
    timeoutMs: config.smtpTimeoutSeconds * SECOND_MS,
  };
}

function siteHost({ siteUrl }: Config): string {
  return new URL(siteUrl).hostname;
}

function mailPort(house: House): MailPort {
  const { config, database } = house;
  return {
    idDomain: idDomain(house),
    recipient: async ({ channelUuid, address }) => {
      const found = await findRecipient(database, { channelUuid, address });
      const token = unsubscribeToken(await house.signing(), { channelUuid, address });
      return {
        isVerified: !config.mailVerification || found?.verifiedAddress === address,
        zone: found?.zone ?? null,
        unsubscribeUrl: `${config.siteUrl}/integrations/${channelUuid}/unsub/${token}/`,
      };
    },
    tellUnverified: async ({ channelUuid }) =>
      tellUnverified(database, { channelUuid, at: await readDatabaseClock(database) }),
    send: (mail) => sendBounceable(house, mail),
  };
}

function idDomain({ from }: House): string {
  return addressIn(from).split("@").at(-1) ?? "localhost";
}

async function sendBounceable(house: House, { bounceId, ...mail }: BounceableMail): Promise<MailResult> {
  const { config, database, sender } = house;
  if (config.mailReturnPath === null) return sender.send(mail);
  const at = await readDatabaseClock(database);
  // Made by our own kinds and letters, in this shape.
  const id = bounceId as BounceId;
  const localPart = bounceLocalPart(await house.signing(), { id, address: mail.to, at });
  return sender.send({ ...mail, returnPath: returnPathFor(config.mailReturnPath, localPart) });
}

/** Sends letters that are due. */
function letterLoop(house: House): Loop {
  const { database, log, metrics } = house;
  const counts: Record<string, number> = { sent: 0, failed: 0, moot: 0 };
  addFigures(metrics, [
    {
      name: "overdue_letters_total",
      help: "Account emails, reports, and reminders by result.",
      kind: "counter",
      label: "outcome",
      readEach: () => counts,
    },
  ]);
  return loopService("letters", {
    idleMs: LETTERS_IDLE_MS,
    log,
    metrics: metrics.loops,
    tick: whileInService(database, async (signal) => {
      const now = await readDatabaseClock(database);
      const letters = await claimLetters(database, { now, limit: LETTERS_PER_TURN });
      for (const letter of letters) {
        // What is left is due again when its claim has run out.
        if (signal.aborted) return "idle";
        const outcome = await sendLetter(house, letter);
        counts[outcome] = (counts[outcome] ?? 0) + 1;
      }
      return letters.length === LETTERS_PER_TURN ? "again" : "idle";
    }),
  });
}

async function sendLetter(house: House, letter: ClaimedLetter): Promise<"sent" | "failed" | "moot"> {
  const { database, log } = house;
  const written = await readLetter(database, letter, await readDatabaseClock(database));
  const result = written === null ? null : await sendBounceable(house, await asMail(house, letter, written));
  await settleLetter(database, letter, { result, now: await readDatabaseClock(database) });
  if (result === null) return "moot";
  if (result.kind === "failed") {
    log.warn(
      { letter: letter.uuid, kind: letter.kind, reason: result.reason },
      "an account email was not sent",
    );
  }
  return result.kind;
}

async function asMail(house: House, letter: ClaimedLetter, written: WrittenLetter): Promise<BounceableMail> {
  const { config, database } = house;
  const { to, accountUuid, facts } = written;
  const signing = await house.signing();
  const verify =
    facts.kind === "verification"
      ? `${config.siteUrl}/integrations/${facts.channel.uuid}/verify/${verificationToken(signing, { channelUuid: facts.channel.uuid, address: to })}/`
      : null;
  const unsubscribe =
    accountUuid === null
      ? null
      : `${config.siteUrl}/accounts/unsubscribe_reports/${reportsToken(signing, accountUuid)}/`;
  const rendered = letterMail(facts, {
    site: { name: config.siteName, url: config.siteUrl },
    address: to,
    links: { verify, unsubscribe, ...accountLinks(facts, { signing, siteUrl: config.siteUrl }) },
    now: await readDatabaseClock(database),
  });
  return {
    to,
    ...rendered,
    messageId: `<${letter.uuid}@${idDomain(house)}>`,
    ...(unsubscribe !== null && {
      headers: {
        "List-Unsubscribe": `<${unsubscribe}>`,
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
      },
    }),
    bounceId: `l.${letter.uuid}`,
  };
}

/** What letters about accounts lead to. Here, and not before, a row and the secret become a link. */
function accountLinks(
  facts: LetterFacts,
  { signing, siteUrl }: { signing: Signing; siteUrl: string },
): Pick<LetterLinks, "action" | "code"> {
  const page = (path: string) => ({ action: `${siteUrl}/accounts/${path}/`, code: null });
  switch (facts.kind) {
    case "signIn": {
      const purpose = facts.isNew ? "register" : "signIn";
      return page(`link/${linkToken(signing, { purpose, uuid: facts.uuid })}`);
    }
    case "changeEmail":
      return page(`change_email/${linkToken(signing, { purpose: "changeEmail", uuid: facts.uuid })}`);
    case "invitation":
      return page(`invitation/${linkToken(signing, { purpose: "invite", uuid: facts.uuid })}`);
    case "confirm":
      return { ...page("confirm"), code: confirmCode(signing, facts.uuid) };
    case "transfer":
      return { action: `${siteUrl}/projects/${facts.projectUuid}/settings/`, code: null };
    case "security":
      return page("profile");
    case "verification":
    case "unverified":
    case "disabled":
    case "report":
    case "reminder":
      return { action: null, code: null };
  }
}

/** Plans reports and reminders. */
function planLoop({ database, log, metrics }: House): Loop {
  return loopService("reports", {
    idleMs: PLAN_IDLE_MS,
    log,
    metrics: metrics.loops,
    tick: whileInService(database, async () => {
      const now = await readDatabaseClock(database);
      const { letters, isComplete } = await planReports(database, {
        now,
        drawMinute: () => randomInt(REPORT_MINUTES),
      });
      const reminders = await planReminders(database, { now });
      if (letters + reminders > 0) log.info({ reports: letters, reminders }, "reports and reminders planned");
      return isComplete ? "idle" : "again";
    }),
  });
}
