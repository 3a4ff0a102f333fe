// The pages of the dashboard, each with the data it begins with, the files that they load, and the addresses under
// which the reference had some of them.
import type { BootPage } from "../../../contract/web/boot.ts";
import { PAGE_PATHS, type PageName, type PagePath } from "../../../contract/web/page-paths.ts";
import { isUniqueKey } from "../../../core/identity.ts";
import { listProjectsOfAccount } from "../../../store/accounts/projects.ts";
import { findByUniqueKey } from "../../../operations/find-by-unique-key.ts";
import { PAGE_HEADERS, renderPage } from "../serving/plain-page.ts";
import {
  accountRoute,
  type Asking,
  checkRoute,
  openRoute,
  projectRoute,
  type WebAccess,
  type WebAnswer,
  WebRefusal,
  type WebRoute,
} from "../route.ts";
import { encodingFor } from "../serving/send.ts";
import type { Build, Entry } from "./assets.ts";
import { bootOf, themeOf } from "./boot.ts";
import { policyFor, renderDocument } from "./document.ts";
import { firstSightOf } from "./first-sight.ts";

/** What a page begins with; a page that is not named here asks for its data itself. */
export type PageData = Partial<Record<PageName, (ask: Asking) => Promise<BootPage | null>>>;

const ACCESS: Readonly<Record<PagePath["for"], WebAccess>> = {
  anyone: "anyone",
  account: "account",
  operator: "operator",
  member: "view",
};

/** The routes of all pages. */
export function pageRoutes(data: PageData): WebRoute[] {
  return PAGE_PATHS.map(({ name, path, for: readers }) => ({
    name: `page ${name}`,
    method: "GET",
    path,
    access: ACCESS[readers],
    answer: async (ask) => shellAnswer(ask, { name, page: (await data[name]?.(ask)) ?? null }),
  }));
}

async function shellAnswer(
  ask: Asking,
  { name, page }: { name: PageName; page: BootPage | null },
): Promise<WebAnswer> {
  const { house } = ask;
  const build = await house.assets.build();
  if (build === null) return notBuilt(ask);
  const boot = await bootOf(ask, page);
  const firstSight = firstSightOf(ask, boot);
  const parts = { load: loadFor(build, name), boot, theme: themeOf(ask), title: house.site.name, firstSight };
  return {
    html: renderDocument(parts),
    headers: { "Content-Security-Policy": policyFor(new URL(house.site.url)), "X-Robots-Tag": "noindex" },
  };
}

/** A run is shown over the page of its check. */
const PARTS: Partial<Record<PageName, string>> = { run: "check" };

function loadFor({ entry, pages }: Build, name: PageName): Entry {
  const own = pages.get(PARTS[name] ?? name);
  if (own === undefined) return entry;
  return {
    ...entry,
    styles: [...entry.styles, ...own.styles],
    preloads: [...entry.preloads, ...own.preloads],
  };
}

function notBuilt({ house }: Asking): WebAnswer {
  const { "Content-Type": _, ...headers } = PAGE_HEADERS;
  const sentences = [
    "The dashboard has not been built. Run “npm run build” in the program directory, then reload this page.",
    "Pings, the API and alerts work without the dashboard.",
  ];
  return { status: 503, html: renderPage({ title: "Dashboard not built", sentences }, house.site), headers };
}

/** Files are named by what is in them: a name never means anything else. */
const FOR_GOOD = "public, max-age=31536000, immutable";

/** A worker keeps the policy of its own file, and the shared one listens to the stream. */
const ASSET_POLICY = "default-src 'none'; connect-src 'self'; frame-ancestors 'none'";

const asset = openRoute({
  name: "asset",
  method: "GET",
  path: "/web/assets/:name",
  access: "anyone",
  answer: async ({ house, params, headers }) => {
    const accepted = headers["accept-encoding"];
    const encoding = encodingFor(Array.isArray(accepted) ? accepted.join() : accepted);
    const found = await house.assets.read(params["name"] ?? "", encoding);
    if (found === null) throw new WebRefusal("not_found", "File not found.");
    return {
      packed: found.bytes,
      encoding: found.encoding,
      type: found.asset.type,
      headers: { "Cache-Control": FOR_GOOD, "Content-Security-Policy": ASSET_POLICY },
    };
  },
});

/** The reference called channels so. */
const integrations = projectRoute({
  name: "old path of channels",
  method: "GET",
  path: "/projects/:project/integrations/",
  access: "view",
  answer: async ({ project }) => ({ redirect: `/projects/${project.uuid}/channels/` }),
});

/** The reference had the log of a check on a page of its own. */
const log = checkRoute({
  name: "old path of a log",
  method: "GET",
  path: "/checks/:check/log/",
  access: "view",
  answer: async ({ check }) => ({ redirect: `/checks/${check.uuid}/details/` }),
});

/** The reference had parts of the account on pages of their own. */
const accountParts = (["appearance", "notifications"] as const).map((part) =>
  accountRoute({
    name: `old path of ${part}`,
    method: "GET",
    path: `/accounts/profile/${part}/`,
    access: "account",
    answer: async () => ({ redirect: "/accounts/profile/" }),
  }),
);

/** Links in reports name a check by its unique key, which tells nothing to whoever has no account. */
const cloaked = accountRoute({
  name: "check by unique key",
  method: "GET",
  path: "/cloaked/:uniqueKey/",
  access: "account",
  answer: async ({ house, account, params }) => {
    const key = params["uniqueKey"] ?? "";
    const projects = isUniqueKey(key) ? await listProjectsOfAccount(house.database, account.id) : [];
    const projectIds = projects.map(({ id }) => id);
    const uuid = projects.length === 0 ? null : await findByUniqueKey(house.database, { key, projectIds });
    if (uuid !== null) return { redirect: `/checks/${uuid}/details/` };
    throw new WebRefusal("not_found", "Check not found, or you don't have access.");
  },
});

export const shellRoutes: readonly WebRoute[] = [asset, integrations, log, ...accountParts, cloaked];
