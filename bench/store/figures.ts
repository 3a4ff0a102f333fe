// Samples of one measurement, statistics of them, and tables of the results.

/** The cost of each batch, in the order in which they ran. */
export type Samples = {
  /** From BEGIN to the confirmed COMMIT, as the client sees it. */
  wallMs: number[];
  /** Processor time of the server process; empty if the system does not provide it. */
  cpuMs: number[];
  walBytes: number[];
};

export function emptySamples(): Samples {
  return { wallMs: [], cpuMs: [], walBytes: [] };
}

/** The value below which this part of the samples lies; NaN without samples. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const place = (sorted.length - 1) * part;
  const [low = Number.NaN, high = Number.NaN] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]];
  return (low + high) / 2;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** More than three decimals are not reproducible on a busy machine. */
export function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

export function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(0)} MB`;
}

/** A number for a table; a dash if it was not measured. */
export function shown(value: number, digits = 1): string {
  return Number.isFinite(value) ? value.toFixed(digits) : "-";
}

/** Prints a title and a table: the first column left-aligned, figures right-aligned. */
export function printTable(title: string, rows: readonly (readonly string[])[]): void {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, cell.length);
    });
  }
  console.log(`\n${title}`);
  for (const row of rows) {
    const cells = row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
    console.log(`  ${cells.join("  ")}`);
  }
}
