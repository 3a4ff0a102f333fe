// The form of a status page: what it shows, its look, who can read it, and its domain. Everything in it is saved at once.
import { useQueryClient } from "@tanstack/react-query";
import { type ChangeEvent, type FormEvent, useId, useMemo, useState } from "react";
import type { CheckRow } from "../../src/contract/api/check-row.ts";
import { FIELD_LENGTHS, STATUS_PAGE_LIMITS } from "../../src/contract/api/limits.ts";
import type { NewStatusPage, StatusBrand, StatusPage } from "../../src/contract/api/status-pages.ts";
import { checkName } from "../../src/contract/api/words.ts";
import { ApiError, call, errorText } from "../api.ts";
import { boot } from "../boot.ts";
import { useAllRows } from "../live/checks-store.ts";
import { CheckChoice, FindField } from "../parts/check-choice.tsx";
import { Conflict } from "../parts/conflict.tsx";
import { postCommand } from "../parts/curl.ts";
import { Button, Icon, IconButton } from "../ui/button.tsx";
import { CodeBlock } from "../ui/copy.tsx";
import { Drawer } from "../ui/dialog.tsx";
import { Field, TextArea, TextField } from "../ui/field.tsx";
import { toast, toastError } from "../ui/toast.tsx";
import { words as shared } from "../words/shared.ts";
import { statusFormWords as words } from "../words/status-pages.ts";
import { statusPagesKey, useRefreshPages } from "./use-status-pages.ts";

// The fields as values, and the requests they stand for.

type Color = keyof StatusBrand;
const COLORS = ["background", "accent", "ink", "button"] as const satisfies readonly Color[];
/** What the page uses if no color is chosen; shown in the color fields. */
const DEFAULT_COLORS: Readonly<Record<Color, string>> = {
  background: "#252650",
  accent: "#5a4aa8",
  ink: "#ffffff",
  button: "#252650",
};

export type EntryForm = {
  /** Of an existing entry. */
  id?: string;
  name: string;
  description: string;
  check: string | null;
  tag: string | null;
};
export type GroupForm = { name: string; entries: readonly EntryForm[] };

export type PageForm = {
  title: string;
  slug: string;
  /** The address follows the title until it is edited. */
  isSlugChosen: boolean;
  description: string;
  groups: readonly GroupForm[];
  brand: StatusBrand;
  isProtected: boolean;
  password: string;
  domain: string;
  /** A new logo in Base64; null: remove it; undefined: as it is. */
  logo?: { type: string; base64: string } | null;
};

const NO_BRAND: StatusBrand = { background: null, accent: null, ink: null, button: null };

export function formOf(page: StatusPage | null): PageForm {
  if (page === null) {
    return {
      title: "",
      slug: "",
      isSlugChosen: false,
      description: "",
      groups: [{ name: "", entries: [] }],
      brand: NO_BRAND,
      isProtected: false,
      password: "",
      domain: "",
    };
  }
  return {
    title: page.title,
    slug: page.slug,
    isSlugChosen: true,
    description: page.description,
    groups: page.groups.length === 0 ? [{ name: "", entries: [] }] : page.groups,
    brand: page.brand,
    isProtected: page.visibility === "password",
    password: "",
    domain: page.domain?.name ?? "",
  };
}

/** "Nordlight Shop" becomes "nordlight-shop". */
export function slugOf(title: string): string {
  return title
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replace(/^-/, "")
    .slice(0, FIELD_LENGTHS.statusSlug)
    .replace(/-$/, "");
}

/** The request that creates the page. A deleted check has no ID any more, so its entry is left out. */
export function bodyOf(form: PageForm): NewStatusPage {
  const domain = form.domain.trim().toLowerCase();
  return {
    slug: form.slug.trim(),
    title: form.title.trim(),
    description: form.description.trim(),
    brand: form.brand,
    ...(!form.isProtected && { password: null }),
    ...(form.isProtected && form.password !== "" && { password: form.password }),
    domain: domain === "" ? null : domain,
    groups: form.groups
      .map(({ name, entries }) => ({
        name: name.trim(),
        entries: entries
          .filter(({ check, tag }) => check !== null || tag !== null)
          .map((entry) => ({ ...entry, name: entry.name.trim() })),
      }))
      .filter(({ name, entries }) => name !== "" || entries.length > 0),
  };
}

/** What is missing before it can be saved; null: nothing. */
export function missingIn(form: PageForm): string | null {
  if (form.title.trim() === "") return words.noTitle;
  const entries = form.groups.flatMap((group) => group.entries);
  if (entries.some(({ name }) => name.trim() === "")) return words.nameless;
  return entries.length > STATUS_PAGE_LIMITS.entries ? words.full(STATUS_PAGE_LIMITS.entries) : null;
}

// Order: an entry at the end of its group moves on to the next group.

export function movedEntry(
  groups: readonly GroupForm[],
  { group, entry, step }: { group: number; entry: number; step: 1 | -1 },
): GroupForm[] {
  const lists = groups.map(({ entries }) => [...entries]);
  const [moved] = lists[group]?.splice(entry, 1) ?? [];
  if (moved === undefined) return [...groups];
  const to = entry + step;
  const length = lists[group]?.length ?? 0;
  if (to >= 0 && to <= length) lists[group]?.splice(to, 0, moved);
  else if (step === 1) lists[group + 1]?.unshift(moved);
  else lists[group - 1]?.push(moved);
  return groups.map((one, index) => ({ ...one, entries: lists[index] ?? [] }));
}

export function movedGroup(groups: readonly GroupForm[], from: number, step: 1 | -1): GroupForm[] {
  const next = [...groups];
  const [moved] = next.splice(from, 1);
  if (moved !== undefined) next.splice(from + step, 0, moved);
  return next;
}

// The drawer.

type DrawerProps = { project: string; page: StatusPage | null; onClose: () => void };
type SetForm = (change: Partial<PageForm>) => void;
type FieldsProps = { form: PageForm; set: SetForm };

export function StatusPageDrawer({ project, page, onClose }: DrawerProps) {
  const [start] = useState(() => formOf(page));
  const [form, setForm] = useState(start);
  const [isCodeShown, setCodeShown] = useState(false);
  const { save, trouble, forget, isBusy } = useSaving({ project, page, form, onClose });
  const formId = useId();
  const set: SetForm = (change) => {
    forget();
    setForm((was) => ({ ...was, ...change }));
  };
  const missing = missingIn(form);
  const isChanged = JSON.stringify(form) !== JSON.stringify(start);
  const conflict = trouble instanceof ApiError ? trouble.conflict : null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (missing === null) void save();
  };
  const url = `${boot.site.url}/api/overdue/v1/projects/${project}/status-pages`;
  return (
    <Drawer
      isOpen
      onClose={onClose}
      isUnsaved={isChanged}
      docs="statusPages"
      title={page === null ? words.title : words.editTitle(page.title)}
      footer={
        <>
          <Button kind="bare" aria-pressed={isCodeShown} onClick={() => setCodeShown(!isCodeShown)}>
            {words.asCode}
          </Button>
          <span className="status-space" />
          <Button onClick={onClose}>{shared.cancel}</Button>
          <Button
            kind="primary"
            type="submit"
            form={formId}
            isBusy={isBusy}
            disabled={missing !== null || (page !== null && !isChanged)}
          >
            {page === null ? words.create : words.save}
          </Button>
        </>
      }
    >
      <form id={formId} className="form status-form" onSubmit={submit} noValidate>
        {conflict !== null && (
          <Conflict
            conflict={conflict}
            isBusy={isBusy}
            onOverwrite={() => void save(conflict.version)}
            onReload={onClose}
          />
        )}
        {trouble !== null && conflict === null && (
          <p className="mistake" role="alert">
            {errorText(trouble)}
          </p>
        )}
        {isCodeShown && (
          <CodeBlock
            text={postCommand(url, { ...bodyOf(form), ...hiddenPassword(form) })}
            label={words.code}
          />
        )}
        <PageFields form={form} set={set} />
        <Content project={project} form={form} set={set} />
        <Look form={form} set={set} page={page} />
        <Access form={form} set={set} isKept={page?.visibility === "password"} />
        <DomainFields project={project} page={page} form={form} set={set} />
        {missing !== null && isChanged && <p className="hint">{missing}</p>}
      </form>
    </Drawer>
  );
}

/** The code may be pasted anywhere. */
function hiddenPassword({ isProtected }: PageForm): Pick<NewStatusPage, "password"> {
  return isProtected ? { password: "…" } : {};
}

function useSaving({ project, page, form, onClose }: DrawerProps & { form: PageForm }) {
  const [trouble, setTrouble] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const refresh = useRefreshPages(project);
  /** Created, but its logo was refused: saving again must not create another page. */
  const [made, setMade] = useState<StatusPage | null>(null);
  const send = async (version: number | undefined): Promise<StatusPage> => {
    const known = page ?? made;
    const body = bodyOf(form);
    if (known === null) return call("createStatusPage", { project, body });
    const expected = version ?? (page === null ? undefined : known.version);
    return call("updateStatusPage", {
      project,
      page: known.id,
      body: { ...body, ...(expected !== undefined && { version: expected }) },
    });
  };
  const sendLogo = async (id: string) => {
    if (form.logo === undefined) return;
    if (form.logo === null) await call("removeStatusLogo", { project, page: id });
    else await call("setStatusLogo", { project, page: id, body: { image: form.logo.base64 } });
  };
  const save = async (version?: number) => {
    setBusy(true);
    setTrouble(null);
    try {
      const saved = await send(version);
      if (page === null) setMade(saved);
      await sendLogo(saved.id);
      if (page === null) {
        const undo = async () => {
          await call("deleteStatusPage", { project, page: saved.id });
          await refresh();
        };
        toast({ text: words.created(saved.title), undo });
      } else toast({ text: words.saved(saved.title) });
      await refresh();
      onClose();
    } catch (error) {
      setTrouble(error);
    } finally {
      setBusy(false);
    }
  };
  const forget = () =>
    setTrouble((was: unknown) => (was instanceof ApiError && was.conflict !== null ? was : null));
  return { save, trouble, forget, isBusy };
}

function PageFields({ form, set }: FieldsProps) {
  const { fields } = words;
  const changeTitle = ({ target }: ChangeEvent<HTMLInputElement>) =>
    set({ title: target.value, ...(!form.isSlugChosen && { slug: slugOf(target.value) }) });
  return (
    <fieldset>
      <legend>{words.sections.page}</legend>
      <TextField
        label={fields.title}
        hint={fields.titleHint}
        value={form.title}
        maxLength={FIELD_LENGTHS.statusTitle}
        autoComplete="off"
        dir="auto"
        onChange={changeTitle}
      />
      <TextField
        label={fields.slug}
        hint={words.address(`${boot.site.url}/status/${form.slug === "" ? "…" : form.slug}/`)}
        value={form.slug}
        maxLength={FIELD_LENGTHS.statusSlug}
        autoComplete="off"
        spellCheck={false}
        onChange={({ target }) => set({ slug: target.value, isSlugChosen: true })}
      />
      <TextArea
        label={fields.description}
        hint={fields.descriptionHint}
        isOptional
        rows={2}
        value={form.description}
        maxLength={FIELD_LENGTHS.statusDescription}
        dir="auto"
        onChange={({ target }) => set({ description: target.value })}
      />
    </fieldset>
  );
}

// What it shows.

function Content({ project, form, set }: FieldsProps & { project: string }) {
  const rows = useAllRows(project);
  const names = useMemo(() => new Map(rows.map((row) => [row.id, checkName(row)])), [rows]);
  const { groups } = form;
  const change = (index: number, group: Partial<GroupForm>) =>
    set({ groups: groups.map((one, at) => (at === index ? { ...one, ...group } : one)) });
  return (
    <fieldset>
      <legend>{words.sections.content}</legend>
      <p className="hint">{words.content}</p>
      {groups.map((group, index) => (
        <Group
          key={index}
          {...{ group, index, rows, names, groups }}
          onChange={(part) => change(index, part)}
          onGroups={(next) => set({ groups: next })}
        />
      ))}
      {groups.length < STATUS_PAGE_LIMITS.groups && (
        <div className="status-adds">
          <Button onClick={() => set({ groups: [...groups, { name: "", entries: [] }] })}>
            <Icon name="plus" />
            {words.addGroup}
          </Button>
        </div>
      )}
    </fieldset>
  );
}

type GroupProps = {
  group: GroupForm;
  index: number;
  groups: readonly GroupForm[];
  rows: readonly CheckRow[];
  names: ReadonlyMap<string, string>;
  onChange: (group: Partial<GroupForm>) => void;
  onGroups: (groups: readonly GroupForm[]) => void;
};

function Group({ group, index, groups, rows, names, onChange, onGroups }: GroupProps) {
  const [panel, setPanel] = useState<"check" | "tag" | null>(null);
  const { entries } = group;
  const shown = group.name === "" ? String(index + 1) : group.name;
  const toggle = (name: "check" | "tag") => setPanel(panel === name ? null : name);
  return (
    <div className="status-group" role="group" aria-label={words.fields.groupOf(index)}>
      <div className="status-group-head">
        <input
          className="input"
          aria-label={words.fields.groupOf(index)}
          placeholder={words.fields.groupName}
          value={group.name}
          maxLength={FIELD_LENGTHS.statusEntryName}
          dir="auto"
          onChange={({ target }) => onChange({ name: target.value })}
        />
        {groups.length > 1 && (
          <>
            <Moves
              labels={[words.groupUp(shown), words.groupDown(shown)]}
              isFirst={index === 0}
              isLast={index === groups.length - 1}
              onMove={(step) => onGroups(movedGroup(groups, index, step))}
            />
            <IconButton
              label={words.groupRemove(shown)}
              onClick={() => onGroups(groups.filter((_, at) => at !== index))}
            >
              <Icon name="cross" />
            </IconButton>
          </>
        )}
      </div>
      {entries.length === 0 && panel === null && <p className="hint">{words.noEntries}</p>}
      <Entries {...{ group, index, groups, names, onChange, onGroups }} />
      {panel === "check" && (
        <div className="status-panel" data-panel>
          <CheckPanel rows={rows} names={names} entries={entries} onChange={onChange} />
          <Button onClick={() => setPanel(null)}>{words.done}</Button>
        </div>
      )}
      {panel === "tag" && (
        <div className="status-panel" data-panel>
          <TagPanel rows={rows} entries={entries} onChange={onChange} />
          <Button onClick={() => setPanel(null)}>{words.done}</Button>
        </div>
      )}
      <div className="status-adds">
        <Button aria-expanded={panel === "check"} onClick={() => toggle("check")}>
          <Icon name="plus" />
          {words.addCheck}
        </Button>
        <Button aria-expanded={panel === "tag"} onClick={() => toggle("tag")}>
          <Icon name="plus" />
          {words.addTag}
        </Button>
      </div>
    </div>
  );
}

function Moves(props: {
  labels: readonly [string, string];
  isFirst: boolean;
  isLast: boolean;
  onMove: (step: 1 | -1) => void;
}) {
  const { labels, isFirst, isLast, onMove } = props;
  return (
    <>
      <IconButton label={labels[0]} disabled={isFirst} onClick={() => onMove(-1)}>
        <UpIcon />
      </IconButton>
      <IconButton label={labels[1]} disabled={isLast} onClick={() => onMove(1)}>
        <Icon name="down" />
      </IconButton>
    </>
  );
}

function UpIcon() {
  return (
    <span className="status-up">
      <Icon name="down" />
    </span>
  );
}

type EntriesProps = Omit<GroupProps, "rows">;

function Entries({ group, index, groups, names, onChange, onGroups }: EntriesProps) {
  const { entries } = group;
  const isFirstGroup = index === 0;
  const isLastGroup = index === groups.length - 1;
  const rename = (at: number, name: string) =>
    onChange({ entries: entries.map((entry, place) => (place === at ? { ...entry, name } : entry)) });
  return (
    <ul className="status-entries">
      {entries.map((entry, at) => {
        const source = sourceText(entry, names);
        const shown = entry.name.trim() === "" ? words.unnamed : entry.name;
        return (
          // An entry without an ID is known by its place.
          <li key={entry.id ?? `${entry.check ?? ""}${entry.tag ?? ""}`} className="status-entry">
            <div>
              <input
                className="input"
                aria-label={words.fields.entryOf(source)}
                placeholder={words.fields.entryName}
                value={entry.name}
                maxLength={FIELD_LENGTHS.statusEntryName}
                dir="auto"
                onChange={({ target }) => rename(at, target.value)}
              />
              <p className="hint" title={source}>
                {source}
              </p>
            </div>
            <Moves
              labels={[words.moveUp(shown), words.moveDown(shown)]}
              isFirst={isFirstGroup && at === 0}
              isLast={isLastGroup && at === entries.length - 1}
              onMove={(step) => onGroups(movedEntry(groups, { group: index, entry: at, step }))}
            />
            <IconButton
              label={words.remove(shown)}
              onClick={() => onChange({ entries: entries.filter((_, place) => place !== at) })}
            >
              <Icon name="cross" />
            </IconButton>
          </li>
        );
      })}
    </ul>
  );
}

function sourceText({ check, tag }: EntryForm, names: ReadonlyMap<string, string>): string {
  if (tag !== null) return words.source.tag(tag);
  const name = check === null ? undefined : names.get(check);
  return name === undefined ? words.source.gone : words.source.check(name);
}

type PanelProps = {
  rows: readonly CheckRow[];
  entries: readonly EntryForm[];
  onChange: (group: Partial<GroupForm>) => void;
};

function CheckPanel({ rows, names, entries, onChange }: PanelProps & { names: ReadonlyMap<string, string> }) {
  const chosen = entries.flatMap(({ check }) => check ?? []);
  const choose = (ids: readonly string[]) => {
    const kept = entries.filter(({ check }) => check === null || ids.includes(check));
    const added = ids
      .filter((id) => !chosen.includes(id))
      .map(
        (id): EntryForm => ({
          name: (names.get(id) ?? "").slice(0, FIELD_LENGTHS.statusEntryName),
          description: "",
          check: id,
          tag: null,
        }),
      );
    onChange({ entries: [...kept, ...added] });
  };
  return <CheckChoice rows={rows} chosen={chosen} label={words.choose} onChange={choose} />;
}

const TAGS_SHOWN = 40;
const TAGS_IN_SIGHT = 12;

function TagPanel({ rows, entries, onChange }: PanelProps) {
  const [text, setText] = useState("");
  const tags = useMemo(
    () => [...new Set(rows.flatMap((row) => row.tags))].toSorted((a, b) => a.localeCompare(b)),
    [rows],
  );
  if (tags.length === 0) return <p className="hint">{words.noTags}</p>;
  const isChosen = (tag: string) => entries.some((entry) => entry.tag === tag);
  const toggle = (tag: string) =>
    onChange({
      entries: isChosen(tag)
        ? entries.filter((entry) => entry.tag !== tag)
        : [
            ...entries,
            { name: tag.slice(0, FIELD_LENGTHS.statusEntryName), description: "", check: null, tag },
          ],
    });
  const found = tags.filter((tag) => tag.toLowerCase().includes(text.toLowerCase())).slice(0, TAGS_SHOWN);
  return (
    <>
      {tags.length > TAGS_IN_SIGHT && <FindField label={words.findTag} value={text} onChange={setText} />}
      <div className="status-tags" role="group" aria-label={words.chooseTag}>
        {found.map((tag) => (
          <button
            key={tag}
            type="button"
            className="chip is-quiet"
            aria-pressed={isChosen(tag)}
            onClick={() => toggle(tag)}
          >
            <bdi>{tag}</bdi>
          </button>
        ))}
      </div>
    </>
  );
}

// Look: a logo and four colors.

function Look({ form, set, page }: FieldsProps & { page: StatusPage | null }) {
  const [problem, setProblem] = useState<string | null>(null);
  const shown =
    form.logo === undefined
      ? (page?.logo?.url ?? null)
      : form.logo === null
        ? null
        : `data:${form.logo.type};base64,${form.logo.base64}`;
  const choose = async ({ target }: ChangeEvent<HTMLInputElement>) => {
    const file = target.files?.[0];
    if (file === undefined) return;
    if (file.size > STATUS_PAGE_LIMITS.logoBytes) {
      setProblem(words.logoTooLarge);
      return;
    }
    setProblem(null);
    set({ logo: { type: file.type, base64: base64Of(new Uint8Array(await file.arrayBuffer())) } });
  };
  return (
    <fieldset>
      <legend>{words.sections.look}</legend>
      <div className="status-logo">
        {shown !== null && <img src={shown} alt={words.logo} />}
        <Field label={words.logo} hint={words.logoHint} error={problem}>
          {(given) => (
            <input
              {...given}
              type="file"
              accept="image/png,image/jpeg,image/webp"
              onChange={(event) => void choose(event).catch(toastError)}
            />
          )}
        </Field>
        {shown !== null && <Button onClick={() => set({ logo: null })}>{words.logoRemove}</Button>}
      </div>
      <div className="status-colors">
        {COLORS.map((name) => (
          <ColorField key={name} name={name} form={form} set={set} />
        ))}
      </div>
      <p className="hint">{words.colorsHint}</p>
    </fieldset>
  );
}

function ColorField({ name, form, set }: FieldsProps & { name: Color }) {
  const label = words.colors[name];
  const value = form.brand[name];
  const choose = (color: string | null) => set({ brand: { ...form.brand, [name]: color } });
  return (
    <Field label={label}>
      {(given) => (
        <div className="status-color">
          <input
            {...given}
            type="color"
            value={value ?? DEFAULT_COLORS[name]}
            onChange={({ target }) => choose(target.value.toLowerCase())}
          />
          {value !== null && (
            <IconButton label={words.colorDefault(label)} onClick={() => choose(null)}>
              <Icon name="cross" />
            </IconButton>
          )}
        </div>
      )}
    </Field>
  );
}

function base64Of(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

// Who can read it.

function Access({ form, set, isKept }: FieldsProps & { isKept: boolean }) {
  return (
    <fieldset>
      <legend>{words.sections.access}</legend>
      <div className="check-switch" role="group" aria-label={words.visibility}>
        {(["public", "password"] as const).map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={form.isProtected === (name === "password")}
            onClick={() => set({ isProtected: name === "password" })}
          >
            {words.visibilities[name]}
          </button>
        ))}
      </div>
      {form.isProtected && (
        <TextField
          label={words.password}
          hint={isKept ? `${words.passwordHint} ${words.passwordKept}` : words.passwordHint}
          type="password"
          value={form.password}
          minLength={STATUS_PAGE_LIMITS.passwordLengthMin}
          maxLength={FIELD_LENGTHS.statusPassword}
          autoComplete="new-password"
          onChange={({ target }) => set({ password: target.value })}
        />
      )}
    </fieldset>
  );
}

// Its own domain.

function DomainFields({
  project,
  page,
  form,
  set,
}: FieldsProps & { project: string; page: StatusPage | null }) {
  const isSaved = page !== null && page.domain !== null && page.domain.name === form.domain;
  return (
    <fieldset>
      <legend>{words.sections.domain}</legend>
      <TextField
        label={words.domain}
        hint={words.domainHint}
        isOptional
        value={form.domain}
        maxLength={FIELD_LENGTHS.statusDomain}
        autoComplete="off"
        spellCheck={false}
        onChange={({ target }) => set({ domain: target.value })}
      />
      {isSaved && page.domain !== null ? (
        <DomainRecord project={project} page={page} domain={page.domain} />
      ) : (
        form.domain.trim() !== "" && <p className="hint">{words.domainSave}</p>
      )}
    </fieldset>
  );
}

/** How often the result is asked for after "Check now", and how many times. */
const LOOK_MS = 1_500;
const LOOKS_MAX = 10;

type RecordProps = { project: string; page: StatusPage; domain: NonNullable<StatusPage["domain"]> };

function DomainRecord({ project, page, domain: given }: RecordProps) {
  const client = useQueryClient();
  const [domain, setDomain] = useState(given);
  const [isBusy, setBusy] = useState(false);
  const check = async () => {
    setBusy(true);
    try {
      await call("checkStatusDomain", { project, page: page.id });
      for (let look = 0; look < LOOKS_MAX; look += 1) {
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
        const { domain: now } = await call("getStatusPage", { project, page: page.id });
        if (now === null) break;
        setDomain(now);
        if (now.checkedAt !== domain.checkedAt) break;
      }
      await client.invalidateQueries({ queryKey: statusPagesKey(project) });
    } catch (error) {
      toastError(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className="status-records">
      <p role="status">{isBusy ? words.checking : words.domainStates[domain.state]}</p>
      <p className="hint">{words.record}</p>
      <h3>{words.recordName}</h3>
      <CodeBlock text={domain.recordName} label={words.recordName} />
      <h3>{words.recordValue}</h3>
      <CodeBlock text={domain.recordValue} label={words.recordValue} />
      <div className="status-adds">
        <Button isBusy={isBusy} onClick={() => void check()}>
          {words.checkNow}
        </Button>
      </div>
    </div>
  );
}
