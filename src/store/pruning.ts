// How a table that grows with time forgets what is old, a few rows at a time.

/**
 * SQL for the rows of a table that are from before $1, looked for among its $2 oldest. By address, so that the plan
 * reads the oldest rows by the key and nothing else, whatever the limit.
 */
export function amongOldest(table: string, at = "at"): string {
  return `ctid = any (array(
      select ctid from (select ctid, ${at} from ${table} order by id limit $2) as oldest where ${at} < $1
    ))`;
}
