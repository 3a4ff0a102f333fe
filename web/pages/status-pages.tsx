// The status pages of a project: their state, where they are served, and the forms to edit them and publish on them.
import "./status-pages.css";
import { useState } from "react";
import type { StatusPage } from "../../src/contract/api/status-pages.ts";
import { call } from "../api.ts";
import { mayIn } from "../boot.ts";
import type { DrawnState } from "../../src/contract/api/check-row.ts";
import { type PageProps, usePageTitle } from "../page-location.ts";
import { useShortcuts } from "../shortcuts.ts";
import { Button, Icon } from "../ui/button.tsx";
import { DocsLink } from "../ui/docs-link.tsx";
import { Mark, StateShape } from "../ui/marks.tsx";
import { Empty, Queried } from "../ui/page-state.tsx";
import { toast, toastError } from "../ui/toast.tsx";
import { STATUS_STATE_WORDS, statusPagesWords as words } from "../words/status-pages.ts";
import { StatusPageDrawer } from "./status-page-form.tsx";
import { StatusPostsDrawer } from "./status-page-posts.tsx";
import { useDeletedPages, useRefreshPages, useStatusPages } from "./use-status-pages.ts";

/** The form that is open over the page. */
type Opened = { form: "edit"; page: StatusPage | null } | { form: "posts"; page: StatusPage } | null;

export function StatusPagesPage({ params }: PageProps) {
  const project = params.project ?? "";
  const query = useStatusPages(project);
  const deleted = useDeletedPages(project);
  const [opened, setOpened] = useState<Opened>(null);
  const mayEdit = mayIn(project, "editStatusPages");
  const count = query.data?.length ?? 0;
  const isNone = query.data?.length === 0;
  const title = query.data === undefined ? words.tab : isNone ? words.none.title : words.title(count);
  usePageTitle(title);
  const create = () => setOpened({ form: "edit", page: null });
  useShortcuts(mayEdit ? [{ keys: "n", label: words.new, group: words.tab, run: create }] : []);
  const newButton = (
    <Button kind="primary" keys="n" onClick={create}>
      {words.new}
    </Button>
  );
  return (
    <>
      <header className="top">
        <h1>{title}</h1>
        <DocsLink to="statusPages" />
        {mayEdit && !isNone && newButton}
      </header>
      <Queried query={query}>
        {(pages) =>
          pages.length === 0 ? (
            <Empty title={words.none.title} docs="statusPages" action={mayEdit && newButton}>
              <p>{mayEdit ? words.none.text : words.none.readOnly}</p>
            </Empty>
          ) : (
            <>
              <p className="status-about">{words.about}</p>
              <ul className="status-pages" aria-label={words.list}>
                {pages.map((page) => (
                  <Line key={page.id} {...{ project, page, mayEdit }} onOpen={setOpened} />
                ))}
              </ul>
            </>
          )
        }
      </Queried>
      {mayEdit && <Deleted project={project} pages={deleted.data ?? []} />}
      {opened?.form === "edit" && (
        <StatusPageDrawer project={project} page={opened.page} onClose={() => setOpened(null)} />
      )}
      {opened?.form === "posts" && (
        <StatusPostsDrawer project={project} page={opened.page} onClose={() => setOpened(null)} />
      )}
    </>
  );
}

const SHAPES: Readonly<Record<Exclude<StatusPage["state"], "maintenance">, DrawnState>> = {
  operational: "up",
  delayed: "late",
  down: "down",
  unknown: "new",
};

function State({ state }: Pick<StatusPage, "state">) {
  return (
    <span className={`status-state is-${state}`}>
      {state === "maintenance" ? <Mark mark="planned" /> : <StateShape state={SHAPES[state]} label={null} />}
      {STATUS_STATE_WORDS[state]}
    </span>
  );
}

type LineProps = {
  project: string;
  page: StatusPage;
  mayEdit: boolean;
  onOpen: (opened: Opened) => void;
};

function Line({ project, page, mayEdit, onOpen }: LineProps) {
  const { title, visibility, domain, groups, subscriberCount } = page;
  const count = groups.reduce((sum, { entries }) => sum + entries.length, 0);
  return (
    <li className="status-page">
      <div className="status-what">
        <h2>
          <bdi>{title}</bdi>
          {visibility === "password" && <span className="tag">{words.password}</span>}
        </h2>
        <p>
          <a className="link" href={page.url} target="_blank" rel="noopener">
            {page.url.replace(/^https?:\/\//, "")}
            <Icon name="out" size={12} />
          </a>
        </p>
        {domain !== null && (
          <p className={domain.state === "proved" ? "" : "status-domain-missing"}>
            {words.domains[domain.state](domain.name)}
          </p>
        )}
      </div>
      <div className="status-facts">
        <State state={page.state} />
        <span className="figures">
          {words.entries(count)} · {words.subscribers(subscriberCount)}
        </span>
      </div>
      {mayEdit && (
        <div className="status-acts">
          <Button aria-label={words.postsOf(title)} onClick={() => onOpen({ form: "posts", page })}>
            {words.posts}
          </Button>
          <Button kind="bare" aria-label={words.editOf(title)} onClick={() => onOpen({ form: "edit", page })}>
            {words.edit}
          </Button>
          <DeleteButton project={project} page={page} />
        </div>
      )}
    </li>
  );
}

function DeleteButton({ project, page }: Pick<LineProps, "project" | "page">) {
  const [isBusy, setBusy] = useState(false);
  const refresh = useRefreshPages(project);
  const remove = async () => {
    setBusy(true);
    try {
      await call("deleteStatusPage", { project, page: page.id });
      const undo = async () => {
        await call("restoreStatusPage", { project, page: page.id });
        await refresh();
      };
      toast({ text: words.deleted(page.title), undo });
      await refresh();
    } catch (error) {
      toastError(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button kind="bare" isBusy={isBusy} aria-label={words.deleteOf(page.title)} onClick={() => void remove()}>
      {words.delete}
    </Button>
  );
}

function Deleted({ project, pages }: { project: string; pages: readonly StatusPage[] }) {
  const refresh = useRefreshPages(project);
  if (pages.length === 0) return null;
  const restore = async (page: StatusPage) => {
    try {
      await call("restoreStatusPage", { project, page: page.id });
      toast({ text: words.isRestored(page.title) });
      await refresh();
    } catch (error) {
      toastError(error);
    }
  };
  return (
    <section className="status-deleted" aria-labelledby="status-deleted">
      <h2 id="status-deleted">{words.restored}</h2>
      <ul>
        {pages.map((page) => (
          <li key={page.id}>
            <bdi>{page.title}</bdi>
            <Button kind="bare" aria-label={words.restoreOf(page.title)} onClick={() => void restore(page)}>
              {words.restore}
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}
