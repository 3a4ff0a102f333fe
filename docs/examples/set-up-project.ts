// Sets up a complete project with the Overdue API: a project, members, API keys, channels, checks, and badges.
//
//   npm install overdue
//   OVERDUE_URL=https://overdue.example.org OVERDUE_TOKEN=… node set-up-project.ts
//
// The token is a personal access token with the scope "write". Create one on your account page.
import { ApiClient } from "overdue/client";

const MEMBERS = [
  { email: "ada@example.org", role: "manager" },
  { email: "grace@example.org", role: "member" },
] as const;

const CHANNELS = [
  { kind: "email", name: "Ops mailbox", config: { value: "ops@example.org" } },
  { kind: "webhook", name: "Incident tool", config: { url_down: "https://example.org/incidents" } },
  { kind: "slack", name: "#ops", config: { url: "https://hooks.slack.com/services/T0001/B0001/secret" } },
  { kind: "ntfy", name: "Phones", config: { topic: "a-long-secret-topic", priority: 5 } },
  { kind: "discord", name: "Community", config: { url: "https://discord.com/api/webhooks/1/secret" } },
];

const SERVERS = ["db", "web", "mail", "files"];
const JOBS = [
  {
    name: "backup",
    tags: "backup",
    kind: "cron",
    schedule: "30 2 * * *",
    tz: "Europe/Riga",
    graceSeconds: 3600,
  },
  { name: "backup check", tags: "backup", kind: "oncalendar", schedule: "Sun 05:00", graceSeconds: 7200 },
  { name: "certificates", tags: "tls", kind: "simple", timeoutSeconds: 86_400, graceSeconds: 3600 },
  { name: "updates", tags: "system", kind: "cron", schedule: "0 4 * * mon", graceSeconds: 3600 },
  { name: "heartbeat", tags: "system", kind: "simple", timeoutSeconds: 300, graceSeconds: 60 },
] as const;

export type SetUp = {
  project: string;
  /** To manage checks and channels of the project. */
  readWriteKey: string;
  readOnlyKey: string;
  /** By the name of the check. */
  pingUrls: Readonly<Record<string, string>>;
  /** The URLs of the badge images, by tag; "*" is for all checks. */
  badges: Readonly<Record<string, string>>;
};

/** Creates the project and everything in it. */
export async function setUpProject(api: ApiClient, name: string): Promise<SetUp> {
  const { id: project } = await api.call("createProject", { body: { name } });
  for (const body of MEMBERS) await api.call("inviteMember", { project, body });
  const readWrite = await api.call("createKey", { project, body: { kind: "readWrite", name: "Deployment" } });
  const readOnly = await api.call("createKey", { project, body: { kind: "readOnly", name: "Wall screen" } });
  // New checks notify all channels that exist, so the channels come first.
  for (const body of CHANNELS) await api.call("createChannel", { project, body });
  const pingUrls: Record<string, string> = {};
  for (const server of SERVERS) {
    for (const job of JOBS) {
      const body = { ...job, name: `${server}: ${job.name}`, tags: `${server} ${job.tags}` };
      const check = await api.call("createCheck", { project, body });
      pingUrls[body.name] = check.pingAddresses.url;
    }
  }
  const { badges } = await api.call("listBadges", { project });
  return {
    project,
    readWriteKey: readWrite.key,
    readOnlyKey: readOnly.key,
    pingUrls,
    badges: Object.fromEntries(badges.map(({ tag, svg }) => [tag ?? "*", svg])),
  };
}

if (import.meta.main) {
  const { OVERDUE_URL: siteUrl, OVERDUE_TOKEN: token } = process.env;
  if (siteUrl === undefined || token === undefined) throw new Error("Set OVERDUE_URL and OVERDUE_TOKEN.");
  const done = await setUpProject(new ApiClient({ siteUrl, token }), "Servers");
  console.log(JSON.stringify(done, null, 2));
}
