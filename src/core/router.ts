// The files of the router in front of the cells: its maps, and its configuration for HAProxy 2.6 or newer.
import type { Cell, Cells, CellView } from "./cells.ts";
import { KEY_PREFIX, SLOT_DIGITS, slotOf } from "./identity.ts";
import { SECOND_MS } from "./instant.ts";
import { API_KEY_PREFIX_LENGTH, PING_ANSWER_MS_MAX } from "./limits.ts";

export const SLOTS_MAP = "slots.map";
export const EXCEPTIONS_MAP = "exceptions.map";

/** The exceptions of one cell; all of them together are EXCEPTIONS_MAP. */
export function exceptionsMapOf({ name }: Pick<Cell, "name">): string {
  return `exceptions-${name}.map`;
}

function backendOf({ name }: Pick<Cell, "name">): string {
  return `cell_${name}`;
}

/** The map from slots to cells. */
export function slotsMap({ bySlot }: Cells): string {
  return [...bySlot].map(([slot, cell]) => `${slot} ${backendOf(cell)}\n`).join("");
}

/** Imported keys may contain anything. Others than these would be comments, or other lines of the map. */
const MAPPED_ID = /^(?!#)[!-~]+$/;

/** The lines for those of a cell's ids that the router would not find by their slot. */
export function exceptionLines({ cell, cells }: CellView, ids: readonly (string | null)[]): string {
  return ids
    .filter((id) => id !== null && MAPPED_ID.test(id) && cells.bySlot.get(slotOf(id)) !== cell)
    .map((id) => `${id} ${backendOf(cell)}\n`)
    .join("");
}

export type RouterOptions = {
  cells: Cells;
  /** The folder of the maps on the router. */
  directory: string;
  /** Addresses to listen on, with the parameters of `bind`. */
  binds: readonly string[];
  siteUrl: URL;
  pingUrl: URL | null;
  pingAliases: readonly URL[];
  apiUrl: URL | null;
  /** How much of a ping body is stored. */
  bodyLimitBytes: number;
};

/** Space for the headers of a request, beside its body. */
const HEADER_BYTES = 32 * 1024;
const PAGE_BYTES = 4_096;
/** HAProxy's buffer is allocated for each request that is being read. */
const BUFFER_BYTES_MAX = 1024 * 1024;

/** How long a client may take to send a body; servers wait for a shorter time. */
const CLIENT_TIMEOUT_SECONDS = 75;
/** A process answers pings sooner, and one more attempt fits into the ten seconds that clients wait. */
const PING_TIMEOUT_SECONDS = Math.ceil((2 * PING_ANSWER_MS_MAX) / SECOND_MS);

/** The complete configuration. */
export function routerConfig(options: RouterOptions): string {
  const { cells, bodyLimitBytes } = options;
  const wanted = Math.ceil((bodyLimitBytes + HEADER_BYTES) / PAGE_BYTES) * PAGE_BYTES;
  const bufferBytes = Math.min(wanted, BUFFER_BYTES_MAX);
  const lines = [
    "# HAProxy in front of the cells of Overdue, for HAProxy 2.6 or newer. Printed by: overdue router config",
    "",
    "global",
    "    # URLs of pings are secrets: changes of servers are logged, requests are not.",
    "    log stdout format raw local0 notice",
    "    # Larger than a ping with its body, so that it can be sent again to another process of the cell.",
    `    tune.bufsize ${bufferBytes}`,
    "",
    "defaults",
    "    mode http",
    "    log global",
    "    timeout connect 1s",
    `    timeout client ${CLIENT_TIMEOUT_SECONDS}s`,
    "    timeout server 75s",
    "    timeout http-request 30s",
    "    timeout http-keep-alive 75s",
    "    timeout queue 5s",
    "    timeout check 5s",
    "",
    ...frontend(options),
    ...cells.list.flatMap((cell) => ["", ...backend(cell, bufferBytes - HEADER_BYTES)]),
  ];
  return `${lines.join("\n")}\n`;
}

function frontend(options: RouterOptions): string[] {
  const { cells, directory, binds } = options;
  const prefixes = Object.values(KEY_PREFIX);
  const prefixLength = prefixes[0]?.length ?? 0;
  const [first] = cells.list;
  return [
    "frontend overdue",
    ...binds.map((address) => `    bind ${address}`),
    "    # Cells trust these headers, so they must not come from clients.",
    "    http-request del-header Overdue-Forwarded-By",
    "    http-request set-header X-Forwarded-For %[src]",
    "    http-request set-header X-Forwarded-Proto https if { ssl_fc }",
    "    http-request set-header X-Forwarded-Proto http unless { ssl_fc }",
    "",
    "    # The path as on a server without other URLs for pings and the API.",
    "    http-request set-var(txn.path) path",
    ...pathRules(options),
    "",
    "    # Pings: the UUID of the check, or the ping key.",
    "    acl is_ping var(txn.path) -m beg /ping/",
    "    http-request set-var(txn.id) var(txn.path),field(3,/),url_dec,field(1,/) if is_ping",
    "    # Badges: the UUID of the badge, or the badge key.",
    "    http-request set-var(txn.id) var(txn.path),field(4,/),field(1,.) if { var(txn.path) -m beg /b/ }",
    "    http-request set-var(txn.id) var(txn.path),field(3,/) if { var(txn.path) -m beg /badge/ }",
    "    # Metrics of a project: the API key in the path.",
    "    http-request set-var(txn.key) var(txn.path),field(5,/) if { var(txn.path) -m reg ^/projects/[^/]+/metrics/. }",
    "    http-request set-var(txn.key) var(txn.path),field(4,/) if { var(txn.path) -m beg /checks/metrics/ }",
    "    # APIs: the API key in the header or in the body, otherwise the UUID of the check. Sessions and tokens belong",
    "    # to accounts: their cell is found by the host.",
    "    acl is_api var(txn.path) -m beg /api/",
    "    acl has_key req.hdr(X-Api-Key) -m found",
    "    acl is_personal req.hdr(Authorization) -m found",
    "    acl is_personal req.hdr(Cookie) -m found",
    "    http-request set-var(txn.id) var(txn.path),field(5,/) if is_api !has_key !is_personal { var(txn.path) -m reg ^/api/v[123]/checks/. }",
    "    http-request set-var(txn.id) var(txn.path),field(6,/) if is_api !has_key !is_personal { var(txn.path) -m reg ^/api/overdue/v1/checks/. }",
    "    http-request wait-for-body time 2s if is_api METH_POST !has_key !is_personal",
    "    http-request set-var(txn.key) req.body,json_query('$.api_key') if is_api METH_POST !has_key !is_personal",
    "    http-request set-var(txn.key) req.hdr(X-Api-Key) if has_key !is_ping",
    "",
    "    # The cell: an exception, otherwise the slot.",
    "    acl is_keyed var(txn.key) -m len gt 0",
    `    http-request set-var(txn.slot) var(txn.id),bytes(0,${SLOT_DIGITS}) unless is_keyed`,
    `    http-request set-var(txn.slot) var(txn.key),bytes(0,${SLOT_DIGITS}) if is_keyed`,
    `    http-request set-var(txn.slot) var(txn.key),bytes(${prefixLength},${SLOT_DIGITS}) if is_keyed { var(txn.key) -m beg ${prefixes.join(" ")} }`,
    `    http-request set-var(txn.id) var(txn.key),bytes(0,${API_KEY_PREFIX_LENGTH}) if is_keyed`,
    `    http-request set-var(txn.cell) var(txn.id),map_str(${directory}/${EXCEPTIONS_MAP})`,
    "    acl has_cell var(txn.cell) -m found",
    `    http-request set-var(txn.cell) var(txn.slot),map_str(${directory}/${SLOTS_MAP}) unless has_cell`,
    "    use_backend %[var(txn.cell)] if has_cell",
    "    # Without an id: the dashboard of the host.",
    ...cells.list.flatMap((cell) =>
      cell.hosts.map(
        (host) => `    use_backend ${backendOf(cell)} if { req.hdr(host),field(1,:),lower -m str ${host} }`,
      ),
    ),
    ...(first === undefined ? [] : [`    default_backend ${backendOf(first)}`]),
  ];
}

/** Replaces the published URLs of pings and the API by the paths that every server has. */
function pathRules({ siteUrl, pingUrl, pingAliases, apiUrl }: RouterOptions): string[] {
  const rule = (from: string, to: string, condition = "") =>
    `    http-request set-var(txn.path) 'var(txn.path),regsub("^${from}","${to}")'${condition}`;
  // As the servers do it: by name alone, because a proxy may listen on another port; by port, too, if only the ports differ.
  const withPort = ({ host, port, protocol }: URL) =>
    port === "" ? `${host} ${host}:${protocol === "https:" ? HTTPS_PORT : HTTP_PORT}` : host;
  const onHost = (url: URL) =>
    url.hostname === siteUrl.hostname
      ? ` if { req.hdr(host),lower -m str ${withPort(url)} }`
      : ` if { req.hdr(host),field(1,:),lower,rtrim(.) -m str ${url.hostname} }`;
  const rules: string[] = [];
  const sitePath = escaped(pathOf(siteUrl));
  if (sitePath !== "") rules.push(rule(`${sitePath}/`, "/"));
  for (const url of [...(pingUrl === null ? [] : [pingUrl]), ...pingAliases]) {
    const base = escaped(pathOf(url));
    // As the servers do it: /ping/ is below every host, and other pages are at the root of the site.
    if (url.host !== siteUrl.host) rules.push(rule(`${base}/(?!ping/)`, "/ping/", onHost(url)));
    else rules.push(rule(base === "" ? "/(?=[0-9a-f]{8}-)" : `${base}/`, "/ping/"));
  }
  if (apiUrl !== null)
    rules.push(
      rule(`${escaped(pathOf(apiUrl))}/v3/`, "/api/v3/", apiUrl.host === siteUrl.host ? "" : onHost(apiUrl)),
    );
  return rules;
}

function pathOf(url: URL): string {
  return url.pathname.replace(/\/$/, "");
}

function escaped(path: string): string {
  return path.replace(/[.+*?()[\]{}|^$\\]/g, "\\$&");
}

/** `bodyBytesMax`: a longer body may not fit into the buffer. */
function backend(cell: Cell, bodyBytesMax: number): string[] {
  const { name, urls } = cell;
  return [
    `backend ${backendOf(cell)}`,
    "    # Answered without the database: while it is unavailable, pings are stored in the spool.",
    "    option httpchk",
    `    http-check send meth OPTIONS uri /ping/ ver HTTP/1.1 hdr Host ${new URL(urls[0] ?? "").host}`,
    "    http-check expect status 204",
    "    default-server check inter 2s fall 3 rise 2",
    ...(urls.length === 1
      ? []
      : [
          "    # A ping that was not answered is sent to another process. At worst it is recorded twice. The timeout also runs",
          "    # while a client sends its body, so the body is read first.",
          "    acl is_ping var(txn.path) -m beg /ping/",
          `    acl is_large req.hdr(Content-Length) -m int gt ${bodyBytesMax}`,
          "    acl is_large req.hdr(Transfer-Encoding) -m found",
          `    http-request wait-for-body time ${CLIENT_TIMEOUT_SECONDS}s if is_ping !is_large`,
          `    http-request set-timeout server ${PING_TIMEOUT_SECONDS}s if is_ping !is_large`,
          "    retry-on conn-failure empty-response response-timeout 503",
          "    option redispatch 1",
          "    http-request disable-l7-retry unless is_ping !is_large",
        ]),
    ...urls.map((url, at) => `    server ${name}-${at + 1} ${serverAt(new URL(url))}`),
  ];
}

const HTTPS_PORT = "443";
const HTTP_PORT = "80";

function serverAt({ protocol, hostname, port }: URL): string {
  if (protocol === "http:") return `${hostname}:${port || HTTP_PORT}`;
  return `${hostname}:${port || HTTPS_PORT} ssl verify required ca-file @system-ca sni str(${hostname})`;
}
