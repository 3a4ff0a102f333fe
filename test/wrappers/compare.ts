// The requests of the wrappers beside those of runitor, for the same jobs.
import { randomUUID } from "node:crypto";
import type { Result } from "./run-cases.ts";
import type { Ping, Servers } from "./servers.ts";
import { newFolder, start, type Wrapper } from "./wrapper.ts";

/** A request as far as a server can tell clients apart. */
type Request = { method: string; path: string; keys: string; type: string; hasLength: boolean; body: string };

const POST = { method: "POST", type: "text/plain", hasLength: true };
const PRINT = "printf 'out\\n'; ";

/**
 * What runitor 1.4 sent, by its recorded requests. A success is sent with the exit code 0 or without a code; runitor
 * adds lines of its own to the output of a job that fails, and reports a killed job as 1.
 */
const RUNITOR: readonly { job: string; flags: readonly string[]; requests: readonly Request[] }[] = [
  {
    job: `${PRINT}exit 0`,
    flags: [],
    requests: [
      { ...POST, path: "/CHECK/start", keys: "rid", body: "" },
      { ...POST, path: "/CHECK/0", keys: "rid", body: "out\n" },
    ],
  },
  {
    job: `${PRINT}exit 7`,
    flags: [],
    requests: [
      { ...POST, path: "/CHECK/start", keys: "rid", body: "" },
      { ...POST, path: "/CHECK/7", keys: "rid", body: "out\n" },
    ],
  },
  {
    job: `${PRINT}exit 0`,
    flags: ["-slug", "nightly", "-ping-key", "CHECK", "-create"],
    requests: [
      { ...POST, path: "/CHECK/nightly/start", keys: "create,rid", body: "" },
      { ...POST, path: "/CHECK/nightly/0", keys: "create,rid", body: "out\n" },
    ],
  },
  {
    job: `${PRINT}exit 0`,
    flags: ["-no-start-ping", "-no-output-in-ping", "-no-run-id"],
    requests: [{ ...POST, path: "/CHECK/0", keys: "", body: "" }],
  },
];

/** Compares each wrapper with the recorded requests. */
export async function compareRequests(
  wrappers: readonly Wrapper[],
  { servers, folder }: { servers: Servers; folder: string },
): Promise<Result[]> {
  const results: Result[] = [];
  for (const wrapper of wrappers) {
    for (const { job, flags, requests } of RUNITOR) {
      const check = randomUUID();
      const at = newFolder(folder);
      const given = flags.map((flag) => flag.replace("CHECK", check));
      const uuid = flags.includes("-slug") ? {} : { CHECK_UUID: check };
      const environment = { ...at.environment, HC_API_URL: servers.url("recorder"), ...uuid };
      const command = [...wrapper.command, ...given, "--", "/bin/sh", "-c", job];
      await start(command, { environment, folder: at.path }).ended;
      const expected = requests.map((one) =>
        JSON.stringify({ ...one, path: one.path.replace("CHECK", check) }),
      );
      const found = servers.pings(check).map((ping) => JSON.stringify(requestOf(ping, check)));
      const isSame = expected.join("\n") === found.join("\n");
      results.push({
        case: `like runitor ${flags.join(" ")} (${job})`,
        wrapper: wrapper.name,
        problem: isSame ? null : `${found.join(" ")} instead of ${expected.join(" ")}`,
      });
    }
  }
  return results;
}

function requestOf({ method, path, query, headers, body }: Ping, check: string): Request {
  const isPlain = path.endsWith(check) || path.endsWith("/nightly");
  return {
    method,
    type: headers["content-type"] ?? "",
    hasLength: headers["content-length"] === String(body.length),
    path: isPlain ? `${path}/0` : path,
    keys: [...query.keys()].toSorted().join(),
    body: body.toString("utf8"),
  };
}
