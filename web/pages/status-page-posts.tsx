// Publishing on a status page: incidents and maintenance with their notes. Everything here is public.
import { useInfiniteQuery } from "@tanstack/react-query";
import { type FormEvent, useId, useState } from "react";
import { FIELD_LENGTHS, LIST_PAGE_MAX } from "../../src/contract/api/limits.ts";
import type { NewStatusPost, StatusPage, StatusPost } from "../../src/contract/api/status-pages.ts";
import { call, errorText } from "../api.ts";
import { userZone } from "../boot.ts";
import { serverNow, useMinute } from "../live/clock.ts";
import { ConfirmButton } from "../parts/dialogs.tsx";
import { Button } from "../ui/button.tsx";
import { Drawer } from "../ui/dialog.tsx";
import { SelectField, TextArea, TextField, Tick } from "../ui/field.tsx";
import { Failed, Loading } from "../ui/page-state.tsx";
import { toast } from "../ui/toast.tsx";
import { formatWhen, instantOfLocal, localMinute } from "../words/format.ts";
import { postState, statusPostWords as words } from "../words/status-pages.ts";
import { useOpenIncidents } from "./use-incidents.ts";
import { statusPagesKey, useRefreshPages } from "./use-status-pages.ts";

type Props = { project: string; page: StatusPage; onClose: () => void };

export function StatusPostsDrawer({ project, page, onClose }: Props) {
  const [isUnsaved, setUnsaved] = useState(false);
  return (
    <Drawer
      isOpen
      onClose={onClose}
      isUnsaved={isUnsaved}
      title={words.title(page.title)}
      description={words.about}
    >
      <NewPost key={page.id} {...{ project, page }} onUnsaved={setUnsaved} />
      <Posts project={project} page={page} />
    </Drawer>
  );
}

type PostForm = {
  kind: StatusPost["kind"];
  title: string;
  text: string;
  entries: readonly string[];
  from: string;
  until: string;
  /** Of the project; "": none. */
  incident: string;
};

const HOUR_MS = 3_600_000;

function emptyForm(now: number): PostForm {
  const nextHour = Math.ceil(now / HOUR_MS) * HOUR_MS;
  return {
    kind: "incident",
    title: "",
    text: "",
    entries: [],
    from: localMinute(nextHour, userZone),
    until: localMinute(nextHour + 2 * HOUR_MS, userZone),
    incident: "",
  };
}

/** The request that publishes it. An incident begins now. */
function postBody(form: PostForm, zone: string): NewStatusPost {
  const { kind, entries, incident } = form;
  const common = { kind, title: form.title.trim(), text: form.text.trim(), entries: [...entries] };
  if (kind === "incident") return { ...common, ...(incident !== "" && { incident: Number(incident) }) };
  const from = instantOfLocal(form.from, zone);
  const until = instantOfLocal(form.until, zone);
  return { ...common, ...(from !== null && { from }), ...(until !== null && { until }) };
}

type NewPostProps = Omit<Props, "onClose"> & { onUnsaved: (isUnsaved: boolean) => void };

function NewPost({ project, page, onUnsaved }: NewPostProps) {
  const [form, setForm] = useState(() => emptyForm(serverNow()));
  const [trouble, setTrouble] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const refresh = useRefreshPages(project);
  const set = (change: Partial<PostForm>) => {
    const next = { ...form, ...change };
    setForm(next);
    setTrouble(null);
    onUnsaved(next.title !== "" || next.text !== "");
  };
  const { kind } = form;
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setTrouble(null);
    try {
      const post = await call("createStatusPost", { project, page: page.id, body: postBody(form, userZone) });
      toast({ text: words.published(post.title) });
      setForm(emptyForm(serverNow()));
      onUnsaved(false);
      await refresh();
    } catch (error) {
      setTrouble(error);
    } finally {
      setBusy(false);
    }
  };
  const isComplete = form.title.trim() !== "" && form.text.trim() !== "";
  return (
    <form className="form" onSubmit={(event) => void submit(event)} noValidate>
      <div className="check-switch" role="group" aria-label={words.kind}>
        {(["incident", "maintenance"] as const).map((name) => (
          <button key={name} type="button" aria-pressed={kind === name} onClick={() => set({ kind: name })}>
            {words.kinds[name]}
          </button>
        ))}
      </div>
      <TextField
        label={words.heading}
        hint={words.headingHint[kind]}
        value={form.title}
        maxLength={FIELD_LENGTHS.statusPostTitle}
        autoComplete="off"
        dir="auto"
        onChange={({ target }) => set({ title: target.value })}
      />
      <TextArea
        label={words.text}
        hint={words.textHint}
        rows={3}
        value={form.text}
        maxLength={FIELD_LENGTHS.statusNote}
        dir="auto"
        onChange={({ target }) => set({ text: target.value })}
      />
      {kind === "maintenance" ? (
        <div className="form-pair">
          <TextField
            label={words.from}
            type="datetime-local"
            value={form.from}
            onChange={({ target }) => set({ from: target.value })}
          />
          <TextField
            label={words.until}
            type="datetime-local"
            value={form.until}
            onChange={({ target }) => set({ until: target.value })}
          />
        </div>
      ) : (
        <IncidentChoice project={project} value={form.incident} onChange={(incident) => set({ incident })} />
      )}
      <Affected page={page} chosen={form.entries} onChange={(entries) => set({ entries })} />
      {trouble !== null && (
        <p className="mistake" role="alert">
          {errorText(trouble)}
        </p>
      )}
      <div className="form-acts">
        <Button kind="primary" type="submit" isBusy={isBusy} disabled={!isComplete}>
          {words.publish[kind]}
        </Button>
      </div>
    </form>
  );
}

type ChoiceProps = { project: string; value: string; onChange: (incident: string) => void };

function IncidentChoice({ project, value, onChange }: ChoiceProps) {
  const { data } = useOpenIncidents(project);
  const incidents = data?.incidents ?? [];
  if (incidents.length === 0) return null;
  return (
    <SelectField label={words.incident} value={value} onChange={({ target }) => onChange(target.value)}>
      <option value="">{words.noIncident}</option>
      {incidents.map(({ number }) => (
        <option key={number} value={number}>
          {words.incidentNumber(number)}
        </option>
      ))}
    </SelectField>
  );
}

type AffectedProps = {
  page: StatusPage;
  chosen: readonly string[];
  onChange: (entries: readonly string[]) => void;
};

function Affected({ page, chosen, onChange }: AffectedProps) {
  const id = useId();
  const entries = page.groups.flatMap((group) => group.entries);
  if (entries.length === 0) return null;
  const toggle = (one: string) =>
    onChange(chosen.includes(one) ? chosen.filter((other) => other !== one) : [...chosen, one]);
  return (
    <div className="field">
      <span className="label" id={id}>
        {words.affected}
      </span>
      <div className="status-tags" role="group" aria-labelledby={id}>
        {entries.map((entry) => (
          <button
            key={entry.id}
            type="button"
            className="chip is-quiet"
            aria-pressed={chosen.includes(entry.id)}
            onClick={() => toggle(entry.id)}
          >
            <bdi>{entry.name}</bdi>
          </button>
        ))}
      </div>
    </div>
  );
}

// What was published, newest first.

function Posts({ project, page }: Omit<Props, "onClose">) {
  const query = useInfiniteQuery({
    queryKey: [...statusPagesKey(project), "posts", page.id],
    queryFn: ({ pageParam, signal }) => {
      const asked = { limit: LIST_PAGE_MAX, ...(pageParam !== null && { cursor: pageParam }) };
      return call("listStatusPosts", { project, page: page.id, query: asked }, signal);
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
  });
  if (query.isError) return <Failed error={query.error} onRetry={() => void query.refetch()} />;
  if (query.data === undefined) return <Loading rows={2} />;
  const posts = query.data.pages.flatMap((one) => one.posts);
  return (
    <section aria-labelledby="status-posts">
      <h3 className="status-posts-title" id="status-posts">
        {words.list}
      </h3>
      {posts.length === 0 && <p className="hint">{words.none}</p>}
      <div className="status-posts">
        {posts.map((post) => (
          <Post key={post.id} {...{ project, page, post }} />
        ))}
        {query.hasNextPage && (
          <Button isBusy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            {words.older}
          </Button>
        )}
      </div>
    </section>
  );
}

type PostProps = { project: string; page: StatusPage; post: StatusPost };

function Post({ project, page, post }: PostProps) {
  const now = useMinute();
  const reader = { now, zone: userZone };
  const refresh = useRefreshPages(project);
  const [isWriting, setWriting] = useState(false);
  const [trouble, setTrouble] = useState<unknown>(null);
  const state = postState(post, now);
  const when =
    post.until === null
      ? formatWhen(post.from, reader)
      : words.range(formatWhen(post.from, reader), formatWhen(post.until, reader));
  const remove = async () => {
    try {
      await call("deleteStatusPost", { project, page: page.id, post: post.id });
      toast({ text: words.removed(post.title) });
      await refresh();
    } catch (error) {
      setTrouble(error);
    }
  };
  return (
    <article className="status-post">
      <h4>
        <bdi>{post.title}</bdi>
        <span className="tag">{words.states[state]}</span>
      </h4>
      <p className="figures">{when}</p>
      {post.notes.map((note) => (
        <p key={note.id} dir="auto">
          {note.text}
        </p>
      ))}
      {isWriting ? (
        <NoteForm
          {...{ project, page, post }}
          isOver={state === "resolved" || state === "completed"}
          onDone={() => setWriting(false)}
        />
      ) : (
        <div className="status-adds">
          <Button aria-label={words.writeOf(post.title)} onClick={() => setWriting(true)}>
            {words.write}
          </Button>
          <ConfirmButton
            label={words.removeOf(post.title)}
            title={words.removeTitle(post.title)}
            text={words.removeText}
            act={words.remove}
            onAct={() => void remove()}
            error={trouble}
          />
        </div>
      )}
    </article>
  );
}

/** The button that opened the form is gone. */
function focusNow(field: HTMLTextAreaElement | null): void {
  field?.focus();
}

function NoteForm({
  project,
  page,
  post,
  isOver,
  onDone,
}: PostProps & { isOver: boolean; onDone: () => void }) {
  const [text, setText] = useState("");
  const [isResolved, setResolved] = useState(false);
  const [trouble, setTrouble] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const refresh = useRefreshPages(project);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      const body = { text: text.trim(), ...(isResolved && { isResolved }) };
      await call("addStatusNote", { project, page: page.id, post: post.id, body });
      toast({ text: words.noted(post.title) });
      await refresh();
      onDone();
    } catch (error) {
      setTrouble(error);
      setBusy(false);
    }
  };
  return (
    <form className="form" onSubmit={(event) => void submit(event)} noValidate>
      <TextArea
        label={words.note}
        rows={2}
        value={text}
        maxLength={FIELD_LENGTHS.statusNote}
        dir="auto"
        ref={focusNow}
        error={trouble === null ? null : errorText(trouble)}
        onChange={({ target }) => setText(target.value)}
      />
      {!isOver && (
        <Tick
          label={words.resolve[post.kind]}
          checked={isResolved}
          onCheckedChange={(isOn) => setResolved(isOn === true)}
        />
      )}
      <div className="form-acts">
        <Button onClick={onDone}>{words.cancel}</Button>
        <Button kind="primary" type="submit" isBusy={isBusy} disabled={text.trim() === ""}>
          {words.addNote}
        </Button>
      </div>
    </form>
  );
}
