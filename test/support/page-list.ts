// Every page that there is, with addresses that lead to something: those of the browser's router, and those that the
// server draws by itself. Tests, pictures and the look at accessibility all walk this list.
import { PAGE_PATHS } from "../../src/contract/api/boot.ts";

/** What a page is of. */
export type PageSubjects = { project: string; check: string; run: number };

export type ListedPage = { name: string; path: string; isPublic: boolean };

/** Pages for people who are not signed in; the server draws them. */
const PUBLIC: readonly ListedPage[] = [
  { name: "login", path: "/accounts/login/", isPublic: true },
  { name: "api-reference", path: "/docs/api", isPublic: true },
];

/** The list, with everything that a path names filled in. Throws when a path names something unknown. */
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
