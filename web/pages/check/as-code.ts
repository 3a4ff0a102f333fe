// What is on screen, said to the API: lines for curl. The field names are those of the API, version 3. Pure.
import type { CheckPage } from "../../../src/contract/web/check-page.ts";

type Settings = CheckPage["settings"];
type Fields = Record<string, string | number | boolean>;

/** The name of each setting in the API. */
const NAMES: Readonly<Record<Exclude<keyof Settings, "kind">, string>> = {
  name: "name",
  slug: "slug",
  tags: "tags",
  desc: "desc",
  timeoutSeconds: "timeout",
  graceSeconds: "grace",
  schedule: "schedule",
  tz: "tz",
  manualResume: "manual_resume",
  methods: "methods",
  startKw: "start_kw",
  successKw: "success_kw",
  failureKw: "failure_kw",
  filterSubject: "filter_subject",
  filterBody: "filter_body",
  filterHttpBody: "filter_http_body",
  filterDefaultFail: "filter_default_fail",
};

/** Settings as the API names them; of period and schedule only the one that counts. */
function apiFields(settings: Partial<Settings>): Fields {
  const skipped = settings.kind === "simple" ? ["schedule", "tz"] : ["timeoutSeconds"];
  const fields: Fields = {};
  for (const [key, name] of Object.entries(NAMES)) {
    const value = settings[key as keyof typeof NAMES];
    if (value !== undefined && !(settings.kind !== undefined && skipped.includes(key))) fields[name] = value;
  }
  return fields;
}

/** A change of a check. */
export function changeLine(
  change: Partial<Settings>,
  { id, siteUrl }: { id: string; siteUrl: string },
): string {
  return sending("POST", `${siteUrl}/api/v3/checks/${id}`, apiFields(change));
}

export function codeFor({ row, settings, channels }: CheckPage, siteUrl: string) {
  const own = `${siteUrl}/api/v3/checks/${row.id}`;
  const told = channels.filter(({ isOn }) => isOn).map(({ id }) => id);
  const all: Fields = { ...apiFields(settings), channels: told.join(",") };
  // What is empty or off is so by itself for a new one.
  const given = Object.fromEntries(
    Object.entries(all).filter(([, value]) => value !== "" && value !== false),
  );
  return {
    read: asking(own),
    settings: sending("POST", own, all),
    create: sending("POST", `${siteUrl}/api/v3/checks/`, given),
    history: [asking(`${own}/pings/`), asking(`${own}/flips/`)].join("\n\n"),
    deeds: [sending("POST", `${own}/pause`, null), sending("POST", `${own}/resume`, null)].join("\n\n"),
  };
}

/** Not called OVERDUE_…: whoever exports such a name that is no setting keeps the program from starting. */
const KEY = '-H "X-Api-Key: $API_KEY"';

function asking(url: string): string {
  return `curl -fsS -m 10 ${KEY} \\\n  ${url}`;
}

function sending(method: string, url: string, fields: Fields | null): string {
  if (fields === null) return `curl -fsS -m 10 -X ${method} ${KEY} -d '' \\\n  ${url}`;
  // A quote inside single quotes ends them; this is how a shell says it.
  const json = JSON.stringify(fields, null, 2).replaceAll("'", "'\\''");
  return `curl -fsS -m 10 -X ${method} ${KEY} \\\n  -H "Content-Type: application/json" \\\n  ${url} \\\n  -d '${json}'`;
}
