// Adds up the responses of all rounds, and prints them as a table.
import type { Counts, Round } from "./schemathesis.ts";

type Answers = Record<string, Record<string, { valid: number; broken: number }>>;

/** The responses so far. */
export class Tally {
  readonly #answers: Answers = {};

  add(answers: Round["answers"]): void {
    for (const [operation, counts] of Object.entries(answers)) {
      const mine = (this.#answers[operation] ??= {});
      for (const [status, { valid, broken }] of Object.entries(counts)) {
        const sum = (mine[status] ??= { valid: 0, broken: 0 });
        sum.valid += valid;
        sum.broken += broken;
      }
    }
  }

  /** All requests, those that match the document, and those that were answered 2xx. */
  totals(): { requests: number; valid: number; good: number } {
    const totals = { requests: 0, valid: 0, good: 0 };
    for (const { status, valid, broken } of this.#all()) {
      totals.requests += valid + broken;
      totals.valid += valid;
      if (status.startsWith("2")) totals.good += valid + broken;
    }
    return totals;
  }

  /** What must never happen: a server error, or an operation that never succeeded. */
  complaints(operations: readonly string[]): string[] {
    const failures = [...this.#all()].filter(({ status }) => Number(status) >= 500);
    const idle = operations.filter((operation) => goodOf(this.#answers[operation] ?? {}) === 0);
    return [
      ...failures.map(({ operation, status }) => `${operation} was answered ${status}`),
      ...idle.map((operation) => `${operation} was never answered 2xx`),
    ];
  }

  /** By operation: the number of requests, of 2xx responses, and of each status. */
  table(): string {
    const rows = Object.entries(this.#answers).map(([operation, counts]) => {
      const statuses = Object.entries(counts)
        .toSorted(([one], [other]) => Number(one) - Number(other))
        .map(([status, count]) => `${status}: ${sumOf(count)}`);
      const requests = Object.values(counts).reduce((sum, count) => sum + sumOf(count), 0);
      return [operation, String(requests), String(goodOf(counts)), statuses.join("  ")] as const;
    });
    return [["operation", "requests", "2xx", "answers"] as const, ...rows]
      .map(([name, requests, good, statuses]) => {
        return `${name.padEnd(24)}${requests.padStart(9)}${good.padStart(8)}   ${statuses}`;
      })
      .join("\n");
  }

  *#all() {
    for (const [operation, counts] of Object.entries(this.#answers)) {
      for (const [status, count] of Object.entries(counts)) yield { operation, status, ...count };
    }
  }
}

function sumOf({ valid, broken }: Counts[string]): number {
  return valid + broken;
}

function goodOf(counts: Counts): number {
  const good = Object.entries(counts).filter(([status]) => status.startsWith("2"));
  return good.reduce((sum, [, count]) => sum + sumOf(count), 0);
}
