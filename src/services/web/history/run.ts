// One signal with everything that is known of it: what it carried, how that compares with the last success, and whom
// it caused to be told.
import { printable } from "../../../channels/words/clip.ts";
import type { Run, RunBody } from "../../../contract/web/history.ts";
import { AppError, ERROR_TEXT } from "../../../core/errors.ts";
import { type MailBounds, readMail } from "../../../lib/mail/bounded-mail.ts";
import { type ReadBody, readBody } from "../../../operations/bodies/read-body.ts";
import type { CheckWithState } from "../../../store/checks/checks.ts";
import { listFlips } from "../../../store/history/flips.ts";
import type { WebHouse } from "../house.ts";
import { type KeptPing, readLog } from "./kept-log.ts";
import { diffLines } from "./line-diff.ts";
import { readDeliveries, toldFlip } from "./told.ts";

/** More of a body is not shown, only downloaded. In characters. */
const SHOWN_TEXT_MAX = 200_000;
/** Whoever knows the address of a check sends what they like. More of a mail is shown as it came, only. */
export const SHOWN_MAIL_BOUNDS: MailBounds = {
  bytesMax: 1024 * 1024,
  linesMax: 2_000,
  headerBytesMax: 32 * 1024,
  nestingMax: 20,
};

/** The signal with a number; throws "not found" when the log does not keep it. */
export async function readRun(
  house: WebHouse,
  { check, n }: { check: CheckWithState; n: number },
): Promise<Run> {
  const log = await readLog(house, check);
  const index = log.findIndex((ping) => ping.n === n);
  const ping = log[index];
  if (ping === undefined) throw new AppError("not_found", ERROR_TEXT.notFound);
  const body = await shownBody(house, ping);
  const flips = await listFlips(house.database, { checkId: check.id, from: ping.at, before: ping.at + 1 });
  const flip = flips.find(({ reason }) => reason === ping.kind) ?? null;
  const { kind, at, durationMs, exitStatus, rid, scheme, method, remoteAddr, ua } = ping;
  return {
    n,
    kind,
    at,
    durationMs,
    exitStatus,
    rid,
    scheme,
    method,
    remoteAddr,
    ua,
    startAt: durationMs === null ? null : at - durationMs,
    body,
    diff: body === null ? null : await diffOf(house, { ping, body, older: log.slice(index + 1) }),
    flip: flip && toldFlip(flip),
    deliveries:
      flip === null
        ? []
        : await readDeliveries(house.database, { flipId: flip.id, projectId: check.projectId }),
    olderN: log[index + 1]?.n ?? null,
    newerN: log[index - 1]?.n ?? null,
  };
}

/** The bytes as they were sent, for a download; throws "not found" when there are none. */
export async function readRawBody(
  house: WebHouse,
  { check, n }: { check: CheckWithState; n: number },
): Promise<Buffer> {
  const ping = (await readLog(house, check)).find((one) => one.n === n);
  const read: ReadBody = ping === undefined ? { kind: "none" } : await bytesOf(house, ping);
  if (read.kind === "found") return read.body;
  if (read.kind === "none") throw new AppError("not_found", ERROR_TEXT.notFound);
  throw new AppError("unavailable", ERROR_TEXT.unavailable);
}

function bytesOf({ database, objects }: WebHouse, { checkId, n }: KeptPing): Promise<ReadBody> {
  return readBody(database, { objects, checkId, n });
}

async function shownBody(house: WebHouse, ping: KeptPing): Promise<RunBody | null> {
  if (ping.bodySize === null) return null;
  const read = await bytesOf(house, ping);
  if (read.kind === "none") return null;
  const empty = { text: null, plain: null, size: ping.bodySize, isBinary: false, trouble: null, mail: null };
  if (read.kind === "unavailable") return { ...empty, trouble: read.reason };
  const text = textOf(read.body);
  const mail = ping.scheme === "email" ? await decodedMail(read.body) : null;
  const shown = text?.slice(0, SHOWN_TEXT_MAX) ?? null;
  const plain = shown === null ? null : printable(shown);
  return { ...empty, text: shown, plain: plain === shown ? null : plain, isBinary: text === null, mail };
}

/** Null: bytes that are no text. A character that was cut in two at the end is no reason to doubt the rest. */
function textOf(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  return new TextDecoder("utf-8").decode(bytes);
}

async function decodedMail(bytes: Uint8Array): Promise<RunBody["mail"]> {
  const mail = await readMail(bytes, SHOWN_MAIL_BOUNDS);
  if (mail === null) return null;
  return {
    subject: mail.subject ?? "",
    from: mail.from?.address ?? "",
    text: printable((mail.text ?? "").slice(0, SHOWN_TEXT_MAX)),
    html: mail.html?.slice(0, SHOWN_TEXT_MAX) ?? null,
  };
}

async function diffOf(
  house: WebHouse,
  { ping, body, older }: { ping: KeptPing; body: RunBody; older: readonly KeptPing[] },
): Promise<Run["diff"]> {
  const success = older.find(({ kind, bodySize }) => kind === "success" && bodySize !== null);
  if (success === undefined || ping.kind === "start") return null;
  const against = await shownBody(house, success);
  const [before, after] = [shownText(against), shownText(body)];
  if (before === null || after === null) return null;
  return { againstN: success.n, againstAt: success.at, ...diffLines({ before, after }) };
}

/** What a reader sees of a body; null: nothing. */
function shownText(body: RunBody | null): string | null {
  return body?.mail?.text ?? body?.plain ?? body?.text ?? null;
}
