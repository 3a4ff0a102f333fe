// Why the spool does not do what it is asked to: a closed list, on both sides of its thread.

/**
 * `full`: no room within the bounds. `busy`: too much waits for the disk already. `failed`: the disk, the
 * file or the thread failed, and nothing more will be written. `closed`: the spool was closed. `order`: the
 * number does not follow, or is not the oldest. `invalid`: no batch of this intake, or too large for any
 * spool. `in_use`: the file of this intake cannot be taken. `unfit`: SQLite does not do what is needed.
 */
export type SpoolReason = "full" | "busy" | "failed" | "closed" | "order" | "invalid" | "in_use" | "unfit";

/** A refusal as it travels between the threads. */
export type Refusal = { reason: SpoolReason; text: string };

/** Why the spool did not do what it was asked to. An append that fails with it is not promised. */
export class SpoolError extends Error {
  override readonly name = "SpoolError";
  readonly reason: SpoolReason;

  constructor({ reason, text }: Refusal) {
    super(text);
    this.reason = reason;
  }
}
