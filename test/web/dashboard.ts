// The dashboard's tests: the cast of the API's tests with everybody signed in, and requests as a browser makes them.
import type { Role } from "../../src/core/access.ts";
import { openSession } from "../../src/operations/sessions.ts";
import type { Account } from "../../src/store/accounts.ts";
import { inTransaction } from "../../src/store/transaction.ts";
import { type Cast, type CastOptions, type Reply, useCast } from "../management/cast.ts";

export type Browsing = {
  method?: string;
  /** Who is signed in; null: nobody is. */
  as?: Account | null;
  /** Texts are sent as they are, everything else as JSON. */
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
};

export type Dashboard = Cast & {
  /** Asks as the owner's browser does, unless somebody else is named. */
  browse(path: string, given?: Browsing): Promise<Reply>;
  /** The headers of somebody's browser. */
  headersOf(account: Account | null): Promise<Record<string, string>>;
  /** Makes somebody a member of the owner's project. */
  join(account: Account, role: Role): Promise<void>;
};

/** Call at the top of a test file. */
export function useDashboard(options: CastOptions = {}): Dashboard {
  const cast = useCast({ roles: ["web", "api"], ...options });
  // Whoever asks many things at once signs in once: many at the same time would wait for each other.
  const tokens = new Map<number, Promise<string>>();
  const headersOf = async (account: Account | null): Promise<Record<string, string>> => {
    const origin = { Origin: cast.site, "Sec-Fetch-Site": "same-origin" };
    if (account === null) return origin;
    const token = tokens.get(account.id) ?? signIn(cast, account);
    tokens.set(account.id, token);
    return { ...origin, Cookie: `overdue_session=${await token}` };
  };
  const browse = async (path: string, { method = "GET", as, body, headers = {} }: Browsing = {}) => {
    const who = await headersOf(as === undefined ? cast.owner.account : as);
    const type = body === undefined ? {} : { "Content-Type": "application/json" };
    const given = body === undefined ? {} : { body };
    return cast.ask(path, { method, headers: { ...who, ...type, ...headers }, ...given });
  };
  const join = async (account: Account, role: Role) => {
    await cast.db.pool.query(
      `insert into members (project_id, account_id, role, created_at) values ($1, $2, $3, now())
        on conflict (project_id, account_id) do update set role = excluded.role`,
      [cast.owner.project.id, account.id, role],
    );
  };
  // The cast's own members are read when they are asked for, not before the stage is set.
  return Object.defineProperties(
    { browse, headersOf, join } as Dashboard,
    Object.getOwnPropertyDescriptors(cast),
  );
}

async function signIn(cast: Cast, account: Account): Promise<string> {
  const now = await cast.now();
  const { token } = await inTransaction(cast.db, (tx) =>
    openSession(tx, { accountId: account.id, method: "password", now, ua: "test", remoteAddr: null }),
  );
  return token;
}
