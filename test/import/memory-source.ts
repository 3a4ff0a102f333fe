// A source in memory whose contents a test can change between two runs, and of any size: pings are made as they are read.
import type {
  ImportSource,
  SourceAccount,
  SourceChannel,
  SourceCheck,
  SourceFlip,
  SourcePing,
  SourceProject,
} from "../../src/core/import-source.ts";
import { HOUR_MS, type Instant, MINUTE_MS, SECOND_MS } from "../../src/core/instant.ts";

export type MemoryCheck = { check: SourceCheck; pings: SourcePing[]; flips: SourceFlip[] };
export type MemoryProject = { project: SourceProject; checks: MemoryCheck[] };

export type MemoryContent = {
  name: string;
  accounts: SourceAccount[];
  projects: MemoryProject[];
  /** Called before each page of checks, for instance to kill the process. */
  onRead?: (what: "accounts" | "projects" | "checks" | "pings" | "flips") => void | Promise<void>;
};

const PAGE_LENGTH = 500;

export function uuidOf(number: number, kind = 1): string {
  return `${kind.toString(16).padStart(8, "0")}-0000-4000-8000-${number.toString(16).padStart(12, "0")}`;
}

export function memorySource(content: MemoryContent): ImportSource {
  const find = (uuid: string) =>
    content.projects.flatMap(({ checks }) => checks).find(({ check }) => check.uuid === uuid);
  const index = new Map<string, MemoryCheck>();
  for (const { checks } of content.projects) for (const one of checks) index.set(one.check.uuid, one);
  const of = ({ uuid }: SourceCheck) => index.get(uuid) ?? find(uuid);
  return {
    name: content.name,
    limitations: [],
    accounts: async () => {
      await content.onRead?.("accounts");
      return content.accounts;
    },
    projects: async () => {
      await content.onRead?.("projects");
      return content.projects.map(({ project, checks }) => ({ ...project, checkCount: checks.length }));
    },
    async *checks(project) {
      const checks = content.projects.find((one) => one.project.ref === project.ref)?.checks ?? [];
      for (let from = 0; from < checks.length; from += PAGE_LENGTH) {
        await content.onRead?.("checks");
        yield checks.slice(from, from + PAGE_LENGTH).map(({ check }) => check);
      }
    },
    async *pings(check, after) {
      await content.onRead?.("pings");
      yield (of(check)?.pings ?? []).filter(({ number }) => number > after);
    },
    flips: async (check) => {
      await content.onRead?.("flips");
      return of(check)?.flips ?? [];
    },
    close: async () => {},
  };
}

export function sourceAccount(email: string, more: Partial<SourceAccount> = {}): SourceAccount {
  return {
    email,
    name: "",
    createdAt: Date.UTC(2025, 0, 1),
    isAdmin: false,
    passwordHash: null,
    checkLimit: 20,
    pingLogLimit: 100,
    tz: "UTC",
    reports: "monthly",
    nagPeriodS: 0,
    totpSecret: null,
    ...more,
  };
}

export function sourceChannel(number: number, more: Partial<SourceChannel> = {}): SourceChannel {
  return {
    uuid: uuidOf(number, 2),
    kind: "webhook",
    name: `Hook ${number}`,
    value: JSON.stringify({
      method_down: "POST",
      url_down: "https://receiver.example.org/down",
      body_down: "$NAME",
      headers_down: {},
      method_up: "POST",
      url_up: "https://receiver.example.org/up",
      body_up: "$NAME",
      headers_up: {},
    }),
    isEmailVerified: false,
    isDisabled: false,
    createdAt: Date.UTC(2025, 0, 1),
    ...more,
  };
}

export function sourceProject(number: number, more: Partial<SourceProject> = {}): SourceProject {
  return {
    ref: String(number),
    uuid: uuidOf(number, 3),
    name: `Project ${number}`,
    badgeKey: `badge-${number}`,
    pingKey: `pingkey${String(number).padStart(15, "0")}`,
    keys: { readWrite: null, readOnly: null },
    ownerEmail: "owner@example.org",
    members: [],
    channels: [],
    checkCount: 0,
    ...more,
  };
}

export function sourcePing(number: number, at: Instant, more: Partial<SourcePing> = {}): SourcePing {
  return {
    number,
    at,
    kind: "success",
    scheme: "https",
    method: "GET",
    remoteAddress: "192.0.2.1",
    userAgent: "curl/8",
    exitStatus: null,
    rid: null,
    body: null,
    missingBodyBytes: null,
    ...more,
  };
}

export function sourceCheck(number: number, more: Partial<SourceCheck> = {}): SourceCheck {
  return {
    uuid: uuidOf(number),
    badgeKey: uuidOf(number, 4),
    name: `Check ${number}`,
    slug: `check-${number}`,
    tags: "prod",
    desc: "",
    kind: "simple",
    timeoutS: 3_600,
    graceS: 600,
    schedule: "* * * * *",
    tz: "UTC",
    manualResume: false,
    methods: "",
    subject: { start: "", success: "", fail: "" },
    filters: { subject: false, body: false, httpBody: false, defaultFail: false },
    createdAt: Date.UTC(2025, 0, 1),
    status: "new",
    pingCount: 0,
    lastPingAt: null,
    lastStartAt: null,
    lastStartRid: null,
    lastDurationS: null,
    alertAfterAt: null,
    channelUuids: [],
    ...more,
  };
}

/** An hourly check that is up, with so many pings; the last one was so long before `now`. */
export function pingedCheck(
  number: number,
  {
    now,
    count,
    agoMs = 10 * MINUTE_MS,
    ...more
  }: { now: Instant; count: number; agoMs?: number } & Partial<SourceCheck>,
): MemoryCheck {
  const lastPingAt = now - agoMs;
  const pings = Array.from({ length: count }, (_, index) =>
    sourcePing(index + 1, lastPingAt - (count - 1 - index) * HOUR_MS, {
      body: index % 10 === 0 ? Buffer.from(`output ${index} of ${number}\n`) : null,
    }),
  );
  const firstAt = pings[0]?.at ?? lastPingAt;
  return {
    check: sourceCheck(number, { status: "up", pingCount: count, lastPingAt, ...more }),
    pings,
    flips: [{ at: firstAt, from: "new", to: "up", reason: "" }],
  };
}

/** Adds a ping to a check, as the source would. */
export function addPing(one: MemoryCheck, at: Instant, kind: "success" | "fail" = "success"): void {
  const number = one.check.pingCount + 1;
  const before = one.check.status;
  const status = kind === "success" ? "up" : "down";
  one.pings.push(sourcePing(number, at, { kind }));
  one.check = { ...one.check, pingCount: number, lastPingAt: at, status, lastStartAt: null };
  if (before !== status)
    one.flips.push({ at, from: before, to: status, reason: kind === "fail" ? "fail" : "" });
}

/** Takes a check down by its deadline, as the source would. */
export function missDeadline(one: MemoryCheck): void {
  const { lastPingAt, timeoutS, graceS, status } = one.check;
  const at = (lastPingAt ?? 0) + (timeoutS + graceS) * SECOND_MS;
  one.check = { ...one.check, status: "down" };
  one.flips.push({ at, from: status, to: "down", reason: "timeout" });
}
