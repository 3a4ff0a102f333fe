// The real ping service on a free port, in front of an intake that remembers what it was given. The intake is
// the outer border of these tests: what it does with signals is tested where it lives.
import type { PingSettings } from "../../src/core/ping-settings.ts";
import type { AcceptedSignal, SignalTarget } from "../../src/core/signal.ts";
import type { Acceptance, CreateOption, Resolution, SignalIntake } from "../../src/intake/intake.ts";
import type { Refusal } from "../../src/intake/refusals.ts";
import { createLog } from "../../src/lib/log.ts";
import { type PingService, pingService, type PingServiceOptions } from "./ping-service.ts";

export const UUID = "0f3a4b5c-1111-4222-8333-444455556666";
export const NO_SUCH_UUID = "00000000-0000-4000-8000-000000000000";
export const KEY = "abcdefghijklmnopqrstuv";
export const RID = "11111111-1111-4111-8111-111111111111";
export const BODY_LIMIT_BYTES = 10_000;

/** Knows one check by UUID; the slug `known`, the slug `same` twice, and makes others when asked to. */
export class MemoryIntake implements SignalIntake {
  readonly signals: AcceptedSignal[] = [];
  readonly made: string[] = [];
  /** The settings of those. */
  readonly settings: PingSettings[] = [];
  /** When senders were turned away before their signals came here. */
  readonly refusals: Refusal[] = [];
  resolvedCount = 0;
  #at = 1_700_000_000_000;
  /** Put in the place of an ordinary acceptance. */
  acceptance: ((signal: AcceptedSignal) => Promise<Acceptance>) | null = null;
  resolution: (() => Promise<Resolution>) | null = null;

  now(): number {
    this.#at += 1;
    return this.#at;
  }

  async accept(signal: AcceptedSignal, options: CreateOption): Promise<Acceptance> {
    if (this.acceptance !== null) return this.acceptance(signal);
    const before = this.made.length;
    const found = this.#find(signal.target, options);
    if (found !== "known") return { kind: found };
    this.signals.push(signal);
    if (this.made.length === before) return { kind: "recorded" };
    return { kind: "created", warning: this.settings.at(-1)?.warning ?? null };
  }

  refused(refusal: Refusal): void {
    this.refusals.push(refusal);
  }

  async resolve(target: SignalTarget, options: CreateOption): Promise<Resolution> {
    this.resolvedCount += 1;
    return this.resolution === null ? this.#find(target, options) : this.resolution();
  }

  #find(target: SignalTarget, { create, settings = null }: CreateOption): "known" | "unknown" | "ambiguous" {
    if (target.by === "uuid") return target.uuid === UUID ? "known" : "unknown";
    if (target.pingKey !== KEY) return "unknown";
    if (target.slug === "same") return "ambiguous";
    if (target.slug === "known" || this.made.includes(target.slug)) return "known";
    if (!create) return "unknown";
    this.made.push(target.slug);
    if (settings !== null) this.settings.push(settings());
    return "known";
  }
}

export type TestServer = { port: number; origin: string; intake: MemoryIntake; service: PingService };

const running = new Set<PingService>();

/** A started service. `stopPingServers` ends it, unless the test has done so. */
export async function startPingServer(changes: Partial<PingServiceOptions> = {}): Promise<TestServer> {
  const intake = new MemoryIntake();
  const service = pingService({
    listen: { host: "127.0.0.1", port: 0 },
    siteUrl: new URL("http://localhost:8000"),
    pingUrl: new URL("https://ping.example.org"),
    pingAliases: null,
    trustedProxies: ["127.0.0.0/8"],
    bodyLimitBytes: BODY_LIMIT_BYTES,
    connectionsMax: 5_000,
    requestTimeoutMs: 60_000,
    stopGraceMs: 500,
    log: createLog({ level: "fatal" }),
    intake,
    ...changes,
  });
  await service.start();
  running.add(service);
  const port = service.address()?.port ?? 0;
  return { port, origin: `http://127.0.0.1:${port}`, intake, service };
}

export async function stopPingServers(): Promise<void> {
  const listening = [...running].filter((service) => service.problem() === null);
  await Promise.all(listening.map((service) => service.stop()));
  running.clear();
}
