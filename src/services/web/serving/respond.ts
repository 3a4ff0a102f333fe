// From a request to its answer, in one order for all routes: origin, session, what the path names, access, query,
// body, and only then the route itself. Whatever is thrown becomes a sentence.
import type { FastifyRequest } from "fastify";
import { judgeBody, judgeQuery, type Judged } from "../../../contract/web/requests/judge.ts";
import type { WebTrouble } from "../../../contract/web/boot.ts";
import { AppError, type ErrorCode, HTTP_STATUS } from "../../../core/errors.ts";
import type { ConcurrencyByKey } from "../../../lib/concurrency-by-key.ts";
import { type certainAddressReader, networkOf } from "../../../lib/http/client-address.ts";
import type { LimitedWarning } from "../../../lib/log.ts";
import { isDatabaseAway } from "../../../store/errors.ts";
import type { Arrival, Session, WebHouse } from "../house.ts";
import { type Asking, type WebAnswer, WebRefusal, type WebRoute } from "../route.ts";
import { readBody } from "./body.ts";
import { readCookies } from "./cookies.ts";
import { lookUp, ReauthError, SignInError } from "./lookup.ts";
import { originTrouble } from "./same-origin.ts";
import { refusalAnswer } from "./send.ts";
import { sentenceOf } from "./sentence.ts";

export type RespondParts = {
  house: WebHouse;
  siteUrl: URL;
  addressOf: ReturnType<typeof certainAddressReader>;
  /** By account. */
  requests: ConcurrencyByKey;
  /** While the database is away every request fails in the same way. */
  warnAway: LimitedWarning;
};

type Asked = { route: WebRoute; request: FastifyRequest };

/** Answers a request by its route, whatever happens. */
export async function respond(parts: RespondParts, { route, request }: Asked): Promise<WebAnswer> {
  try {
    const { siteUrl } = parts;
    if (route.method !== "GET" && route.fromAnywhere !== true) demandOrigin(request, siteUrl);
    const arrival = arrivalOf(parts, request);
    const { session, setCookies } = await parts.house.resolveSession(arrival);
    const work = async () => route.answer(await asking(parts, { route, request, arrival, session }));
    const answer = session === null ? await work() : await ofAccount(parts, session, work);
    return setCookies.length === 0
      ? answer
      : { ...answer, cookies: [...setCookies, ...(answer.cookies ?? [])] };
  } catch (error) {
    return answerTo(error, { parts, isPage: isPagePath(request.url), url: request.url, name: route.name });
  }
}

/** A request that has not begun by then is refused. */
const ACCOUNT_WAIT_MS_MAX = 30_000;

/** Few requests of one account are answered at a time. */
async function ofAccount(
  { requests }: RespondParts,
  { account }: Session,
  work: () => Promise<WebAnswer>,
): Promise<WebAnswer> {
  const end = await requests.begin(String(account.id), { withinMs: ACCOUNT_WAIT_MS_MAX });
  if (end === null) throw new WebRefusal("rate_limited", "Too many open requests. Try again in a moment.");
  try {
    return await work();
  } finally {
    end();
  }
}

/** Scripts ask below this path; everything else is looked at by people. */
export function isPagePath(url: string): boolean {
  return !url.startsWith("/web/");
}

function arrivalOf({ house, addressOf }: RespondParts, { raw }: FastifyRequest): Arrival {
  const { headers, socket } = raw;
  const peer = socket.remoteAddress;
  // What is shown of a session, too: whoever breaks in must not be able to come from the owner's address.
  const address = addressOf({ peer, forwardedFor: headers["x-forwarded-for"] });
  return {
    cookies: readCookies(headers.cookie),
    headers,
    peer,
    remoteAddr: address === "" ? null : address,
    network: networkOf(address),
    ua: headers["user-agent"] ?? "",
    now: house.now(),
  };
}

async function asking(
  { house }: RespondParts,
  { route, request, arrival, session }: Asked & { arrival: Arrival; session: Session | null },
): Promise<Asking> {
  const params = request.params as Record<string, string>;
  const found = await lookUp(house, { route, params, session });
  const queryAt = request.url.indexOf("?");
  const search = new URLSearchParams(queryAt === -1 ? "" : request.url.slice(queryAt + 1));
  return {
    house,
    ...found,
    ...arrival,
    remoteAddr: arrival.remoteAddr ?? "",
    params,
    query: route.query === undefined ? {} : judged(judgeQuery(route.query, search)),
    body: route.body === undefined ? null : judged(judgeBody(route.body, readBody(request) ?? {})),
    url: request.url,
  };
}

function demandOrigin({ raw }: FastifyRequest, siteUrl: URL): void {
  const one = (name: string) => {
    const value = raw.headers[name];
    return Array.isArray(value) ? value[0] : value;
  };
  const trouble = originTrouble(
    {
      origin: one("origin"),
      host: one("host"),
      forwardedHost: one("x-forwarded-host"),
      fetchSite: one("sec-fetch-site"),
    },
    siteUrl,
  );
  if (trouble !== null) throw new WebRefusal("forbidden", trouble);
}

function judged(verdict: Judged): unknown {
  if (verdict.ok) return verdict.value;
  throw new WebRefusal("invalid", verdict.error, verdict.field ?? null);
}

type Thrown = {
  parts: Pick<RespondParts, "house" | "warnAway">;
  isPage: boolean;
  url: string;
  /** Of the route, for the log. */
  name: string | null;
};

const SORRY = "Something went wrong on our side. Try again in a few minutes.";

/** What is answered to whatever was thrown. */
export function answerTo(error: unknown, { parts, isPage, url, name }: Thrown): WebAnswer {
  const { site, log } = parts.house;
  if (error instanceof SignInError && isPage) {
    return { redirect: `/accounts/login/?next=${encodeURIComponent(url)}` };
  }
  if (error instanceof ReauthError && isPage) {
    return { redirect: `/accounts/confirm/?next=${encodeURIComponent(url)}` };
  }
  const refused = (code: ErrorCode, trouble: WebTrouble) =>
    refusalAnswer({ status: HTTP_STATUS[code], trouble, isPage }, site);
  if (error instanceof SignInError) return refused("unauthenticated", { error: error.message });
  if (error instanceof ReauthError) return refused("forbidden", { error: error.message, reauth: true });
  if (error instanceof WebRefusal) {
    const { code, message, field, conflict } = error;
    return refused(code, {
      error: message,
      ...(field !== null && { field }),
      ...(conflict !== null && { conflict }),
    });
  }
  if (error instanceof AppError) return refused(error.code, { error: sentenceOf(error.message) });
  if (isDatabaseAway(error)) {
    parts.warnAway({ err: error, route: name }, "dashboard request failed: database unavailable");
    return refused("unavailable", { error: SORRY });
  }
  const status = clientStatusOf(error);
  if (status !== null) {
    const said = status === 413 ? "The request is too large." : "The request is malformed.";
    return refusalAnswer({ status, trouble: { error: said }, isPage }, site);
  }
  log.error({ err: error, route: name }, "dashboard request failed");
  return refused("internal", { error: SORRY });
}

/** What the framework itself refuses: a body that is too large, an address that cannot be decoded. */
function clientStatusOf(error: unknown): number | null {
  if (!(error instanceof Error) || !("statusCode" in error) || !("code" in error)) return null;
  const { statusCode, code } = error;
  const isOurs = typeof code === "string" && code.startsWith("FST_");
  return isOurs && typeof statusCode === "number" && statusCode >= 400 && statusCode < 500
    ? statusCode
    : null;
}
