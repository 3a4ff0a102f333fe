// Which route a path of our own API means, and what it names. Pure.
import { OWN_API_PATH, OWN_ROUTES, type OwnRoute } from "../../contract/own/routes.ts";
import { isUuid } from "../../core/identity.ts";

export type Located = {
  /** The routes of the path, one for each of its methods; none where nothing is. */
  routes: readonly OwnRoute[];
  channel: string;
  delivery: number;
};

/** Everything below it is ours, whether or not something is there. */
const PREFIX = OWN_API_PATH.replace(/\/v1$/, "");

/** Whether a path, below the site, belongs to this API. */
export function isOwnPath(path: string): boolean {
  return path === PREFIX || path.startsWith(`${PREFIX}/`);
}

const PATTERNS = [...Map.groupBy(OWN_ROUTES, ({ path }) => path)].map(([path, routes]) => ({
  pattern: new RegExp(`^${OWN_API_PATH}${path.replace(/\{(\w+)\}/g, "(?<$1>[^/]+)")}/?$`),
  routes,
}));

/** A number of a delivery as we print it. */
const DELIVERY = /^[1-9]\d{0,14}$/;

/** What a path, below the site and without its query, stands for. A slash more at its end does not matter. */
export function locateOwn(path: string): Located {
  for (const { pattern, routes } of PATTERNS) {
    const match = pattern.exec(path);
    if (match === null) continue;
    const { channel = "", delivery = "" } = match.groups ?? {};
    // What cannot be a name names nothing.
    if (channel !== "" && !isUuid(channel)) break;
    if (delivery !== "" && !DELIVERY.test(delivery)) break;
    return { routes, channel, delivery: delivery === "" ? 0 : Number(delivery) };
  }
  return { routes: [], channel: "", delivery: 0 };
}
