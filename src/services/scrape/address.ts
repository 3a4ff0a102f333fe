// Which paths are scraped, and where the key is that opens them. Pure.
import { isUuid } from "../../core/identity.ts";

/** The key in the path, or null where it has to come in a header. "closed": nobody gets in there by HTTP. */
export type ScrapeAddress = { key: string | null } | "closed";

/** What the reference server tells operators here stands on the admin port of each process instead. */
const INSTANCE_PATH = /^\/api\/v[123]\/metrics\/?$/;
/** The project in the path is not looked at: the key alone says which one it is. */
const PROJECT_PATH = /^\/projects\/(?<project>[^/]+)\/metrics(?:\/(?<key>[^/]*))?$/;
/** An older form of the same. */
const CHECKS_PATH = /^\/checks\/metrics\/(?<key>[^/]+)$/;

/** What a path below the site asks for; null when it is not for scrapers. */
export function decodeScrapePath(path: string): ScrapeAddress | null {
  if (INSTANCE_PATH.test(path)) return "closed";
  const named = PROJECT_PATH.exec(path)?.groups ?? CHECKS_PATH.exec(path)?.groups;
  if (named === undefined) return null;
  const { project, key = "" } = named;
  if (project !== undefined && !isUuid(project)) return null;
  return { key: key === "" ? null : key };
}
