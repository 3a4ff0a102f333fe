// Parts of a process that start and stop: in order, and backwards, each within a bounded time.
// The binary and the tests start everything through here. Knows no particular part.
import type { Log } from "./log.ts";

export type Service = {
  name: string;
  /** Resolves when the service does its work; when it throws, it must have cleaned up after itself. */
  start(): Promise<void>;
  /** Resolves when nothing of it runs any more. Called at most once, and only after start resolved. */
  stop(): Promise<void>;
};

export type RunningServices = {
  /** Stops all in reverse order; returns the names of those that failed or took too long. Callable twice. */
  stop(): Promise<string[]>;
};

export type StartOptions = {
  log: Log;
  /** For all services together; when it is over, the rest is told to stop without being waited for. */
  stopTimeoutMs: number;
};

/**
 * Starts the services one after the other; each is asked for when the one before it has started. If one fails,
 * those already started are stopped again.
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

/** Rejects when the work is not done in time; the work itself is not cancelled. */
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
