// Starts the parts of a process in order and stops them in reverse order, each with a time limit. The binary and the
// tests start everything through here.
import type { Log } from "./log.ts";

export type Service = {
  name: string;
  /** Resolves when the service is running; if it throws, it must have cleaned up. */
  start(): Promise<void>;
  /** Resolves when the service has stopped. Called at most once, and only after start resolved. */
  stop(): Promise<void>;
};

export type RunningServices = {
  /** Stops all in reverse order; returns the names of those that failed or took too long. Can be called twice. */
  stop(): Promise<string[]>;
};

export type StartOptions = {
  log: Log;
  /** For all services together; after that, the rest is stopped without waiting. */
  stopTimeoutMs: number;
};

/**
 * Starts the services one after the other; each is created when the previous one has started. If one fails, those
 * already started are stopped.
 */
export async function startServices(
  services: Iterable<Service>,
  { log, stopTimeoutMs }: StartOptions,
): Promise<RunningServices> {
  const started: Service[] = [];
  for (const service of services) {
    try {
      await service.start();
    } catch (error) {
      log.error({ service: service.name, err: error }, "service failed to start");
      await stopServices(started, { log, stopTimeoutMs });
      throw error;
    }
    log.info({ service: service.name }, "service started");
    started.push(service);
  }
  let stopping: Promise<string[]> | null = null;
  return {
    stop: () => {
      stopping ??= stopServices(started, { log, stopTimeoutMs });
      return stopping;
    },
  };
}

async function stopServices(
  services: readonly Service[],
  { log, stopTimeoutMs }: StartOptions,
): Promise<string[]> {
  const failed: string[] = [];
  const deadline = performance.now() + stopTimeoutMs;
  for (const service of services.toReversed()) {
    try {
      await within(service.stop(), Math.max(0, deadline - performance.now()));
      log.info({ service: service.name }, "service stopped");
    } catch (error) {
      log.error({ service: service.name, err: error }, "service failed to stop");
      failed.push(service.name);
    }
  }
  return failed;
}

/** Rejects if the work is not done in time; the work itself is not canceled. */
export async function within<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not finished within ${Math.round(timeoutMs)} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
