// Every page that there is, with addresses that lead to something: those of the browser's router, and those that the
// server draws by itself. Tests, pictures and the look at accessibility all walk this list.
import { PAGE_PATHS } from "../../src/contract/api/boot.ts";

/** The items that a page shows. */
export type PageSubjects = { project: string; check: string; run: number; incident: number };

export type ListedPage = { name: string; path: string; isPublic: boolean };

/** Pages for signed-out users, rendered by the server. */
const PUBLIC: readonly ListedPage[] = [
  { name: "login", path: "/accounts/login/", isPublic: true },
  { name: "api-reference", path: "/docs/api", isPublic: true },
];

/** The list, with all path parameters filled in. Throws for an unknown parameter. */
export function listPages({ project, check, run, incident }: PageSubjects): ListedPage[] {
  const own = PAGE_PATHS.map(({ name, path }) => ({
    name,
    path: path.replaceAll(/:([a-z]+)/g, (_, word: string) => {
      const n = String(name === "incident" ? incident : run);
      const subject = ({ project, check, n } as Readonly<Record<string, string>>)[word];
      if (subject === undefined) throw new Error(`nothing is known to stand for :${word} in ${path}`);
      return subject;
    }),
    isPublic: false,
  }));
  const board = { name: "board", path: `${pathOf(own, "checks")}?board`, isPublic: false };
  return [...own, board, ...PUBLIC];
}

function pathOf(pages: readonly ListedPage[], name: string): string {
  return pages.find((page) => page.name === name)?.path ?? "";
}
