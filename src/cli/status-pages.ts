// `overdue status-pages`: lists, creates and deletes status pages, and publishes on them, by the API of a running server.
import { type Command, InvalidArgumentError } from "commander";
import type { NewStatusPage, StatusPage, StatusPost } from "../contract/api/status-pages.ts";
import { isUuid } from "../core/identity.ts";
import type { Instant } from "../core/instant.ts";
import {
  addConnectionOptions,
  type ApiConnection,
  CONNECTION_HELP,
  type ConnectionOptions,
  onApi,
} from "./api-connection.ts";
import { parseTime } from "./arguments.ts";
import {
  type CommandContext,
  CommandError,
  EXIT,
  isoTime,
  printJson,
  renderColumns,
  shownTime,
} from "./command-context.ts";

const AFTER_HELP = `
A status page shows the state of chosen checks to the public, under names that you choose. Pages are named by their slug,
the last part of their address.
${CONNECTION_HELP}

Examples:
  $ overdue status-pages list
  $ overdue status-pages show nordlight
  $ overdue status-pages create --slug acme --title "Acme" \\
      --tag db=Database --check f618072a-7bde-4eee-af63-71a77c5723bc=Backups
  $ overdue status-pages publish nordlight --title "Invoices are late" \\
      --text "We are on it."
  $ overdue status-pages publish nordlight --title "Upgrade" \\
      --text "Exports may be late." \\
      --from "2026-12-01 22:00" --until "2026-12-02 02:00"
  $ overdue status-pages posts nordlight
  $ overdue status-pages note nordlight --text "All were sent." --resolved
  $ overdue status-pages delete nordlight
  $ overdue status-pages restore nordlight`;

type Shared = ConnectionOptions & { json?: true };
type Source = { name: string; check: string | null; tag: string | null };
type CreateOptions = Shared & {
  slug: string;
  title: string;
  description?: string;
  check?: Source[];
  tag?: Source[];
};
type PublishOptions = Shared & {
  title: string;
  text: string;
  incident?: number;
  from?: Instant;
  until?: Instant;
};
type NoteOptions = Shared & { text: string; resolved?: true };

/** Adds the commands. */
export function defineStatusPages(command: Command, context: CommandContext): void {
  command.addHelpText("after", AFTER_HELP);
  const add = (name: string, description: string) =>
    addConnectionOptions(command.command(name).description(description));

  add("list", "List the status pages of the project")
    .option("--deleted", "List pages that can be restored instead")
    .option("--json", "Output JSON (pages)")
    .action((options: Shared & { deleted?: true }) => list(context, options));
  add("show", "Show a status page")
    .argument("<slug>", "Slug of the page")
    .option("--json", "Output JSON (the page)")
    .action((slug: string, options: Shared) => show(context, slug, options));
  add("create", "Create a status page")
    .requiredOption("--slug <slug>", "Last part of its address")
    .requiredOption("--title <text>", "Title of the page")
    .option("--description <text>", "Text below the title")
    .option("--check <uuid=name...>", "Show this check under a public name", collectCheck)
    .option(
      "--tag <tag=name...>",
      "Show all checks with this tag as one entry under a public name",
      collectTag,
    )
    .option("--json", "Output JSON (the page)")
    .action((options: CreateOptions) => create(context, options));
  add("publish", "Publish an incident, or with --until planned maintenance")
    .argument("<slug>", "Slug of the page")
    .requiredOption("--title <text>", "Public title")
    .requiredOption("--text <text>", "Public text of the first note")
    .option("--incident <number>", "Incident of the project that it is about", numberOf)
    .option("--from <time>", "When it began or begins (default: now)", parseTime)
    .option("--until <time>", "Planned end of the maintenance", parseTime)
    .option("--json", "Output JSON (what was published)")
    .action((slug: string, options: PublishOptions) => publish(context, slug, options));
  add("posts", "List incidents and maintenance of a page")
    .argument("<slug>", "Slug of the page")
    .option("--json", "Output JSON (posts)")
    .action((slug: string, options: Shared) => listPosts(context, slug, options));
  add("note", "Add a public note")
    .argument("<slug>", "Slug of the page")
    .argument("[id]", "ID of the incident or maintenance (default: the newest one that has not ended)")
    .requiredOption("--text <text>", "Public text")
    .option("--resolved", "Also end it")
    .option("--json", "Output JSON (what is published)")
    .action((slug: string, id: string | undefined, options: NoteOptions) =>
      note(context, { slug, id, options }),
    );
  add("delete", "Delete a status page; it can be restored for 7 days")
    .argument("<slug>", "Slug of the page")
    .option("--json", "Output JSON (deleted)")
    .action((slug: string, options: Shared) => remove(context, slug, options));
  add("restore", "Restore a deleted status page")
    .argument("<slug>", "Slug of the page")
    .option("--json", "Output JSON (the page)")
    .action((slug: string, options: Shared) => restore(context, slug, options));
}

function numberOf(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new InvalidArgumentError("Not the number of an incident.");
  return Number(text);
}

/** Splits `what=public name`. */
function sourceOf(text: string): { what: string; name: string } {
  const at = text.indexOf("=");
  const [what, name] = [text.slice(0, at).trim(), text.slice(at + 1).trim()];
  if (at < 1 || name === "") throw new InvalidArgumentError("Give a public name after =.");
  return { what, name };
}

function collectCheck(text: string, before: readonly Source[] = []): Source[] {
  const { what, name } = sourceOf(text);
  const check = what.toLowerCase();
  if (!isUuid(check)) throw new InvalidArgumentError("Not the UUID of a check.");
  return [...before, { name, check, tag: null }];
}

function collectTag(text: string, before: readonly Source[] = []): Source[] {
  const { what: tag, name } = sourceOf(text);
  return [...before, { name, check: null, tag }];
}

async function pagesOf(
  { client, project }: ApiConnection,
  state: "current" | "deleted",
): Promise<StatusPage[]> {
  return (await client.call("listStatusPages", { project, query: { state } })).pages;
}

async function pageOf(
  api: ApiConnection,
  { slug, state = "current" }: { slug: string; state?: "current" | "deleted" },
): Promise<StatusPage> {
  const page = (await pagesOf(api, state)).find((one) => one.slug === slug);
  if (page === undefined) throw new CommandError(`The project has no such status page: ${slug}`, EXIT.failed);
  return page;
}

async function list(context: CommandContext, options: Shared & { deleted?: true }): Promise<void> {
  const pages = await onApi(context, options, (api) => pagesOf(api, options.deleted ? "deleted" : "current"));
  if (options.json) return printJson(context, { pages: pages.map(jsonOf) });
  if (pages.length === 0) return context.err("No status pages.\n");
  context.out(renderColumns(pages.map(({ slug, state, title, url }) => [slug, state, title, url])));
}

async function show(context: CommandContext, slug: string, options: Shared): Promise<void> {
  const page = await onApi(context, options, (api) => pageOf(api, { slug }));
  if (options.json) return printJson(context, jsonOf(page));
  const rows = [
    ["Title", page.title],
    ["Address", page.url],
    ["State", page.state],
    ["Visibility", page.visibility],
    ["Subscribers", String(page.subscriberCount)],
    ...(page.domain === null ? [] : domainRows(page.domain)),
    ...page.groups.flatMap((group) =>
      group.entries.map(({ name, check, tag }) => [
        group.name === "" ? "Entry" : group.name,
        `${name} (${tag === null ? (check ?? "deleted check") : `tag ${tag}`})`,
      ]),
    ),
  ];
  context.out(renderColumns(rows));
}

function domainRows({ name, state, recordName, recordValue }: NonNullable<StatusPage["domain"]>): string[][] {
  return [
    ["Domain", `${name} (${state})`],
    ["DNS record", `${recordName} TXT ${recordValue}`],
  ];
}

async function create(context: CommandContext, options: CreateOptions): Promise<void> {
  const { slug, title, description, check = [], tag = [] } = options;
  const entries = [...check, ...tag];
  const body: NewStatusPage = {
    slug,
    title,
    ...(description !== undefined && { description }),
    ...(entries.length > 0 && { groups: [{ name: "", entries }] }),
  };
  const page = await onApi(context, options, ({ client, project }) =>
    client.call("createStatusPage", { project, body }),
  );
  if (options.json) return printJson(context, jsonOf(page));
  context.out(`Created ${page.url}\n`);
}

async function publish(context: CommandContext, slug: string, options: PublishOptions): Promise<void> {
  const { title, text, incident, from, until } = options;
  const kind = until === undefined ? ("incident" as const) : ("maintenance" as const);
  const post = await onApi(context, options, async (api) => {
    const { id: page } = await pageOf(api, { slug });
    return api.client.call("createStatusPost", {
      project: api.project,
      page,
      body: {
        kind,
        title,
        text,
        ...(incident !== undefined && { incident }),
        ...(from !== undefined && { from }),
        ...(until !== undefined && { until }),
      },
    });
  });
  if (options.json) return printJson(context, postJson(post));
  context.out(`Published ${kind} ${post.id}.\n`);
}

async function postsOf(api: ApiConnection, page: string): Promise<StatusPost[]> {
  const { posts } = await api.client.call("listStatusPosts", { project: api.project, page, query: {} });
  return posts;
}

async function listPosts(context: CommandContext, slug: string, options: Shared): Promise<void> {
  const posts = await onApi(context, options, async (api) => postsOf(api, (await pageOf(api, { slug })).id));
  if (options.json) return printJson(context, { posts: posts.map(postJson) });
  if (posts.length === 0) return context.err("Nothing is published.\n");
  const rows = posts.map(({ id, kind, from, until, title }) => [
    id,
    kind,
    shownTime(from) ?? "",
    shownTime(until) ?? "open",
    title,
  ]);
  context.out(renderColumns(rows));
}

async function note(
  context: CommandContext,
  { slug, id, options }: { slug: string; id: string | undefined; options: NoteOptions },
): Promise<void> {
  const { text, resolved } = options;
  const post = await onApi(context, options, async (api) => {
    const { id: page } = await pageOf(api, { slug });
    const named = id ?? (await newestOpen(api, page));
    const body = { text, ...(resolved && { isResolved: true }) };
    return api.client.call("addStatusNote", { project: api.project, page, post: named, body });
  });
  if (options.json) return printJson(context, postJson(post));
  context.out(resolved ? `Published and ended: ${post.title}\n` : `Published: ${post.title}\n`);
}

async function newestOpen(api: ApiConnection, page: string): Promise<string> {
  const open = (await postsOf(api, page)).find(({ until }) => until === null || until > Date.now());
  if (open === undefined) throw new CommandError("Everything on this page has ended.", EXIT.failed);
  return open.id;
}

async function remove(context: CommandContext, slug: string, options: Shared): Promise<void> {
  await onApi(context, options, async (api) => {
    const { id: page } = await pageOf(api, { slug });
    await api.client.call("deleteStatusPage", { project: api.project, page });
  });
  if (options.json) return printJson(context, { deleted: slug });
  context.out(`Deleted ${slug}. To restore it, run: overdue status-pages restore ${slug}\n`);
}

async function restore(context: CommandContext, slug: string, options: Shared): Promise<void> {
  const page = await onApi(context, options, async (api) => {
    const { id } = await pageOf(api, { slug, state: "deleted" });
    return api.client.call("restoreStatusPage", { project: api.project, page: id });
  });
  if (options.json) return printJson(context, jsonOf(page));
  context.out(`Restored ${page.url}\n`);
}

/** For scripts: times as ISO 8601 in UTC, as in all commands. */
function jsonOf(page: StatusPage): Record<string, unknown> {
  const { domain, createdAt, deletedAt, subscriberCount, ...rest } = page;
  return {
    ...rest,
    domain: domain && {
      name: domain.name,
      state: domain.state,
      record_name: domain.recordName,
      record_value: domain.recordValue,
    },
    subscriber_count: subscriberCount,
    created_at: isoTime(createdAt),
    deleted_at: isoTime(deletedAt),
  };
}

function postJson(post: StatusPost): Record<string, unknown> {
  const { id, kind, title, entries, from, until, incident, notes } = post;
  return {
    id,
    kind,
    title,
    entries,
    from: isoTime(from),
    until: isoTime(until),
    incident,
    notes: notes.map(({ at, text }) => ({ at: isoTime(at), text })),
  };
}
