// Every function that reads text from outside: requests, mails, answers of other servers, pasted text. To add one, add a
// line. `lengthMax` is the limit that its callers enforce before they call it, in characters; without it the function
// itself has to cope with a megabyte.
import { isAckNonce, readAckToken } from "../../src/core/ack-link.ts";
import { parseIncidentKey } from "../../src/core/incident.ts";
import { hostOf, readAddress, readConfig, readHeaders } from "../../src/channels/channel-config.ts";
import { interpret, jsonOf } from "../../src/channels/http-request.ts";
import { clipEnd, clipStart, oneLine, printable } from "../../src/channels/message-text.ts";
import { addressWarnings, kindNamed, KINDS, reachOf } from "../../src/channels/registry.ts";
import { exampleMessage } from "../../src/channels/sender.ts";
import { telegramAnswer } from "../../src/channels/kinds/telegram.ts";
import {
  fill,
  fillAddress,
  fillHeader,
  isWebhookSecret,
  placeholderValues,
  TooMuchError,
} from "../../src/channels/kinds/webhook.ts";
import { checkBodySchema, readCheckRequest } from "../../src/contract/check.ts";
import { VERSIONS } from "../../src/contract/versions.ts";
import { readDuration, readInteger, readText, readTime, readUuid } from "../../src/import/source-value.ts";
import { naturalKey } from "../../src/contract/api/check-row.ts";
import { checkRoutes } from "../../src/contract/api/checks.ts";
import { validateBody } from "../../src/contract/api/validate.ts";
import { badgeLabel, parseSignatureSegment, tagsOfSegment } from "../../src/core/badge.ts";
import { resolveChannels } from "../../src/core/channel.ts";
import { DEFAULT_SETTINGS, isCheckWanted, readFlipFilter, readListFilter } from "../../src/core/check.ts";
import { parseDuration } from "../../src/core/duration-text.ts";
import { bounceVerdict, readBounceLocalPart } from "../../src/core/email.ts";
import { hasSlugCharacters, isUuid, slugify, splitTags, withTag } from "../../src/core/identity.ts";
import {
  API_BODY_BYTES_MAX,
  CRONTAB_LENGTH_MAX,
  NAME_LENGTH_MAX,
  SCHEDULE_LENGTH_MAX,
  TAGS_LENGTH_MAX,
} from "../../src/core/limits.ts";
import { readCronJobs } from "../../src/core/cron-job.ts";
import { readTimers } from "../../src/core/systemd-timer.ts";
import { withPingBase, withReports, withWrappers } from "../../src/core/schedule/crontab-lines.ts";
import { readCrontab } from "../../src/core/schedule/crontab.ts";
import { jobName } from "../../src/core/schedule/job-name.ts";
import { detectKind, isValidSchedule, parseSchedule } from "../../src/core/schedule/schedule.ts";
import { shortScheduleText } from "../../src/core/schedule/wording.ts";
import { isZone } from "../../src/core/schedule/zone.ts";
import {
  countedAddress,
  passwordProblem,
  readDevice,
  readTypedCode,
  safeNext,
} from "../../src/core/sign-in.ts";
import {
  classifyEmail,
  mailboxTarget,
  parseExitStatus,
  parseLateEnd,
  parseRunId,
} from "../../src/core/signal.ts";
import { byteBudget, isBeyondBounds } from "../../src/lib/http/body.ts";
import { certainAddressReader, clientAddressReader, networkOf } from "../../src/lib/http/client-address.ts";
import { escapeHtml } from "../../src/lib/http/html.ts";
import { hostMatcher, requestTarget, sitePath } from "../../src/lib/http/request-target.ts";
import { secretRemover } from "../../src/lib/secret-remover.ts";
import { readDeliveryStatus, readMail } from "../../src/lib/mail-reader.ts";
import { smtpFailureOf } from "../../src/lib/mail-sender.ts";
import { nearestName } from "../../src/lib/nearest-name.ts";
import {
  foreseenRefusal,
  isAllowedAddress,
  isLiteralAddress,
  outgoingErrorOf,
} from "../../src/lib/outgoing-http.ts";
import { explainConnection } from "../../src/lib/postgres-error.ts";
import { addressIn, senderKind } from "../../src/lib/setting-value.ts";
import { badgeDocument, decodeBadgePath } from "../../src/services/management/badges.ts";
import { decodePrometheusPath } from "../../src/services/management/prometheus.ts";
import { namingOf, parseBody } from "../../src/services/management/respond.ts";
import { decodePing, settingsIn } from "../../src/services/ping/ping-url.ts";
import { htmlText, MailDecoder } from "../../src/services/smtp/decode.ts";
import { MailCollector } from "../../src/services/smtp/receive.ts";
import { decodeStatusPath, isTwilioSignature, reportedFailure } from "../../src/channels/kinds/twilio.ts";
import { TWILIO_FORM_BYTES_MAX } from "../../src/services/web/twilio-status.ts";
import { decodeAckPath } from "../../src/services/web/ack.ts";
import { decodeWebPath } from "../../src/services/web/mail-pages.ts";
import { encodingFor } from "../../src/lib/http/compress.ts";
import { originProblem } from "../../src/lib/http/same-origin.ts";
import { readBody } from "../../src/services/web/respond.ts";
import { pathNumber } from "../../src/services/web/route.ts";
import { idempotencyKey, ifMatch, numberParam } from "../../src/services/api/params.ts";
import { diffLines, SHOWN_MAIL_BOUNDS } from "../../src/services/api/runs.ts";
import { readCookies } from "../../src/lib/http/cookies.ts";
import { explainMiss, explainUnmatched } from "../../src/services/api/check-setup.ts";
import { sampleChannel, sampleSender } from "../channels/sample-kinds.ts";
import { DOWN, GROUP_DOWN, NOW } from "../channels/sample-messages.ts";

export type HostileParser = {
  name: string;
  /** May throw or return a promise: how long it takes is what is looked at. */
  read: (text: string) => unknown;
  lengthMax?: number;
};

const SITE = new URL("https://overdue.example.org/a");
const UUID = "31365bce-8da9-4729-8ff3-aaa71d56b712";
/** Request lines and headers, by the option of the HTTP parser (`src/lib/http/listener.ts`). */
const HEADERS_LENGTH_MAX = 16 * 1024;
/** Answers to outgoing requests (`src/lib/outgoing-http.ts`). */
const ANSWER_LENGTH_MAX = 64 * 1024;
/** Of a body that is shown (`src/services/api/runs.ts`). */
const SHOWN_LENGTH_MAX = 200_000;

const bytes = (text: string) => Buffer.from(text);
const answer = (text: string) => ({ status: 500, headers: { "retry-after": text }, text });
const isTrusted = { trusted: ["10.0.0.0/8"], peer: "10.0.0.1" };
const clientOf = clientAddressReader(isTrusted.trusted, { schemeLengthMax: 10 });
const certainOf = certainAddressReader(isTrusted.trusted);
const signing = { isSame: (a: string, b: string) => a === b, sign: (text: string) => text, previous: null };
const webhook = kindNamed("webhook") ?? KINDS[0];
const values = placeholderValues(DOWN, { checkJson: () => ({}), isBody: true });
const filled = (work: () => unknown) => {
  try {
    return work();
  } catch (error) {
    if (error instanceof TooMuchError) return null;
    throw error;
  }
};

/** A message as the SMTP server handles it: collected in pieces, cut, decoded and searched. */
async function receive(message: string): Promise<unknown> {
  const collector = new MailCollector({ keepBytes: 1024 * 1024, budget: byteBudget(64 * 1024 * 1024) });
  const whole = bytes(message);
  for (let at = 0; at < whole.length; at += 65_536) collector.add(whole.subarray(at, at + 65_536));
  const { searched } = collector.finish({ keepBytes: 1024 * 1024 });
  const { subject, text } = await new MailDecoder().decode(searched);
  const settings = { ...DEFAULT_SETTINGS, filterSubject: true, filterBody: true, failureKw: "FAILED" };
  return classifyEmail({ subject, body: text }, settings);
}

/** A mail whose given part is the hostile text. */
const MAIL_SHAPES: Readonly<Record<string, (text: string) => string>> = {
  "the whole mail": (text) => text,
  "a header": (text) => `X: ${text}\r\nSubject: a\r\n\r\nb`,
  "the subject": (text) => `Subject: ${text}\r\n\r\nb`,
  "an encoded subject": (text) => `Subject: =?utf-8?Q?a?= ${text}\r\n\r\nb`,
  "the recipient": (text) => `To: ${text}\r\n\r\nb`,
  "the content type": (text) => `Content-Type: ${text}\r\n\r\nb`,
  "a parameter of the content type": (text) => `Content-Type: text/plain; ${text}\r\n\r\nb`,
  "the boundary": (text) => `Content-Type: multipart/mixed; boundary="${text}"\r\n\r\n--${text}\r\n\r\nb`,
  "the encoding": (text) => `Content-Transfer-Encoding: ${text}\r\n\r\nb`,
  "a plain text": (text) => `Subject: a\r\n\r\n${text}`,
  "a flowed text": (text) => `Content-Type: text/plain; format=flowed; delsp=yes\r\n\r\n${text}`,
  "an HTML text": (text) => `Content-Type: text/html; charset=utf-8\r\n\r\n${text}`,
  "a quoted-printable HTML text": (text) =>
    `Content-Type: text/html\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n${text}`,
  "a base64 HTML text": (text) =>
    `Content-Type: text/html\r\nContent-Transfer-Encoding: base64\r\n\r\n${bytes(text).toString("base64")}`,
  "base64 in a comment": (text) => `Content-Transfer-Encoding: bas(a)e64\r\n\r\n${text}`,
  "base64 that is none": (text) => `Content-Transfer-Encoding: base64\r\n\r\n${text}`,
  parts: (text) => `Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n${text}\r\n--b--`,
  "a report": (text) =>
    `Content-Type: multipart/report; boundary=b\r\n\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\n${text}\r\n--b--`,
};

export const PARSERS: readonly HostileParser[] = [
  // Requests: targets, headers, bodies.
  { name: "requestTarget: target", read: (text) => requestTarget(`http://${text}`, undefined) },
  { name: "requestTarget: host", read: (text) => requestTarget("/", text) },
  { name: "sitePath", read: (text) => sitePath(SITE)(`/a/${text}`) },
  { name: "hostMatcher", read: (text) => hostMatcher(new URL("https://ping.example.org"), SITE)(text) },
  { name: "decodePing", read: decodePing },
  { name: "decodePing: query", read: (text) => decodePing(`${UUID}?${text}`) },
  {
    name: "decodeBadgePath",
    read: (text) => decodeBadgePath(`/badge/${text}`),
    lengthMax: HEADERS_LENGTH_MAX,
  },
  {
    name: "decodeBadgePath: tag",
    read: (text) => decodeBadgePath(`/badge/${UUID}/abcdefgh/${text}.svg`),
    lengthMax: HEADERS_LENGTH_MAX,
  },
  { name: "decodeScrapePath", read: (text) => decodePrometheusPath(`/projects/${text}/metrics`) },
  { name: "decodeWebPath", read: (text) => decodeWebPath(`/integrations/${text}`) },
  {
    name: "decodeStatusPath",
    read: (text) => decodeStatusPath(`/integrations/twilio/status/${text}`),
  },
  {
    name: "isTwilioSignature",
    read: (text) => isTwilioSignature(text, { authToken: text, url: "", fields: new URLSearchParams(text) }),
    lengthMax: TWILIO_FORM_BYTES_MAX,
  },
  {
    name: "reportedFailure",
    read: (text) => reportedFailure(new URLSearchParams({ ErrorCode: text, MessageStatus: "failed" })),
  },
  { name: "decodeAckPath", read: (text) => decodeAckPath(`/ack/${text}`) },
  { name: "readAckToken", read: (text) => readAckToken(signing, text) },
  {
    name: "isAckNonce",
    read: (text) =>
      isAckNonce(text, {
        signing,
        form: { link: { incidentId: 1, channelId: 1 }, action: "acknowledge" },
        now: 0,
      }),
  },
  { name: "parseIncidentKey", read: parseIncidentKey },
  { name: "namingOf", read: namingOf },
  { name: "pathNumber", read: pathNumber },
  { name: "isUuid", read: isUuid },
  { name: "readUuid", read: readUuid },
  { name: "readTime", read: readTime },
  { name: "readText", read: readText },
  { name: "readInteger", read: readInteger },
  { name: "readDuration", read: readDuration },
  { name: "parseRunId", read: parseRunId },
  { name: "parseLateEnd", read: (text) => parseLateEnd({ at: text, ran: text }) },
  { name: "parseDuration", read: parseDuration },
  {
    name: "settingsIn",
    read: (text) =>
      ["name", "schedule", "tz", "grace"].map((name) => settingsIn(`/?${name}=${text}&${text}`)),
    lengthMax: HEADERS_LENGTH_MAX,
  },
  { name: "parseExitStatus", read: parseExitStatus },
  { name: "parseSignatureSegment", read: parseSignatureSegment },
  { name: "tagsOfSegment", read: tagsOfSegment },
  {
    name: "clientAddressReader",
    read: (text) => clientOf({ peer: isTrusted.peer, forwardedFor: text, forwardedProto: text }),
  },
  { name: "certainAddressReader", read: (text) => certainOf({ peer: isTrusted.peer, forwardedFor: text }) },
  {
    name: "certainAddressReader: trusted",
    read: (text) => certainOf({ peer: isTrusted.peer, forwardedFor: `${text},10.0.0.2`.repeat(3) }),
  },
  { name: "networkOf", read: networkOf },
  { name: "readCookies", read: readCookies, lengthMax: HEADERS_LENGTH_MAX },
  { name: "encodingFor", read: encodingFor, lengthMax: HEADERS_LENGTH_MAX },
  {
    name: "originTrouble",
    read: (origin) => originProblem({ origin, host: origin, "x-forwarded-host": origin }, SITE),
  },
  { name: "ifMatch", read: (text) => ifMatch({ "if-match": text }) },
  { name: "idempotencyKey", read: (text) => idempotencyKey({ "idempotency-key": text }) },
  { name: "numberParam", read: numberParam },
  { name: "readFlipFilter", read: (text) => readFlipFilter([["seconds", text]], NOW) },
  {
    name: "readListFilter",
    read: (text) => {
      const pairs = text.split(" ").map((tag) => ["tag", tag] as const);
      return isCheckWanted({ slug: "", tags: "a b c" }, readListFilter(pairs, { bySlug: true }));
    },
    lengthMax: HEADERS_LENGTH_MAX,
  },
  { name: "URLSearchParams", read: (text) => [...new URLSearchParams(text)], lengthMax: 32 * 1024 },
  {
    name: "isBeyondBounds",
    read: (text) => isBeyondBounds(bytes(text), { valuesMax: 10_000, nestingMax: 100 }),
  },
  { name: "parseBody", read: (text) => parseBody(bytes(text)) },
  {
    name: "parseBody: text",
    read: (text) => parseBody(bytes(JSON.stringify({ name: text }))),
    // Each character may be written as six.
    lengthMax: API_BODY_BYTES_MAX / 6,
  },
  { name: "readBody: JSON", read: (text) => readBody({ body: bytes(text), headers: {} }) },
  {
    name: "readBody: form",
    read: (text) =>
      readBody({ body: bytes(text), headers: { "content-type": "application/x-www-form-urlencoded" } }),
  },
  ...(["name", "slug", "tags", "desc", "schedule", "tz", "channels", "methods"] as const).map((field) => ({
    name: `readCheckRequest: ${field}`,
    read: (text: string) => {
      const rules = VERSIONS.standard[3].params;
      return readCheckRequest({ [field]: text }, { schema: checkBodySchema(rules), rules });
    },
  })),
  ...(["name", "slug", "tags", "desc", "schedule", "tz", "failureKw"] as const).map((field) => ({
    name: `judgeBody: ${field}`,
    read: (text: string) => validateBody(checkRoutes.createCheck.body, { [field]: text }),
  })),
  {
    name: "explainMiss",
    read: (target) =>
      explainMiss({ method: "GET", target }, { uuid: UUID, slug: "a", pingKey: "b", pingPath: "/ping" }),
    lengthMax: HEADERS_LENGTH_MAX,
  },
  {
    name: "explainStranger",
    read: (target) => explainUnmatched({ method: "GET", target }, "/ping"),
    lengthMax: HEADERS_LENGTH_MAX,
  },

  // Fields of checks, and what is derived from them.
  { name: "slugify", read: slugify, lengthMax: NAME_LENGTH_MAX },
  { name: "hasSlugCharacters", read: hasSlugCharacters },
  { name: "splitTags", read: splitTags },
  { name: "withTag", read: (text) => withTag(text, { tag: "a", isOn: true }) },
  { name: "resolveChannels", read: (text) => resolveChannels(text, [{ uuid: UUID, name: "a" }]) },
  { name: "naturalKey", read: naturalKey, lengthMax: NAME_LENGTH_MAX },
  {
    name: "badgeDocument",
    read: (text) =>
      badgeDocument("svg", {
        label: badgeLabel({ of: "tag", tag: text }),
        summary: { status: "up", total: 1, grace: 0, down: 0 },
      }),
    lengthMax: TAGS_LENGTH_MAX,
  },
  { name: "mailboxTarget", read: mailboxTarget },
  { name: "isZone", read: isZone },
  { name: "detectKind", read: detectKind },
  { name: "isValidSchedule", read: (text) => isValidSchedule(text, { oncalendar: true }) },
  { name: "parseSchedule", read: (text) => parseSchedule({ text, tz: "UTC" }) },
  {
    name: "expectedInShort",
    read: (schedule) => shortScheduleText({ kind: "oncalendar", timeoutSeconds: 60, schedule, tz: "UTC" }),
    lengthMax: SCHEDULE_LENGTH_MAX,
  },
  ...["", "* * * * * ", "CRON_TZ=", "#", "@daily ", "* * * * * a & "].map((head) => ({
    name: `readCrontab, withReports: ${head || "whole"}`,
    read: (text: string) => {
      const { jobs } = readCrontab(head + text, { hasUsers: "guess" });
      withWrappers(head + text, new Map(jobs.map((job) => [job.line, { job, wrapper: "x" }])), {
        ownStatus: true,
      });
      return withReports(
        head + text,
        new Map(jobs.map(({ line, command }) => [line, { command, report: "x" }])),
      );
    },
    lengthMax: CRONTAB_LENGTH_MAX,
  })),
  { name: "jobName", read: jobName },
  { name: "withPingBase", read: (text) => withPingBase(text, { from: "https://hc-ping.com", to: text }) },
  { name: "readTimers", read: (text) => readTimers(`Id=a.timer\nUnit=a.service\n${text}`, { tz: "UTC" }) },
  {
    name: "readCronJobs",
    read: (schedule) => readCronJobs({ kind: "CronJob", spec: { schedule } }),
  },
  {
    name: "parseCron line of many",
    read: (text) => readCrontab(`0 1 * * * ${text}\n`.repeat(2), { hasUsers: "guess" }),
    lengthMax: CRONTAB_LENGTH_MAX / 2,
  },

  // Signing in.
  { name: "readTypedCode", read: readTypedCode },
  { name: "passwordProblem", read: (text) => passwordProblem(text, { email: text }) },
  { name: "countedAddress", read: countedAddress },
  { name: "safeNext", read: safeNext },
  {
    name: "readDevice",
    read: (text) => readDevice(text, { signing, accountId: 1, knownFromAt: null, now: NOW }),
  },
  { name: "readBounceLocalPart", read: readBounceLocalPart },
  { name: "bounceVerdict", read: bounceVerdict },

  // Mail.
  { name: "htmlText", read: htmlText, lengthMax: 256 * 1024 },
  ...Object.entries(MAIL_SHAPES).flatMap(([part, shape]) => [
    { name: `MailCollector, MailDecoder: ${part}`, read: (text: string) => receive(shape(text)) },
    { name: `readMail: ${part}`, read: (text: string) => readMail(bytes(shape(text)), SHOWN_MAIL_BOUNDS) },
  ]),
  ...(["a report", "the recipient", "base64 that is none"] as const).map((part) => ({
    name: `readDeliveryStatus: ${part}`,
    read: (text: string) => readDeliveryStatus(bytes(MAIL_SHAPES[part]?.(text) ?? text)),
  })),
  { name: "senderKind", read: (text) => senderKind.parse(text) },
  { name: "addressIn", read: addressIn },

  // Channels: configurations, templates, and the answers of receivers.
  { name: "readHeaders", read: (text) => readHeaders(text, { countMax: 30 }) },
  { name: "readAddress", read: readAddress },
  { name: "hostOf", read: hostOf },
  { name: "isWebhookSecret", read: isWebhookSecret },
  {
    name: "readConfig: a field",
    read: (text) => webhook && readConfig(webhook, { [text]: text }, { strict: true }),
  },
  ...KINDS.flatMap((kind) =>
    Object.keys(kind.schema.properties).map((field) => ({
      name: `readConfig: ${kind.name} ${field}`,
      read: (text: string) => readConfig(kind, { [field]: text }, { strict: true }),
    })),
  ),
  {
    name: "addressWarnings",
    read: (text) =>
      addressWarnings(
        { kind: "webhook", config: { url_down: `https://${text}` } },
        reachOf({ allowPrivateAddresses: false, smtpHost: null }),
      ),
    lengthMax: 1_000,
  },
  { name: "fill", read: (text) => filled(() => fill(text, values)), lengthMax: 10_000 },
  { name: "fillAddress", read: (text) => filled(() => fillAddress(text, values)), lengthMax: 1_000 },
  { name: "fillHeader", read: (text) => filled(() => fillHeader(text, values)), lengthMax: 1_000 },
  {
    name: "interpret",
    read: (text) => interpret(answer(text), { summary: "", now: NOW }),
    lengthMax: ANSWER_LENGTH_MAX,
  },
  { name: "jsonOf", read: (text) => jsonOf(answer(text)), lengthMax: ANSWER_LENGTH_MAX },
  { name: "telegramAnswer", read: (text) => telegramAnswer(answer(text)), lengthMax: ANSWER_LENGTH_MAX },
  ...KINDS.filter(({ name }) => name !== "group" && name !== "email").map(({ name }) => ({
    name: `a message about it by ${name}`,
    read: (text: string) => {
      const sender = sampleSender({ http: { send: async () => answer(text.slice(0, ANSWER_LENGTH_MAX)) } });
      const { check, lastPing } = DOWN;
      const settings = {
        ...check.settings,
        name: text.slice(0, NAME_LENGTH_MAX),
        desc: text,
        tags: text.slice(0, 500),
      };
      const message = {
        ...DOWN,
        check: { ...check, settings },
        lastPing: lastPing && { ...lastPing, body: text },
      };
      return sender.send(sampleChannel(name), message, { dedupeKey: UUID, attempt: 1, now: NOW });
    },
    lengthMax: 100_000,
  })),
  ...KINDS.filter(({ name }) => name !== "group" && name !== "email").map(({ name }) => ({
    name: `a message about several checks by ${name}`,
    read: (text: string) => {
      const sender = sampleSender({ http: { send: async () => answer("") } });
      const opened = GROUP_DOWN.opened.map(({ uuid }) => ({ uuid, name: text.slice(0, NAME_LENGTH_MAX) }));
      const message = { ...GROUP_DOWN, opened, key: { kind: "tag", value: text } } as const;
      return sender.send(sampleChannel(name), message, { dedupeKey: UUID, attempt: 1, now: NOW });
    },
    lengthMax: 500,
  })),
  {
    name: "exampleMessage",
    read: (text) =>
      exampleMessage(
        { kind: "test", at: NOW, projectName: text, channel: { uuid: UUID, kind: "webhook", name: text } },
        { uuid: UUID, direction: "down" },
      ),
  },
  { name: "printable", read: printable },
  { name: "oneLine", read: oneLine },
  { name: "clipStart", read: (text) => clipStart(text, 100) },
  { name: "clipEnd", read: (text) => clipEnd(text, 100) },
  {
    name: "isAllowedAddress",
    read: (text) => isAllowedAddress(text, { allowPrivate: false }),
    lengthMax: 1_000,
  },
  { name: "isLiteralAddress", read: isLiteralAddress, lengthMax: 1_000 },
  {
    name: "foreseenTrouble",
    read: (text) => {
      const url = URL.parse(`https://${text}`);
      return url && foreseenRefusal(url, { allowPrivate: false });
    },
    lengthMax: 1_000,
  },
  {
    name: "outgoingErrorOf",
    read: (text) => outgoingErrorOf(Object.assign(new Error(text), { code: text })),
  },
  {
    name: "troubleOf",
    read: (text) =>
      smtpFailureOf(
        { response: text, responseCode: 550, command: "RCPT TO" },
        { isHandedOver: false, secrets: ["hunter2"] },
      ),
  },

  // What is shown and logged.
  {
    name: "diffLines",
    read: (text) => diffLines({ before: `a${text}`, after: `${text}b` }),
    lengthMax: SHOWN_LENGTH_MAX,
  },
  { name: "escapeHtml", read: escapeHtml, lengthMax: SHOWN_LENGTH_MAX },
  {
    name: "secretRemover",
    read: secretRemover({ secrets: ["hunter2"], secretPatterns: [/odw_[0-9A-Za-z]{28}/g] }),
  },
  {
    name: "explainConnection",
    read: (text) => explainConnection(Object.assign(new Error(text), { code: "ECONNREFUSED" })),
  },
  { name: "nearestName", read: (text) => nearestName(text, ["OVERDUE_SITE_URL", "OVERDUE_SITE_NAME"]) },
];
