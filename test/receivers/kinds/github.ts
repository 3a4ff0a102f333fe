// Issues of a repository, by https://docs.github.com/en/rest/issues/issues and /comments. Keeps the issues.
import {
  isText,
  jsonProblems,
  type KindReceiver,
  type Received,
  type Receiver,
  startReceiver,
  type Verdict,
} from "../receiver.ts";

const TOKEN = "github_pat_11AAAAAAA0abcdefghijkl";
const REPOSITORY = "/repos/octo-org/shop.ops/issues";
const BODY_MAX = 65_536;

export type Issue = {
  number: number;
  title: string;
  body: string;
  labels: readonly string[];
  state: "open" | "closed";
  author_association: string;
  comments: string[];
  pull_request?: object;
};

export type GitHubReceiver = Receiver & { issues: Issue[] };

/** GitHub links and notifies in prose, but not in code and comments of HTML. */
function rings(body: string): boolean {
  const prose = body
    .replace(/^```\n[\s\S]*?\n```$/gm, "")
    .replace(/`[^`\n]*`/g, "")
    .replace(/<!--.*?-->/g, "")
    .replace(/\]\(https:\/\/overdue[^)]*\)/g, "");
  return /@[a-z0-9*]|(#|GH-)\d|(?<!\\)<[a-z!/]/i.test(prose);
}

function bodyProblems({ json }: Received): string[] {
  const { body } = json;
  if (!isText(body, { max: BODY_MAX })) return ["body is too long (maximum is 65536 characters)"];
  return rings(body) ? [`the text rings: ${body.slice(0, 200)}`] : [];
}

export async function startGitHub(): Promise<GitHubReceiver> {
  const issues: Issue[] = [];
  const judge = (request: Received): Verdict => {
    const { method, path, headers, json } = request;
    const { pathname, searchParams } = new URL(path, "https://api.github.com");
    const missing = [
      ...(headers.accept === "application/vnd.github+json" ? [] : ["the accepted type is missing"]),
      ...(headers["x-github-api-version"] === "2022-11-28" ? [] : ["the version is missing"]),
    ];
    if (headers.authorization !== `Bearer ${TOKEN}`)
      return { answer: { status: 401, body: { message: "Bad credentials" } }, problems: ["bad credentials"] };
    if (!pathname.startsWith(REPOSITORY)) return { answer: { status: 404, body: { message: "Not Found" } } };
    if (method === "GET" && pathname === REPOSITORY)
      return { answer: { status: 200, body: listed(issues, searchParams) }, problems: missing };
    const problems = [
      ...missing,
      ...jsonProblems({ ...request, method: method === "PATCH" ? "POST" : method }),
    ];
    const [, number, action] = /^\/(\d+)(\/comments)?$/.exec(pathname.slice(REPOSITORY.length)) ?? [];
    const issue = issues.find((one) => one.number === Number(number));
    if (number !== undefined && issue === undefined)
      return { answer: { status: 404, body: { message: "Not Found" } } };
    if (issue !== undefined && method === "GET") {
      const body = issue.comments
        .map((text) => ({ body: text }))
        .slice(0, Number(searchParams.get("per_page")));
      return { answer: { status: 200, body }, problems: missing };
    }
    if (issue !== undefined && method === "PATCH" && action === undefined) {
      if (json["state"] !== "closed") problems.push("the state is unknown");
      issue.state = "closed";
      return { answer: { status: 200, body: { number: issue.number } }, problems };
    }
    problems.push(...bodyProblems(request));
    if (issue === undefined && !isText(json["title"], { max: 256 })) problems.push("title is too long");
    const { labels = [] } = json;
    if (!Array.isArray(labels) || !labels.every((label) => isText(label, { max: 50 })))
      problems.push("a label is none");
    if (problems.length > 0)
      return { answer: { status: 422, body: { message: "Validation Failed" } }, problems };
    if (issue !== undefined) {
      issue.comments.push(String(json["body"]));
      return { answer: { status: 201, body: { id: 1 } } };
    }
    const made = { title: String(json["title"]), body: String(json["body"]), labels: labels as string[] };
    issues.push({
      ...made,
      number: issues.length + 1,
      state: "open",
      author_association: "MEMBER",
      comments: [],
    });
    return { answer: { status: 201, body: { number: issues.length } } };
  };
  return { ...(await startReceiver(judge)), issues };
}

/** A page of the list, newest first. */
function listed(issues: readonly Issue[], query: URLSearchParams): object[] {
  const wanted = (query.get("labels") ?? "").split(",").filter((label) => label !== "");
  const size = Math.min(Number(query.get("per_page") ?? 30), 100);
  const first = (Number(query.get("page") ?? 1) - 1) * size;
  return issues
    .filter(({ state }) => state === (query.get("state") ?? "open"))
    .filter(({ labels }) => wanted.every((label) => labels.includes(label)))
    .toReversed()
    .slice(first, first + size);
}

export const receiver: KindReceiver = {
  config: { token: TOKEN, repo: "octo-org/shop.ops", labels: "ops, cron job" },
  origins: ["https://api.github.com"],
  start: startGitHub,
  answers: [
    { status: 401, body: { message: "Bad credentials" }, means: "gone" },
    { status: 403, body: { message: "Resource not accessible by personal access token" }, means: "gone" },
    { status: 403, body: { message: "You have exceeded a secondary rate limit." }, means: "retry" },
    { status: 404, body: { message: "Not Found" }, means: "gone" },
    { status: 410, body: { message: "Issues has been disabled in this repository." }, means: "gone" },
    { status: 422, body: { message: "Validation Failed" }, means: "once" },
    { status: 429, body: { message: "API rate limit exceeded" }, means: "retry" },
  ],
};
