// What a proof is: a recorded case, or a test of ours. It names them and nothing more; whether they exist and
// have passed is judged in judgement.ts.

/** A test by its file and its title; without a title, all tests of the file. */
export type Proof = { path: string; title: string | null };

/** Proofs by the id of the statement they prove. A row is proved when all of its proofs are. */
export type Proofs = Readonly<Record<string, readonly Proof[]>>;

const CASES = "test/conformance/cases";

/** A recorded case, by its topic and its name. */
export function recorded(topic: string, name: string): Proof {
  return { path: `${CASES}/${topic}.json`, title: name };
}

/** A test of ours, by its file and its title as the source writes it, or the title of its `describe`. */
export function tested(path: string, title: string): Proof {
  return { path, title };
}

/** The topic of a recorded case; null for a test of ours. */
export function topicOf({ path }: Proof): string | null {
  return path.startsWith(`${CASES}/`) ? path.slice(CASES.length + 1, -".json".length) : null;
}
