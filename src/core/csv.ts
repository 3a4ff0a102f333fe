// Comma-separated values, safe to open in a spreadsheet.

/** A line with its end. */
export function csvLine(cells: readonly (string | number)[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

/** Quoted; text that a spreadsheet would interpret as a formula is escaped. Numbers stay numbers. */
function csvCell(value: string | number): string {
  if (typeof value === "number") return String(value);
  const plain = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return `"${plain.replaceAll('"', '""')}"`;
}
