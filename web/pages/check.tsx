// The page of one check: schedule, status, history, explanation and channels.
import "./check.css";
import { useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { Link, useLocation, useSearchParams } from "wouter";
import { type CheckRow, drawnAt } from "../../src/contract/api/check-row.ts";
import type { CheckChannel, CheckPage } from "../../src/contract/api/check-page.ts";
import { checkName, listNames } from "../../src/contract/api/words.ts";
import { call, checkKey, isNotFound, refreshCheck } from "../api.ts";
import { boot, mayIn, otherProjects, userZone } from "../boot.ts";
import { checksStore, useAllRows } from "../live/checks-store.ts";
import { useMinute, useNow } from "../live/clock.ts";
import { pageHref, type PageProps, usePageTitle, useShowProject } from "../page-location.ts";
import { Confirm } from "../parts/dialogs.tsx";
import { askToSilence, SilenceWindow } from "../parts/silencing.tsx";
import { Notice } from "../parts/section.tsx";
import { WaitingFor } from "../parts/waiting.tsx";
import { useShortcuts } from "../shortcuts.ts";
import { Button, Icon, IconButton } from "../ui/button.tsx";
import { CodeBlock, CopyButton, copyText } from "../ui/copy.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { DocsLink } from "../ui/docs-link.tsx";
import { SelectField, Toggle } from "../ui/field.tsx";
import { Mark, StateMark, Tags } from "../ui/marks.tsx";
import { Menu, MenuChoice, MenuItem, MenuLine, MenuLink } from "../ui/menu.tsx";
import { Queried, Tabs } from "../ui/page-state.tsx";
import { toast, toastError } from "../ui/toast.tsx";
import {
  checkKeys as keys,
  checkTitle,
  checkWords,
  codeWords,
  expectationOf,
  signalWords,
  channelToggleWords,
} from "../words/check.ts";
import { actionWords, toleranceText } from "../words/checks.ts";
import { formatWhen } from "../words/format.ts";
import { silencedWords, silenceName } from "../words/silences.ts";
import { words as shared } from "../words/shared.ts";
import { codeFor, EditDrawer } from "./check-edit.tsx";
import { CheckForecast } from "./check-forecast.tsx";
import { Gone, MovedNote } from "./check-gone.tsx";
import { DurationChart, Months, NinetyDays, Runs } from "./check-history.tsx";
import { RunDrawer } from "./check-run.tsx";
import { factsOf, type Snippet, SNIPPETS, snippetText, type Variant, VARIANTS } from "./check-snippets.ts";
import { ExplainDrawer, LastAlert, TimeTrack } from "./check-timeline.tsx";
import { useCheckPage, useCheckPolicy, useLiveRow, useRuns } from "./use-check.ts";
import { Aliases } from "./check-aliases.tsx";
import { useOpenIncidents } from "./use-incidents.ts";
import { silencedNow, useCurrentSilences } from "./use-silences.ts";

export function CheckScreen({ params }: PageProps) {
  const id = params.check ?? "";
  const query = useCheckPage(id);
  // A form with unsaved changes keeps the page open, so that they are not lost.
  const [isTyped, setTyped] = useState(false);
  usePageTitle(checkWords.tab);
  const { data } = query;
  // The check existed before, and does not exist any more.
  const isGone = data !== undefined && isNotFound(query.error);
  if (isGone && !isTyped) return <Gone page={data} />;
  return (
    <Queried query={query} rows={10}>
      {(page) => <Shown page={page} n={params.n ?? null} isGone={isGone} onUnsaved={setTyped} />}
    </Queried>
  );
}

type ShownProps = { page: CheckPage; n: string | null } & Editing;

function Shown({ page, n, isGone, onUnsaved }: ShownProps) {
  const { projectId } = page;
  useShowProject(projectId);
  const row = useLiveRow(page);
  const runs = useRuns(row.id);
  const actions = useCheckActions(page);
  const [dialog, setDialog] = useOpenDialog();
  // The project at the time of the visit; the check may be moved while the page is open.
  const [home, setHome] = useState(projectId);
  const mayEdit = mayIn(projectId, "editChecks");
  useShortcuts(shortcutsOf({ page: { ...page, row }, mayEdit, actions, onDialog: setDialog }));
  const known = runs.data?.pages.flatMap((one) => one.runs) ?? [];
  const isNew = row.state === "new" && row.lastPingAt === null && row.runningSince === null;
  return (
    <>
      {home !== projectId && (
        <MovedNote
          page={page}
          from={home}
          mayEdit={mayEdit}
          onBack={() => setDialog("transfer")}
          onClose={() => setHome(projectId)}
        />
      )}
      <Head page={page} row={row} mayEdit={mayEdit} actions={actions} onDialog={setDialog} />
      {page.quarantinedCount > 0 && (
        <Notice kind="bad" title={checkWords.quarantined(page.quarantinedCount)}>
          <p>{checkWords.quarantinedText}</p>
        </Notice>
      )}
      <Expectation page={page} row={row} />
      {row.tolerance !== null && <p className="check-tolerance">{toleranceText(row.tolerance)}</p>}
      <PolicySentence id={row.id} project={projectId} mayEdit={mayEdit} onEdit={() => setDialog("policy")} />
      <SilencedNote project={projectId} row={row} />
      {row.state === "down" && <IncidentNote project={projectId} check={row.id} />}
      {page.settings.desc !== "" && (
        <p className="check-desc" dir="auto">
          <LinkedText text={page.settings.desc} />
        </p>
      )}
      {isNew ? (
        <FirstSignal row={row} project={projectId} />
      ) : (
        <TimeTrack page={page} row={row} runs={known} />
      )}
      <div className="check-cols">
        <div className="check-main">
          {!isNew && (
            <>
              <NinetyDays days={page.days} last90Days={page.last90Days} />
              <DurationChart id={row.id} usual={page.usual} />
              <Runs id={row.id} query={runs} usual={page.usual} checkZone={page.settings.tz} />
              <Months months={page.months} />
            </>
          )}
          {isNew && <SendSignal page={page} />}
        </div>
        <aside className="check-aside">
          <LastAlert page={page} onMore={() => setDialog("explain")} />
          {page.settings.kind !== "simple" && (
            <CheckForecast
              check={row.id}
              project={projectId}
              mayEdit={mayEdit}
              schedule={page.settings.schedule}
              tz={page.settings.tz}
            />
          )}
          {!isNew && <SendSignal page={page} />}
          <CheckChannels page={page} mayEdit={mayEdit} />
          <Aliases check={row.id} mayEdit={mayEdit} />
        </aside>
      </div>
      <Windows {...{ page, actions, dialog, mayEdit, home, isGone, onUnsaved }} onDialog={setDialog} />
      <RunDrawer page={page} n={n} />
      <SilenceWindow />
    </>
  );
}

/** For a check that has never been pinged: the command that sends its first ping, and requests that arrived. */
function FirstSignal({ row, project }: { row: CheckPage["row"]; project: string }) {
  return (
    <section className="panel check-waiting" aria-labelledby="check-waiting">
      <h2 id="check-waiting">{checkWords.first}</h2>
      <WaitingFor check={row.id} project={project} />
    </section>
  );
}

/**
 * What is open over the page. The list of checks opens the form with `?edit=1`, emails an explanation with `?flip=`.
 */
function useOpenDialog(): [OpenDialog, (dialog: OpenDialog) => void] {
  const [search, setSearch] = useSearchParams();
  const asked = search.has("edit") ? "edit" : search.has("flip") ? "explain" : null;
  const [dialog, setDialog] = useState<OpenDialog>(null);
  return [
    dialog ?? asked,
    (next) => {
      setDialog(next);
      if (asked !== null && next === null) setSearch({}, { replace: true });
    },
  ];
}

/** Whether the check was deleted while the form is open, and the form's unsaved state. */
type Editing = { isGone: boolean; onUnsaved: (isUnsaved: boolean) => void };

type Bound = {
  page: CheckPage;
  mayEdit: boolean;
  actions: CheckActions;
  onDialog: (dialog: OpenDialog) => void;
};

function shortcutsOf({ page, mayEdit, actions, onDialog }: Bound) {
  const { group } = keys;
  const isPaused = page.row.state === "paused";
  return [
    ...(mayEdit
      ? [
          {
            keys: "p",
            label: keys.pause,
            group,
            run: () => void (isPaused ? actions.resume() : actions.pause()),
          },
          {
            keys: "s",
            label: silencedWords.key,
            group,
            run: () => askToSilence({ project: page.projectId, checks: [page.row.id] }),
          },
          { keys: "e", label: keys.edit, group, run: () => onDialog("edit") },
        ]
      : []),
    ...(page.lastFlip === null
      ? []
      : [{ keys: "w", label: keys.explain, group, run: () => onDialog("explain") }]),
    { keys: "c", label: keys.code, group, run: () => onDialog("code") },
    { keys: "u", label: keys.copyUrl, group, run: () => void actions.copyUrl() },
  ];
}

type WindowsProps = Bound & Editing & { dialog: OpenDialog; home: string };

function Windows({ page, actions, dialog, onDialog, mayEdit, home, isGone, onUnsaved }: WindowsProps) {
  const [search] = useSearchParams();
  const flip = Number(search.get("flip"));
  const close = () => onDialog(null);
  return (
    <>
      <ExplainDrawer
        page={page}
        flip={Number.isSafeInteger(flip) && flip > 0 ? flip : null}
        isOpen={dialog === "explain"}
        onClose={close}
      />
      {dialog === "edit" && mayEdit && <EditDrawer {...{ page, isGone, onUnsaved }} onClose={close} />}
      {dialog === "policy" && mayEdit && (
        <Suspense>
          <PolicyDrawer page={page} onClose={close} />
        </Suspense>
      )}
      {dialog === "code" && <CodeDialog page={page} onClose={close} />}
      {dialog === "clear" && <ClearDialog page={page} actions={actions} onClose={close} />}
      {dialog === "transfer" && (
        <TransferDialog page={page} actions={actions} preferred={home} onClose={close} />
      )}
    </>
  );
}

// The header: project, name, status, tags and actions.

const TAGS_SHOWN = 8;

/** What is currently open over the page. */
export type OpenDialog = "edit" | "policy" | "explain" | "code" | "transfer" | "clear" | null;

type HeadProps = {
  page: CheckPage;
  row: CheckRow;
  mayEdit: boolean;
  actions: CheckActions;
  onDialog: (dialog: OpenDialog) => void;
};

export function Head({ page, row, mayEdit, actions, onDialog }: HeadProps) {
  const state = drawnAt(row, useNow());
  const name = checkName(row);
  usePageTitle(checkTitle(name, state));
  const [tag] = row.tags;
  const checks = pageHref("checks", { project: page.projectId });
  return (
    <>
      <div className="crumbs">
        <nav className="crumb check-crumb" aria-label={checkWords.crumbs}>
          <Link href={checks}>{checkWords.checks}</Link>
          {tag !== undefined && (
            <>
              {" / "}
              <Link href={`${checks}?tag=${encodeURIComponent(tag)}`}>
                <bdi>{tag}</bdi>
              </Link>
            </>
          )}
          {" / "}
          <bdi>{name}</bdi>
        </nav>
        <DocsLink to="checks" />
      </div>
      <header className="check-title">
        <StateMark state={state} size={20} />
        <h1 dir="auto" className={row.name === "" ? "muted" : undefined}>
          {name}
        </h1>
        <Tags names={row.tags} most={TAGS_SHOWN} />
        <div className="check-acts">
          {mayEdit && <PauseButton row={row} actions={actions} />}
          {mayEdit && (
            <Button keys="s" onClick={() => askToSilence({ project: page.projectId, checks: [row.id] })}>
              {silencedWords.act}
            </Button>
          )}
          {mayEdit && (
            <Button keys="e" onClick={() => onDialog("edit")}>
              {checkWords.edit}
            </Button>
          )}
          <MoreMenu page={page} mayEdit={mayEdit} actions={actions} onDialog={onDialog} />
          {page.lastFlip !== null && (state === "down" || page.lastFlip.to === "down") && (
            <Button kind="primary" keys="w" onClick={() => onDialog("explain")}>
              {checkWords.explain}
            </Button>
          )}
        </div>
      </header>
    </>
  );
}

function PauseButton({ row, actions }: { row: CheckRow; actions: CheckActions }) {
  const isPaused = row.state === "paused";
  return (
    <Button keys="p" onClick={() => void (isPaused ? actions.resume() : actions.pause())}>
      {isPaused ? checkWords.resume : checkWords.pause}
    </Button>
  );
}

function MoreMenu({ page, mayEdit, actions, onDialog }: Omit<HeadProps, "row">) {
  return (
    <Menu
      align="end"
      label={checkWords.more}
      trigger={
        <IconButton label={checkWords.more} className="is-framed">
          <Icon name="more" />
        </IconButton>
      }
    >
      <MenuItem keys="u" onPick={() => void actions.copyUrl()}>
        {checkWords.copyUrl}
      </MenuItem>
      <MenuItem keys="c" onPick={() => onDialog("code")}>
        {checkWords.asCode}
      </MenuItem>
      <MenuLink href={`${pageHref("badges", { project: page.projectId })}?check=${page.row.id}`}>
        {checkWords.badge}
      </MenuLink>
      {mayEdit && (
        <>
          <MenuLine />
          <MenuItem onPick={() => void actions.ping()}>{checkWords.ping}</MenuItem>
          <MenuItem onPick={() => void actions.copy()}>{checkWords.copy}</MenuItem>
          {otherProjects(page.projectId).length > 0 && (
            <MenuItem onPick={() => onDialog("transfer")}>{checkWords.transfer}</MenuItem>
          )}
          <MenuLine />
          <MenuItem isDanger onPick={() => onDialog("clear")}>
            {checkWords.clear}
          </MenuItem>
          <MenuItem isDanger onPick={() => void actions.remove()}>
            {checkWords.delete}
          </MenuItem>
        </>
      )}
    </Menu>
  );
}

// The summary below the name.

type ExpectationProps = { page: CheckPage; row: CheckRow };

export function Expectation({ page, row }: ExpectationProps) {
  const parts = expectationOf({ page, row, reader: { now: useNow(), zone: userZone } });
  return (
    <p className="check-promise">
      {parts.map(({ text, is, isWhole }, index) =>
        is === undefined ? (
          text
        ) : (
          <b key={index} className={`is-${is}${isWhole ? " is-whole" : ""}`}>
            {text}
          </b>
        ),
      )}
    </p>
  );
}

const PolicyDrawer = lazy(async () => ({ default: (await import("./check-policy.tsx")).PolicyDrawer }));

type PolicySentenceProps = { id: string; project: string; mayEdit: boolean; onEdit: () => void };

/** When notifications about the check are sent. */
function PolicySentence({ id, project, mayEdit, onEdit }: PolicySentenceProps) {
  const { data } = useCheckPolicy(id);
  const parents = data?.own.dependsOn ?? [];
  const rows = useAllRows(parents.length === 0 ? null : project);
  if (data === undefined) return null;
  return (
    <p className="check-policy">
      {data.sentence} {parents.length > 0 && <bdi>{dependsOnText(parents, rows)}</bdi>}{" "}
      {mayEdit && (
        <button type="button" className="link" aria-label={checkWords.policyEditOf} onClick={onEdit}>
          {checkWords.policyEdit}
        </button>
      )}
    </p>
  );
}

/** The names are known once the rows of the project are loaded. */
function dependsOnText(parents: readonly string[], rows: readonly CheckRow[]): string {
  const names = rows.filter(({ id }) => parents.includes(id)).map(checkName);
  if (names.length < parents.length) return checkWords.dependsOnSome(parents.length);
  return checkWords.dependsOn(listNames(names));
}

/** The silence that holds notifications about the check now. */
function SilencedNote({ project, row }: { project: string; row: CheckRow }) {
  const { data = [] } = useCurrentSilences(project);
  const now = useMinute();
  const silenced = silencedNow(data, row, now);
  if (silenced === null) return null;
  return (
    <p className="check-silenced">
      <Mark mark="silenced" />
      <span>
        {row.state === "down" ? silencedWords.held : silencedWords.band}{" "}
        <Link className="link" href={pageHref("silences", { project })}>
          <bdi>{silenceName(silenced.silence)}</bdi>
        </Link>
        , {silencedWords.bandUntil(formatWhen(silenced.until, { now, zone: userZone }))}
      </span>
    </p>
  );
}

/** The open incident of the check, if it is one of the first checks of the incident. */
function IncidentNote({ project, check }: { project: string; check: string }) {
  const { data } = useOpenIncidents(project);
  const incident = data?.incidents.find(({ checks }) => checks.some(({ id }) => id === check));
  if (incident === undefined) return null;
  const { number, state } = incident;
  return (
    <p className="check-incident">
      <Link className="link" href={pageHref("incident", { project, n: String(number) })}>
        {checkWords.incident(number)}
      </Link>{" "}
      {state === "acknowledged" ? checkWords.incidentAcknowledged : checkWords.incidentOpen}
    </p>
  );
}

// The description, with links where it has URLs.

export function LinkedText({ text }: { text: string }) {
  let at = 0;
  return textParts(text).map((part) => {
    const key = at;
    at += part.text.length;
    if (part.url === null) return <span key={key}>{part.text}</span>;
    return (
      <a key={key} className="link" href={part.url} target="_blank" rel="noopener noreferrer nofollow">
        {part.text}
      </a>
    );
  });
}

// URLs in a text.

export type TextPart = { text: string; url: string | null };

/** Further URLs stay plain text. */
const LINKS_MAX = 100;
/** Characters that end a URL in a sentence. A closing bracket belongs to the URL if it was opened in it. */
const PUNCTUATION = ".,;:!?'*_~";
const BRACKETS: Readonly<Record<string, string>> = { ")": "(", "]": "[", "}": "{" };

/** The text in parts, in order and complete; `url` is set where a part is an http or https URL. */
export function textParts(text: string): TextPart[] {
  const parts: TextPart[] = [];
  let end = 0;
  let links = 0;
  for (const match of text.matchAll(/\bhttps?:\/\/[^\s<>"`\\]+/gi)) {
    if (links === LINKS_MAX) break;
    const found = withoutTrailing(match[0]);
    if (!isWebUrl(found)) continue;
    if (match.index > end) parts.push({ text: text.slice(end, match.index), url: null });
    parts.push({ text: found, url: found });
    end = match.index + found.length;
    links += 1;
  }
  if (end < text.length) parts.push({ text: text.slice(end), url: null });
  return parts;
}

function withoutTrailing(url: string): string {
  const counts = new Map<string, number>();
  for (const letter of url) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  const countOf = (letter: string) => counts.get(letter) ?? 0;
  let end = url.length;
  for (; end > 0; end -= 1) {
    const last = url.charAt(end - 1);
    const opener = BRACKETS[last];
    const isTrailing = opener === undefined ? PUNCTUATION.includes(last) : countOf(last) > countOf(opener);
    if (!isTrailing) break;
    counts.set(last, countOf(last) - 1);
  }
  return url.slice(0, end);
}

function isWebUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return (protocol === "http:" || protocol === "https:") && hostname !== "";
}

// Snippets for sending pings, with the URLs of this check.

const FIRST = ["crontab", "systemd", "python", "kubernetes"];
const REMEMBERED = "overdue.snippet";

export function SendSignal({ page }: { page: CheckPage }) {
  const [name, setName] = useState(() => localStorage.getItem(REMEMBERED) ?? "crontab");
  const [wanted, setWanted] = useState<Variant>("success");
  const [bySlug, setBySlug] = useState(false);
  const facts = factsOf(page, { bySlug });
  const offered = SNIPPETS.filter((snippet) => variantsOf(snippet).length > 0);
  const snippet = offered.find((one) => one.name === name) ?? offered[0];
  if (snippet === undefined) return null;
  const variants = variantsOf(snippet);
  const variant = variants.includes(wanted) ? wanted : (variants[0] ?? "success");
  const choose = (chosen: string) => {
    setName(chosen);
    localStorage.setItem(REMEMBERED, chosen);
  };
  function variantsOf(one: Snippet): Variant[] {
    return VARIANTS.filter((kind) => snippetText(one, kind, facts) !== null);
  }
  return (
    <section className="panel check-signal" aria-labelledby="check-signal">
      <h2 id="check-signal">{signalWords.title}</h2>
      <Languages offered={offered} chosen={snippet} onChoose={choose} />
      <div className="check-switch" role="group" aria-label={signalWords.variant}>
        {variants.map((kind) => (
          <button key={kind} type="button" aria-pressed={kind === variant} onClick={() => setWanted(kind)}>
            {signalWords.variants[kind]}
          </button>
        ))}
      </div>
      <CodeBlock text={snippetText(snippet, variant, facts) ?? ""} label={snippet.label} />
      {snippet.note !== undefined && <p className="hint">{snippet.note}</p>}
      <Addresses page={page} bySlug={bySlug} onBySlug={setBySlug} />
    </section>
  );
}

type LanguagesProps = { offered: readonly Snippet[]; chosen: Snippet; onChoose: (name: string) => void };

/** The four that most jobs need, the chosen one, and the rest in a menu. */
function Languages({ offered, chosen, onChoose }: LanguagesProps) {
  const first = offered.filter(({ name }) => FIRST.includes(name));
  const shown = first.includes(chosen) ? first : [...first.slice(0, 3), chosen];
  return (
    <div className="check-languages" role="group" aria-label={signalWords.languages}>
      {shown.map(({ name, label }) => (
        <button key={name} type="button" aria-pressed={name === chosen.name} onClick={() => onChoose(name)}>
          {label}
        </button>
      ))}
      <Menu
        align="end"
        label={signalWords.languages}
        trigger={
          <button type="button" className="check-languages-more">
            {signalWords.more}
            <Icon name="down" size={12} />
          </button>
        }
      >
        {offered.map(({ name, label }) => (
          <MenuChoice key={name} isChosen={name === chosen.name} onPick={() => onChoose(name)}>
            {label}
          </MenuChoice>
        ))}
      </Menu>
    </div>
  );
}

type AddressProps = { page: CheckPage; bySlug: boolean; onBySlug: (bySlug: boolean) => void };

function Addresses({ page: { pingAddresses }, bySlug, onBySlug }: AddressProps) {
  const { url, slugUrl, email } = pingAddresses;
  const shownUrl = bySlug && slugUrl !== null ? slugUrl : url;
  return (
    <dl className="check-addresses">
      <div>
        <dt>
          {signalWords.url}
          {slugUrl !== null && (
            <select
              className="select-bare check-by"
              aria-label={signalWords.by}
              value={bySlug ? "slug" : "uuid"}
              onChange={(event) => onBySlug(event.target.value === "slug")}
            >
              <option value="uuid">{signalWords.byUuid}</option>
              <option value="slug">{signalWords.bySlug}</option>
            </select>
          )}
        </dt>
        <dd>
          <code>{shownUrl}</code>
          <CopyButton text={shownUrl} />
        </dd>
        <dd className="hint">{signalWords.paths}</dd>
      </div>
      {email !== null && (
        <div>
          <dt>{signalWords.mail}</dt>
          <dd>
            <code>{email}</code>
            <CopyButton text={email} />
          </dd>
        </div>
      )}
    </dl>
  );
}

// The channels of this check. Each switch takes effect at once and can be undone.

export function CheckChannels({ page, mayEdit }: { page: CheckPage; mayEdit: boolean }) {
  const { channels, row, projectId } = page;
  const client = useQueryClient();
  const [busy, setBusy] = useState<string | null>(null);
  const { data: policy } = useCheckPolicy(row.id);
  /** The tag whose rule notifies the channel, whether it is assigned or not. */
  const ruleOf = (channel: string) =>
    policy?.channels.find(({ id }) => id === channel)?.origin.match(/^tag:(.+)$/)?.[1] ?? null;
  const setChannels = async (ids: readonly string[]) => {
    await call("updateCheck", { check: row.id, body: { channels: [...ids] } });
    await refreshCheck(client, row.id);
  };
  const turn = async ({ id, name }: CheckChannel, isOn: boolean) => {
    const before = channels.filter((one) => one.isOn).map((one) => one.id);
    setBusy(id);
    try {
      await setChannels(isOn ? [...before, id] : before.filter((one) => one !== id));
      const message = isOn ? channelToggleWords.on(name) : channelToggleWords.removedChannel(name);
      toast({ text: message, undo: () => setChannels(before) });
    } catch (error) {
      toastError(error);
    } finally {
      setBusy(null);
    }
  };
  return (
    <section className="panel" aria-labelledby="check-channels">
      <h2 id="check-channels">{channelToggleWords.title}</h2>
      {channels.length === 0 ? (
        <p className="muted">
          {channelToggleWords.none}{" "}
          <Link className="link" href={pageHref("channels", { project: projectId })}>
            {channelToggleWords.add}
          </Link>
        </p>
      ) : (
        <ul className="check-channels">
          {channels.map((channel) => (
            <li key={channel.id}>
              <Toggle
                label={<ChannelName channel={channel} rule={ruleOf(channel.id)} />}
                checked={channel.isOn}
                disabled={!mayEdit || busy !== null}
                onCheckedChange={(isOn) => void turn(channel, isOn)}
              />
            </li>
          ))}
        </ul>
      )}
      {channels.length > 0 && !channels.some(({ id, isOn }) => isOn || ruleOf(id) !== null) && (
        <p className="check-note">{channelToggleWords.noChannel}</p>
      )}
    </section>
  );
}

function ChannelName({ channel, rule }: { channel: CheckChannel; rule: string | null }) {
  const { name, kind, disabledReason } = channel;
  return (
    <>
      <bdi>{name}</bdi>
      {disabledReason === null ? (
        name !== kind && <span className="muted"> · {kind}</span>
      ) : (
        <span className="muted"> · {disabledReason || channelToggleWords.off}</span>
      )}
      {rule !== null && <span className="muted"> · {channelToggleWords.byRule(rule)}</span>}
    </>
  );
}

// Dialogs: move to another project, clear the history, copy as code.

type WindowProps = { page: CheckPage; actions: CheckActions; onClose: () => void };

export function ClearDialog({ actions, onClose }: WindowProps) {
  const [isBusy, setBusy] = useState(false);
  const clear = async () => {
    setBusy(true);
    if (await actions.clear()) onClose();
    setBusy(false);
  };
  const { title, text, act } = checkWords.clearAsk;
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={title}
      text={text}
      act={act}
      isBusy={isBusy}
      onAct={() => void clear()}
    />
  );
}

export function TransferDialog({ page, actions, preferred, onClose }: WindowProps & { preferred: string }) {
  const projects = otherProjects(page.projectId);
  const [to, setTo] = useState((projects.find(({ id }) => id === preferred) ?? projects[0])?.id ?? "");
  const [isBusy, setBusy] = useState(false);
  const project = projects.find(({ id }) => id === to);
  const move = async () => {
    if (project === undefined) return;
    setBusy(true);
    if (await actions.transfer(project)) onClose();
    setBusy(false);
  };
  const { title, text, act } = checkWords.transferAsk;
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={title}
      description={text}
      footer={
        <>
          <Button onClick={onClose}>{shared.cancel}</Button>
          <Button kind="primary" isBusy={isBusy} onClick={() => void move()}>
            {act}
          </Button>
        </>
      }
    >
      <SelectField
        label={checkWords.transferAsk.to}
        value={to}
        onChange={(event) => setTo(event.target.value)}
      >
        {projects.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </SelectField>
    </Dialog>
  );
}

export function CodeDialog({ page, onClose }: Omit<WindowProps, "actions">) {
  const code = codeFor(page, boot.site.url);
  const tabs = (["settings", "create", "read", "history", "deeds"] as const).map((name) => ({
    name,
    label: codeWords[name],
    body: <CodeBlock text={code[name]} label={codeWords[name]} />,
  }));
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={codeWords.title}
      description={codeWords.about}
      className="is-wide"
    >
      <Tabs tabs={tabs} label={codeWords.title} />
    </Dialog>
  );
}

// Actions on the check: each sends a request and shows a message, with undo where possible.

const ACTIONS = {
  pause: "pauseCheck",
  resume: "resumeCheck",
  ping: "pingCheck",
  clear: "clearCheckHistory",
  restore: "restoreCheck",
} as const;

type Verb = keyof typeof ACTIONS;

/** What the actions share: the check, its row, and how to send requests. */
function useCheckRequests({ row, projectId }: CheckPage) {
  const client = useQueryClient();
  const [, navigate] = useLocation();
  const store = checksStore(projectId);
  const taken = (changed: CheckRow) => {
    store.applyRows({ rows: [changed], removed: [] });
    return refreshCheck(client, changed.id);
  };
  return {
    id: row.id,
    name: checkName(row),
    projectId,
    navigate,
    taken,
    ask: async (verb: Verb) => taken(await call(ACTIONS[verb], { check: row.id })),
    gone: () => {
      store.applyRows({ rows: [], removed: [row.id] });
      // A later visit to this page must not show the old data.
      void client.invalidateQueries({ queryKey: checkKey(row.id), refetchType: "none" });
    },
    refresh: () => refreshCheck(client, row.id),
  };
}

type CheckRequests = ReturnType<typeof useCheckRequests>;

/** Runs the action, and shows the error if it fails. */
async function attempt(action: () => Promise<unknown>): Promise<boolean> {
  try {
    await action();
    return true;
  } catch (error) {
    toastError(error);
    return false;
  }
}

/** Sends a request and shows a message, with undo if it can be undone. */
function requestAction(
  { ask }: CheckRequests,
  verb: Verb,
  { said, back }: { said: string; back?: Verb },
): Promise<boolean> {
  return attempt(async () => {
    await ask(verb);
    toast({ text: said, ...(back !== undefined && { undo: () => ask(back) }) });
  });
}

function copy({ id, name, taken, navigate }: CheckRequests): Promise<boolean> {
  return attempt(async () => {
    const made = await call("copyCheck", { check: id });
    await taken(made);
    navigate(pageHref("check", { check: made.id }));
    toast({ text: checkWords.copied(name) });
  });
}

function transfer(
  { id, name, gone, refresh }: CheckRequests,
  to: { id: string; name: string },
): Promise<boolean> {
  return attempt(async () => {
    await call("transferCheck", { check: id, body: { project: to.id } });
    gone();
    await refresh();
    toast({ text: actionWords.moved(name, to.name) });
  });
}

function remove({ id, name, projectId, ask, gone, navigate }: CheckRequests): Promise<boolean> {
  return attempt(async () => {
    await call("deleteCheck", { check: id });
    gone();
    navigate(pageHref("checks", { project: projectId }));
    const undo = async () => {
      await ask("restore");
      navigate(pageHref("check", { check: id }));
    };
    toast({ text: actionWords.deleted(name), undo });
  });
}

async function copyUrl(url: string): Promise<void> {
  const isCopied = await copyText(url);
  toast(isCopied ? { text: actionWords.urlCopied } : { kind: "trouble", text: actionWords.copyRefused(url) });
}

/** The actions of the page, each with the properties of a button. */
export function useCheckActions(page: CheckPage) {
  const requests = useCheckRequests(page);
  const { name } = requests;
  return {
    pause: () => requestAction(requests, "pause", { said: actionWords.paused(name), back: "resume" }),
    resume: () => requestAction(requests, "resume", { said: actionWords.resumed(name), back: "pause" }),
    ping: () => requestAction(requests, "ping", { said: checkWords.pinged(name) }),
    clear: () => requestAction(requests, "clear", { said: checkWords.clearAsk.done(name) }),
    copy: () => copy(requests),
    transfer: (to: { id: string; name: string }) => transfer(requests, to),
    remove: () => remove(requests),
    copyUrl: () => copyUrl(page.pingAddresses.url),
  };
}

export type CheckActions = ReturnType<typeof useCheckActions>;
