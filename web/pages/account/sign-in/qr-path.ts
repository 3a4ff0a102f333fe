// A picture of squares as one path: each run of dark squares in a row is one bar. Pure.

/** `M x y h width v1 h-width z` for each run. */
export function qrPath(rows: readonly (readonly boolean[])[]): string {
  let path = "";
  for (const [y, row] of rows.entries()) {
    let from = 0;
    while (from < row.length) {
      if (row[from] !== true) {
        from += 1;
        continue;
      }
      let to = from;
      while (row[to] === true) to += 1;
      path += `M${from} ${y}h${to - from}v1h${from - to}z`;
      from = to;
    }
  }
  return path;
}
