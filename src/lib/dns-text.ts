// Looks up TXT records. Whether there is no record and whether DNS did not answer are different results.
import { Resolver } from "node:dns/promises";

export type TextRecords = { kind: "found"; texts: string[] } | { kind: "missing" } | { kind: "unknown" };

/** Errors of c-ares that say that the name has no such record. */
const MISSING = new Set(["ENOTFOUND", "ENODATA"]);
/** A zone may have any number of records; ours is among the first. */
const RECORDS_MAX = 50;

export type TextLookup = (name: string) => Promise<TextRecords>;

/** `servers`: addresses to ask instead of those of the system. */
export function textLookup({
  timeoutMs,
  servers,
}: {
  timeoutMs: number;
  servers?: readonly string[];
}): TextLookup {
  return async (name) => {
    const resolver = new Resolver({ timeout: timeoutMs, tries: 2 });
    if (servers !== undefined) resolver.setServers(servers);
    try {
      const records = await resolver.resolveTxt(name);
      return { kind: "found", texts: records.slice(0, RECORDS_MAX).map((parts) => parts.join("")) };
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : null;
      return { kind: typeof code === "string" && MISSING.has(code) ? "missing" : "unknown" };
    }
  };
}
