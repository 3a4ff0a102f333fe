// What people put into crontabs: curl, wget, and requests written by hand for machines that have neither. Also the
// Management API from a shell, where JSON travels under whatever content type the tool thinks of.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { RawConnection } from "../../ping/raw-http.ts";
import type { Client, Scene } from "../client.ts";
import { runWell } from "../program.ts";

/** Recipes as people write them: the shell expands the variables. */
function shell(script: string, environment: Record<string, string>): Promise<string> {
  return runWell("sh", ["-e", "-c", script], { environment });
}

const CURL_PINGS = `
  curl -fsS -m 10 --retry 5 "$URL" | grep -qFx OK
  curl -fsS -m 10 --retry 5 -o /dev/null "$URL/start"
  curl -fsS -m 10 --retry 5 --data-raw "a report of the night" "$URL"
  curl -fsS -m 10 --retry 5 --head -o /dev/null "$URL"
  (exit 3) && status=0 || status=$?
  curl -fsS -m 10 --retry 5 -o /dev/null "$URL/$status?rid=$RID"
  printf 'a\\nb\\n' | curl -fsS -m 10 --retry 5 --data-binary @- -o /dev/null "$URL/log"
  curl -fsS -m 10 --retry 5 -F file=@/dev/null -o /dev/null "$URL/fail"
  test "$(curl -s -m 10 -o /dev/null -w '%{http_code}' "$SLUG_URL?create=1")" = 201
  test "$(curl -s -m 10 -o /dev/null -w '%{http_code}' "$SLUG_URL?create=1")" = 200
  test "$(curl -s -m 10 "$SITE/ping/$NOBODY")" = "not found"
  curl -fsS -m 10 -D - -o /dev/null "$URL" | grep -qi '^ping-body-limit: 10000'`;

const CURL_API = `
  made=$(curl -fsS "$SITE/api/v3/checks/" --header "X-Api-Key: $KEY" --data '{"name": "Made by curl", "tags": "prod www", "timeout": 3600, "grace": 60}')
  url=$(printf '%s' "$made" | grep -o '"update_url": *"[^"]*"' | cut -d '"' -f 4)
  curl -fsS "$url" --data "{\\"api_key\\": \\"$KEY\\", \\"desc\\": \\"changed\\"}" >/dev/null
  curl -fsS --header "X-Api-Key: $KEY" "$SITE/api/v3/checks/?tag=prod&tag=www" | grep -qF "$url"
  curl -fsS --request POST --header "X-Api-Key: $KEY" --data "" "$url/pause" >/dev/null
  curl -fsS --request POST --header "X-Api-Key: $KEY" "$url/resume" >/dev/null
  curl -fsS --header "X-Api-Key: $READER" "$SITE/api/v1/checks/" | grep -qF unique_key
  curl -fsS --header "X-Api-Key: $KEY" "$SITE/api/v3/channels/" | grep -qF Pager
  test "$(curl -s -o /dev/null -w '%{http_code}' "$SITE/api/v3/checks/")" = 401
  test "$(curl -s -o /dev/null -w '%{http_code}' --head --header "X-Api-Key: $KEY" "$url")" = 200
  curl -fsS "$SITE/api/v3/status/" >/dev/null
  curl -fsS "$(curl -fsS --header "X-Api-Key: $KEY" "$url" | grep -o '"badge_url": *"[^"]*"' | cut -d '"' -f 4)" | grep -qF '<svg'
  made=$(curl -fsS "$SITE/api/v3/checks/" --header "X-Api-Key: $KEY" --data '{"name": "Short-lived"}')
  url=$(printf '%s' "$made" | grep -o '"update_url": *"[^"]*"' | cut -d '"' -f 4)
  curl -fsS --request DELETE --header "X-Api-Key: $KEY" "$url" >/dev/null`;

async function driveCurl(scene: Scene): Promise<void> {
  const { site, project, effects } = scene;
  const uuid = await scene.newCheck();
  const rid = randomUUID();
  await shell(CURL_PINGS, {
    SITE: site,
    URL: `${site}/ping/${uuid}`,
    RID: rid,
    SLUG_URL: `${site}/ping/${project.pingKey}/curl-made-me`,
    NOBODY: randomUUID(),
  });
  const pings = await effects.expectPings(
    uuid,
    "success GET, start GET, success POST, success HEAD, fail GET, log POST, fail POST, success GET",
  );
  assert.deepEqual([pings[2]?.body, pings[5]?.body], ["a report of the night", "a\nb\n"]);
  assert.deepEqual([pings[4]?.exitStatus, pings[4]?.rid], [3, rid]);
  await effects.expectPings((await effects.named("curl-made-me")).uuid, "success GET, success GET");
}

async function driveCurlApi(scene: Scene): Promise<void> {
  const { site, project, effects } = scene;
  await shell(CURL_API, { SITE: site, KEY: project.apiKey, READER: project.apiKeyReadonly });
  const { settings, state } = await effects.named("Made by curl");
  assert.deepEqual(
    [settings.tags, settings.timeoutSeconds, settings.graceSeconds, settings.desc, state.status],
    ["prod www", 3_600, 60, "changed", "new"],
  );
  assert.equal((await effects.checks()).length, 1, "checks that are left");
}

const WGET_PINGS = `
  wget -q "$URL" -T 10 -t 5 -O /dev/null
  wget -q -O- "$URL" | grep -qFx OK
  wget -q -T 10 --post-data "a report" -O /dev/null "$URL/1"
  wget -q -T 10 --post-file "$FILE" -O /dev/null "$URL"
  wget -q -T 10 --spider "$URL"
  wget -q -T 10 -O- --header "X-Api-Key: $KEY" "$SITE/api/v3/checks/" | grep -qF "$UUID"`;

async function driveWget(scene: Scene): Promise<void> {
  const { site, project, effects } = scene;
  const uuid = await scene.newCheck();
  const file = join(scene.scratch, "report");
  writeFileSync(file, "from a file\n");
  const environment = {
    SITE: site,
    URL: `${site}/ping/${uuid}`,
    UUID: uuid,
    FILE: file,
    KEY: project.apiKey,
  };
  await shell(WGET_PINGS, environment);
  const kinds = "success GET, success GET, fail POST, success POST, success HEAD";
  const pings = await effects.expectPings(uuid, kinds);
  assert.deepEqual([pings[2]?.body, pings[3]?.body], ["a report", "from a file\n"]);
  assert.match(pings[0]?.ua ?? "", /^Wget\//);
}

/** One request in the words of HTTP/1.0, and everything that comes back until the server hangs up. */
async function say(scene: Scene, text: string): Promise<string> {
  const connection = await RawConnection.open(Number(new URL(scene.site).port), text);
  try {
    return await connection.closed();
  } finally {
    connection.close();
  }
}

async function driveRaw(scene: Scene): Promise<void> {
  const { project, effects } = scene;
  const uuid = await scene.newCheck();
  const expectOk = (answer: string) => assert.match(answer, /^HTTP\/1\.[01] 200 OK\r\n[^]*\r\n\r\nOK$/);
  expectOk(await say(scene, `GET /ping/${uuid} HTTP/1.0\r\n\r\n`));
  expectOk(await say(scene, `POST /ping/${uuid}/fail HTTP/1.0\r\nContent-Length: 4\r\n\r\noh\n\n`));
  expectOk(await say(scene, `GET /ping/${uuid}/0 HTTP/1.0\r\nHost: anything\r\nUser-Agent: netcat\r\n\r\n`));
  const head = await say(scene, `HEAD /ping/${uuid} HTTP/1.0\r\n\r\n`);
  assert.match(head, /^HTTP\/1\.[01] 200 OK\r\n[^]*\r\n\r\n$/);
  const list = await say(scene, `GET /api/v3/checks/ HTTP/1.0\r\nX-Api-Key: ${project.apiKey}\r\n\r\n`);
  assert.match(list, /^HTTP\/1\.[01] 200 OK\r\n/);
  assert.doesNotMatch(list, /^transfer-encoding/im, "chunks, which HTTP/1.0 does not know");
  const listed = JSON.parse(list.slice(list.indexOf("\r\n\r\n"))) as { checks: { uuid: string }[] };
  assert.deepEqual(
    listed.checks.map((check) => check.uuid),
    [uuid],
  );
  const kinds = "success GET, fail POST, success GET, success HEAD";
  const pings = await effects.expectPings(uuid, kinds);
  assert.deepEqual([pings[1]?.body, pings[2]?.ua], ["oh\n\n", "netcat"]);
}

const shellClient = { version: null, kind: "real", dialect: "standard", installs: null } as const;

export const SHELL_CLIENTS: readonly Client[] = [
  { ...shellClient, name: "curl (pings)", program: "curl", note: "", drive: driveCurl },
  { ...shellClient, name: "curl (API)", program: "curl", note: "JSON in a form type", drive: driveCurlApi },
  { ...shellClient, name: "wget", program: "wget", note: "", drive: driveWget },
  {
    ...shellClient,
    name: "raw HTTP/1.0",
    kind: "replica",
    version: "1.0",
    note: "by hand, over a socket",
    drive: driveRaw,
  },
];
