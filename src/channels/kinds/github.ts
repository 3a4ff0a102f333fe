// GitHub: a check that goes down opens an issue in a repository. Later messages are comments while the issue is open.
import type { Static } from "typebox";
import type { SendResult } from "../../core/delivery.ts";
import { HOUR_MS, type Instant } from "../../core/instant.ts";
import { SEND_MS_MAX } from "../../core/limits.ts";
import type { OutgoingRequest } from "../../lib/outgoing-http.ts";
import type { ChannelKind, Outgoing } from "../channel-kind.ts";
import { configSchema, switchField, textField, tokenField } from "../config-fields.ts";
import { toOutgoing } from "../http-kind.ts";
import { type Answers, failedToSend, interpret, jsonOf, rejectionsIn, sendRequest } from "../http-request.ts";
import { incidentEvent } from "../incident-event.ts";
import { type Dialect, JOINER, MARKDOWN, partsOf, withoutMentions, withoutTags } from "../layout.ts";
import { clipEnd, clipStart, type MessageText, messageText, oneLine } from "../message-text.ts";

const API = "https://api.github.com/repos";
const TITLE_LENGTH_MAX = 256;
const LABELS_MAX = 10;
const LABEL_LENGTH_MAX = 50;
const VALUE_LENGTH_MAX = 1_000;
const NAMES_LENGTH_MAX = 4_000;
const OUTPUT_LENGTH_MAX = 10_000;
/** The issues that are searched, by the time of their last change. */
const PAGES_MAX = 3;
const PAGE_ISSUES = 50;
const COMMENTS_MAX = 100;
/** How far the clocks may differ. */
const CLOCKS_MS = HOUR_MS;
/** Issues of other people may be long. */
const PAGE_BYTES_MAX = 4 * 1024 * 1024;
/** The pages, the comments, a comment, and closing: all together must end in time. */
const REQUEST_MS_MAX = SEND_MS_MAX / (PAGES_MAX + 3);
/** In a public repository, strangers can open issues, and copy our mark into one. */
const AUTHORS: readonly unknown[] = ["OWNER", "MEMBER", "COLLABORATOR"];

const SCHEMA = configSchema({
  token: tokenField({
    about: "A fine-grained personal access token with write access to the issues of the repository.",
    lengthMax: 300,
  }),
  repo: textField({
    about: "The repository, such as octo-org/shop.",
    lengthMax: 200,
    pattern: "^[A-Za-z0-9-]+/[A-Za-z0-9._-]+$",
    must: "a repository in the form owner/name",
  }),
  labels: textField({
    about: "Labels for new issues, separated by commas. Labels that do not exist are created.",
    lengthMax: 500,
    fallback: "",
  }),
  close_on_up: switchField({
    about: "Close the issue when the check comes back up.",
    fallback: true,
  }),
  notice: switchField({
    about: "Open an issue for notices, such as monitoring gap notices.",
    fallback: false,
  }),
});

type Config = Static<typeof SCHEMA>;

const ANSWERS: Answers = {
  gone: [
    { status: 401, reason: "GitHub rejected the token" },
    {
      status: 403,
      json: { message: /Resource not accessible/ },
      reason: "The token has no write access to issues",
    },
    { status: 404, reason: "The repository does not exist, or the token has no access to it" },
    { status: 410, reason: "Issues are disabled in the repository" },
  ],
  once: [{ status: 422, reason: "GitHub rejected the issue" }],
};

function labelsOf({ labels }: Pick<Config, "labels">): string[] {
  return labels
    .split(",")
    .map((label) => label.trim())
    .filter((label) => label !== "");
}

/** Names, commits and numbers of issues notify people in prose, even if they are escaped; in code they do not. */
const ISSUE: Dialect = {
  ...MARKDOWN,
  text: (foreign) =>
    withoutMentions(MARKDOWN.text(foreign)).replace(/#|GH(?=-\d)/gi, (sign) => sign + JOINER),
  code: (foreign) => MARKDOWN.code(oneLine(foreign)),
  link: ({ text, url }) => `[${ISSUE.code(text)}](${url})`,
};

/** The text of an issue or a comment. Everything in it is limited, far below the limit of GitHub. */
function bodyOf(words: MessageText): string {
  const limits = { names: NAMES_LENGTH_MAX, value: VALUE_LENGTH_MAX, name: ISSUE.link };
  const { sentences, history, lists, others } = partsOf(words, ISSUE, limits);
  const facts = words.facts.map(
    ({ label, value }) => `**${label}:** ${ISSUE.code(clipStart(value, VALUE_LENGTH_MAX))}  `,
  );
  const output =
    words.output === null ? [] : ["**Last output:**", ISSUE.block(clipEnd(words.output, OUTPUT_LENGTH_MAX))];
  // Without the link to acknowledge, which works for everyone who has it: the repository may be public.
  const links = [MARKDOWN.link(words.link)];
  const parts = [sentences, history, ...lists, facts, others, output, links];
  return parts
    .filter((part) => part.length > 0)
    .map((part) => part.join("\n"))
    .join("\n\n");
}

/** No text of other people contains one of our marks. */
function marked(body: string, marks: readonly string[]): string {
  return [body.replaceAll("<!--", withoutTags("<!--")), ...marks.map((mark) => `<!-- ${mark} -->`)].join(
    "\n\n",
  );
}

/** Sends the requests of one message. */
function client({ token, repo }: Config, { http, now }: Pick<Outgoing, "http" | "now">) {
  const outgoing = (method: OutgoingRequest["method"], path: string, json?: unknown): OutgoingRequest => ({
    ...toOutgoing({
      method,
      url: `${API}/${repo}/issues${path}`,
      headers: {
        Accept: "application/vnd.github+json",
        Authorization: `Bearer ${token}`,
        "X-GitHub-Api-Version": "2022-11-28",
      },
      ...(json === undefined ? {} : { json }),
    }),
    timeoutMs: REQUEST_MS_MAX,
  });
  return {
    write: (method: "POST" | "PATCH", path: string, json: unknown, answers: Answers = {}) =>
      sendRequest(outgoing(method, path, json), { http, now }, answers),
    list: async (
      path: string,
      query: Readonly<Record<string, string>>,
    ): Promise<{ result: SendResult; items: unknown[] }> => {
      const summary = "GET api.github.com";
      try {
        const answer = await http.send({
          ...outgoing("GET", `${path}?${new URLSearchParams(query).toString()}`),
          answerBytesMax: PAGE_BYTES_MAX,
        });
        const result = interpret(answer, { summary, now, answers: ANSWERS });
        if (result.kind === "failed") return { result, items: [] };
        // An excerpt of the list would say nothing about the message.
        return { result: { ...result, excerpt: null }, items: Object.values(jsonOf(answer)) };
      } catch (error) {
        return { result: failedToSend(error, summary), items: [] };
      }
    },
  };
}

type Issue = { number: number; body: string };

/** An issue of ours with a mark, or null. */
function issueWith(mark: string, given: unknown): Issue | null {
  if (typeof given !== "object" || given === null || "pull_request" in given) return null;
  const { number, body, author_association: author } = given as Readonly<Record<string, unknown>>;
  if (typeof number !== "number" || typeof body !== "string" || !AUTHORS.includes(author)) return null;
  return body.includes(mark) ? { number, body } : null;
}

/** The open issue with a mark, or null. A page that cannot be read counts as empty, so that it delays no alert. */
async function findIssue(
  { list }: ReturnType<typeof client>,
  { mark, labels }: { mark: string; labels: readonly string[] },
): Promise<{ result: SendResult; issue: Issue | null }> {
  for (let page = 1; ; page += 1) {
    const { result, items } = await list("", {
      state: "open",
      sort: "updated",
      per_page: String(PAGE_ISSUES),
      page: String(page),
      ...(labels.length === 0 ? {} : { labels: labels.join(",") }),
    });
    const issue = items.map((one) => issueWith(mark, one)).find((one) => one !== null) ?? null;
    const isLast = items.length < PAGE_ISSUES || page === PAGES_MAX;
    if (result.kind === "failed" || issue !== null || isLast) return { result, issue };
  }
}

/** Whether an earlier attempt has commented. If that cannot be read, a comment that is there twice does less harm. */
async function hasCommented(
  { list }: ReturnType<typeof client>,
  { number, mark, since }: { number: number; mark: string; since: Instant },
): Promise<boolean> {
  const query = { since: new Date(since).toISOString(), per_page: String(COMMENTS_MAX) };
  const { items } = await list(`/${number}/comments`, query);
  return items.some((comment) => JSON.stringify(comment).includes(mark));
}

export const github: ChannelKind<Config> = {
  name: "github",
  title: "GitHub",
  about:
    "Opens an issue in a GitHub repository when a check goes down. Optionally closes it when the check comes back up.",
  category: "automation",
  icon: "github",
  example: { token: "your-token", repo: "octo-org/shop" },
  guide: [
    "In GitHub, open **Settings**, then **Developer settings**, then **Personal access tokens**, then [Fine-grained tokens](https://github.com/settings/personal-access-tokens), and select **Generate new token**.",
    "Enter a name, and under **Resource owner** select the owner of the repository. Under **Repository access**, select **Only select repositories** and select the repository.",
    "Under **Permissions**, add **Issues** with **Read and write** access.",
    "Select **Generate token**, copy the token, and paste it into the form, together with the name of the repository. Replace the token before it expires: after that, the channel fails.",
    "Anyone who can read the repository can read the issues, which contain the last output of the job.",
  ],
  schema: SCHEMA,
  validate: (config) => {
    const labels = labelsOf(config);
    return labels.length > LABELS_MAX || labels.some((label) => label.length > LABEL_LENGTH_MAX)
      ? `Enter at most ${LABELS_MAX} labels of at most ${LABEL_LENGTH_MAX} characters each.`
      : null;
  },
  isSubscribed: (config, what) => what === "down" || (what === "up" ? config.close_on_up : config.notice),
  rejections: () => rejectionsIn(ANSWERS),
  rate: { perMinute: 20, burst: 5 },
  send: async (message, config, out) => {
    const words = messageText(message, out);
    const { key, action } = incidentEvent(message, words, out);
    const repository = client(config, out);
    const labels = labelsOf(config);
    const { result, issue } = await findIssue(repository, { mark: `<!-- overdue ${key} -->`, labels });
    if (result.kind === "failed") return result;
    const body = bodyOf(words);
    const sent = `message ${out.dedupeKey}`;
    const sentMark = `<!-- ${sent} -->`;
    if (issue === null) {
      if (action === "close") return result;
      const title = clipStart(words.headline, TITLE_LENGTH_MAX);
      const json = { title, body: marked(body, [`overdue ${key}`, sent]), labels };
      return repository.write("POST", "", json, ANSWERS);
    }
    // The issue was opened by an earlier attempt of this message.
    if (issue.body.includes(sentMark)) return result;
    const { number } = issue;
    const since = message.at - CLOCKS_MS;
    const isRepeated = out.attempt > 1 && (await hasCommented(repository, { number, mark: sentMark, since }));
    const comment = { body: `**${ISSUE.text(words.headline)}**\n\n${marked(body, [sent])}` };
    const commented = isRepeated ? result : await repository.write("POST", `/${number}/comments`, comment);
    if (commented.kind === "failed" || action === "open") return commented;
    return repository.write("PATCH", `/${number}`, { state: "closed", state_reason: "completed" });
  },
};
