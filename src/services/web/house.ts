// What the dashboard's routes work with: handed in by the role, because settings are passed and never read here.
import type { PublicUrls } from "../../contract/urls.ts";
import type { Signing } from "../../core/alerts/mail-tokens.ts";
import type { ServiceState } from "../../core/machine/database-identity.ts";
import type { Instant } from "../../core/instant.ts";
import type { Sight } from "../../core/machine/deadline.ts";
import type { Log } from "../../lib/log.ts";
import type { ObjectStore } from "../../lib/object-store.ts";
import type { Reach } from "../../channels/config/address-warnings.ts";
import type { FoundSession } from "../../operations/accounts/sessions.ts";
import type { Database } from "../../store/db.ts";
import type { SignInHouse } from "./sign-in/sign-in-house.ts";
import type { SetUpParts } from "./set-up/set-up-parts.ts";
import type { LiveHub } from "./live/hub.ts";
import type { Assets } from "./shell/assets.ts";

/** Somebody who is signed in. */
export type Session = FoundSession;

/** What of a request tells who asks. */
export type Arrival = {
  cookies: Readonly<Record<string, string>>;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The other end of the connection. */
  peer: string | undefined;
  /** Where the request comes from, as far as proxies are believed. */
  remoteAddr: string | null;
  /** What tries are counted by: nobody can choose it. */
  network: string;
  ua: string;
  now: Instant;
};

export type WebHouse = {
  database: Database;
  urls: PublicUrls;
  site: { name: string; url: string };
  /** What stands behind the at sign of a check's mail address; null: signals by mail are not received. */
  mailDomain: string | null;
  version: string;
  /** Whether addresses of mail channels are asked before they are written to. */
  mailVerification: boolean;
  /** How far messages get, to warn whoever types an address that nothing will reach. */
  destinations: Reach;
  /** The limit of an account that has none of its own; null means without limit. */
  checkLimitDefault: number | null;
  /** How many pings of a check are kept and listed, unless its account has a limit of its own. */
  pingLogLimit: number;
  /** How many signals of a check are logged in a minute. */
  signalsPerMinute: number;
  /** How far we have seen, as of a moment ago. */
  sight: () => Sight;
  /** What badge addresses are signed with. */
  secretKey: string;
  /** What links in mails are signed with. */
  signing: Signing;
  /** Where large bodies lie; null: all are in the database. */
  objects: Pick<ObjectStore, "get"> | null;
  /** Who asks, if anybody is signed in, and the cookies to be set because of that. */
  resolveSession(of: Arrival): Promise<{ session: Session | null; setCookies: readonly string[] }>;
  /** What signing in works with. */
  signIn: SignInHouse;
  /** What setting up works with. */
  setUp: SetUpParts;
  /** Everybody who watches a project in this process. */
  live: LiveHub;
  /** The database's clock, or close to it. */
  now: () => Instant;
  /** The files of the browser's part. */
  assets: Assets;
  /** Whether this database is in service, or a restored copy that sends nothing. */
  serviceState: () => ServiceState;
  /** Our own delay from a missed deadline to the delivered alert; null: there was none to measure. */
  alertDelayMs(now: Instant): Promise<number | null>;
  log: Log;
};
