// Every page that there is, with addresses that lead to something: those of the browser's router, and those that the
// server draws by itself. Tests, pictures and the look at accessibility all walk this list.
import { PAGE_PATHS } from "../../src/contract/api/boot.ts";

/** The items that a page shows. */
export type PageSubjects = { project: string; check: string; run: number };

export type ListedPage = { name: string; path: string; isPublic: boolean };

/** Pages for signed-out users, rendered by the server. */
const PUBLIC: readonly ListedPage[] = [
  { name: "login", path: "/accounts/login/", isPublic: true },
  { name: "api-reference", path: "/docs/api", isPublic: true },
];

/** The list, with all path parameters filled in. Throws for an unknown parameter. */
export function listPages({ project, check, run }: PageSubjects): ListedPage[] {
  const subjects: Readonly<Record<string, string>> = { project, check, n: String(run) };
  const own = PAGE_PATHS.map(({ name, path }) => ({
    name,
    path: path.replaceAll(/:([a-z]+)/g, (_, word: string) => {
      const subject = subjects[word];
      if (subject === undefined) throw new Error(`nothing is known to stand for :${word} in ${path}`);
      return subject;
    }),
    isPublic: false,
  }));
  return [...own, ...PUBLIC];
}
