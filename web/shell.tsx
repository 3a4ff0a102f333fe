// The frame of every page: navigation, banners and footer.
import { Component, type ReactNode, useEffect, useState, useSyncExternalStore } from "react";
import { Link } from "wouter";
import type { Boot, PageName, ProjectHead, Theme } from "../src/contract/api/boot.ts";
import { STATE_WORDS } from "../src/contract/api/words.ts";
import { DOCS } from "../src/contract/api/docs.ts";
import { call } from "./api.ts";
import { boot, browserZone, userZone, showTheme, siteUrl, useTheme } from "./boot.ts";
import { checksStore, countDownOf, useDisconnected, useDownCount } from "./live/checks-store.ts";
import { serverNow } from "./live/clock.ts";
import {
  pageHref,
  type PageProps,
  PROJECT_PAGES,
  useCurrentProject,
  useFavicon,
  useShowProject,
} from "./page-location.ts";
import { useIncidentCounts } from "./pages/use-incidents.ts";
import { useNearMissCount } from "./pages/use-near-misses.ts";
import { openHelp, openPalette } from "./palette.tsx";
import { Button, Icon } from "./ui/button.tsx";
import { LearnMore, openDocs } from "./ui/docs-link.tsx";
import { Menu, MenuChoice, MenuHead, MenuItem, MenuLine, MenuLink } from "./ui/menu.tsx";
import { Band, Empty } from "./ui/page-state.tsx";
import { toastError } from "./ui/toast.tsx";
import { sinceWords } from "./words/checks.ts";
import { formatClock, formatDuration } from "./words/format.ts";
import { words } from "./words/shared.ts";

/** A page opened from one of these belongs to it. */
const PARTS: Partial<Record<PageName, PageName>> = {
  check: "checks",
  run: "checks",
  incident: "incidents",
};
/** The pages of a project that a phone has in its menu: its bar has no room for them. */
const PHONE_MENU = [
  "events",
  "forecast",
  "near-misses",
  "silences",
  "channels",
  "status-pages",
  "reports",
  "badges",
  "settings",
] as const;

type Props = { name: PageName | null; params: PageProps["params"]; children: ReactNode };

export function Shell({ name, params, children }: Props) {
  useShowProject(params.project);
  useWatchProject(boot.account === null ? undefined : params.project);
  useFavicon();
  const project = useCurrentProject();
  const isOfProject = name !== null && (params.project !== undefined || params.check !== undefined);
  const downOf = isOfProject ? (project?.id ?? null) : null;
  useEffect(() => countDownOf(downOf), [downOf]);
  if (boot.account === null) return <main className="page is-alone">{children}</main>;
  return (
    <div className="shell">
      <a className="skip" href="#content">
        {words.nav.skip}
      </a>
      <nav className="rail" aria-label={words.nav.label}>
        <Link href="/" className="brand">
          <Brand />
          {words.product}
        </Link>
        <ProjectSwitcher project={project} />
        {project !== null && (
          <RailLinks project={project.id} on={name === null ? null : (PARTS[name] ?? name)} />
        )}
        <AccountMenu />
        <Foot />
      </nav>
      <main className="page" id="content" tabIndex={-1}>
        <ConnectionBand />
        <ServiceBand />
        {children}
      </main>
    </div>
  );
}

/**
 * Subscribes every page of a project to its changes, so that flips are announced. The path of a check does not contain
 * the project: that page subscribes itself.
 */
function useWatchProject(project: string | undefined): void {
  useEffect(
    () => (project === undefined ? undefined : checksStore(project).watch(() => undefined)),
    [project],
  );
}

function RailLinks({ project, on }: { project: string; on: PageName | null }) {
  const down = useDownCount(project);
  const incidents = useIncidentCounts(project);
  const nearMisses = useNearMissCount(project);
  const openCount = incidents === null ? 0 : incidents.open + incidents.acknowledged;
  return PROJECT_PAGES.map((page) => (
    <Link
      key={page}
      href={pageHref(page, { project })}
      className="rail-link"
      aria-current={page === on ? "page" : undefined}
    >
      {words.nav[page]}
      {page === "checks" && down > 0 && (
        <b className="count is-down">
          {down}
          <span className="sr"> {STATE_WORDS.down}</span>
        </b>
      )}
      {page === "near-misses" && nearMisses > 0 && (
        <b className="count">
          {nearMisses}
          <span className="sr"> {words.nav.openNearMisses}</span>
        </b>
      )}
      {page === "incidents" && openCount > 0 && (
        <b className={incidents?.open === 0 ? "count" : "count is-down"}>
          {openCount}
          <span className="sr"> {words.nav.openIncidents}</span>
        </b>
      )}
    </Link>
  ));
}

/** The time zone of the page, and a link to change it. */
function ZoneShown() {
  const isChosen = boot.account !== null && boot.account.zone !== null;
  const title = isChosen ? words.zoneTitle(browserZone) : words.zoneOfBrowserTitle;
  return (
    <Link href={pageHref("profile")} title={title}>
      {isChosen ? words.zone(userZone) : words.zoneOfBrowser(userZone)}
    </Link>
  );
}

function Foot() {
  return (
    <div className="foot">
      <a href={siteUrl(DOCS.home)} target="_blank" rel="noopener">
        {words.nav.docs}
      </a>
      <a href={siteUrl("/docs/api")}>{words.nav.api}</a>
      <button type="button" onClick={openHelp}>
        {words.nav.keysShort}
      </button>
      <ZoneShown />
      {boot.alertDelayMs !== null && (
        <span className="lag" title={words.lagTitle}>
          {words.lag(formatDuration(boot.alertDelayMs))}
        </span>
      )}
    </div>
  );
}

// The project switcher.

function ProjectSwitcher({ project }: { project: ProjectHead | null }) {
  if (project === null) return null;
  return (
    <Menu
      label={words.nav.switchProject}
      trigger={
        <button type="button" className="project" aria-label={`${words.nav.switchProject}: ${project.name}`}>
          <span className="clip">{project.name}</span>
          <Icon name="down" size={14} />
        </button>
      }
    >
      {boot.projects.map((one) => (
        <MenuLink key={one.id} href={pageHref("checks", { project: one.id })}>
          {one.name}
        </MenuLink>
      ))}
      <MenuLine />
      <MenuLink href={pageHref("projects")}>{words.nav.projects}</MenuLink>
    </Menu>
  );
}

// The account menu.

const THEMES = ["system", "light", "dark"] as const;

function AccountMenu() {
  const theme = useTheme();
  const project = useCurrentProject();
  const { account } = boot;
  if (account === null) return null;
  return (
    <div className="account">
      <Menu
        label={words.nav.account}
        trigger={
          <button type="button" className="rail-link account-button">
            <span className="sr">{words.nav.account}</span>
            <span className="clip">{account.name === "" ? account.email : account.name}</span>
            <span className="account-more">{words.nav.more}</span>
            <Icon name="more" />
          </button>
        }
      >
        <MenuHead>{account.email}</MenuHead>
        <MenuLink href={pageHref("profile")}>{words.nav.account}</MenuLink>
        {account.isAdmin && <MenuLink href={pageHref("admin")}>{words.nav.admin}</MenuLink>}
        <MenuLink href={pageHref("projects")}>{words.nav.projects}</MenuLink>
        {project !== null &&
          PHONE_MENU.map((page) => (
            <MenuLink key={page} href={pageHref(page, { project: project.id })} className="is-phone">
              {words.nav[page]}
            </MenuLink>
          ))}
        <MenuLine />
        <MenuHead>{words.nav.theme}</MenuHead>
        {THEMES.map((one) => (
          <MenuChoice key={one} isChosen={theme === one} onPick={() => keepTheme(one)}>
            {words.nav.themes[one]}
          </MenuChoice>
        ))}
        <MenuLine />
        <MenuItem onPick={openPalette} keys="Control+k">
          {words.nav.search}
        </MenuItem>
        <MenuItem onPick={openHelp} keys="?">
          {words.nav.keys}
        </MenuItem>
        <MenuItem onPick={openDocs}>{words.nav.documentation}</MenuItem>
        <MenuItem onPick={() => location.assign(siteUrl("/docs/api"))}>{words.nav.apiReference}</MenuItem>
        <MenuLine />
        <MenuItem onPick={signOut}>{words.nav.signOut}</MenuItem>
      </Menu>
    </div>
  );
}

/** Applied immediately, and saved for the account; if that fails, it applies to this page only. */
function keepTheme(theme: Theme): void {
  showTheme(theme);
  call("updateAccount", { body: { theme } }).catch(toastError);
}

/** A form, because signing out changes state and responds with a page. */
function signOut(): void {
  const form = document.createElement("form");
  form.method = "post";
  form.action = siteUrl("/accounts/logout/");
  document.body.append(form);
  form.submit();
}

// The banner shown while the connection to the server is lost.

/** A shorter interruption is over before the banner could be read. */
const SHOWN_AFTER_MS = 2_000;

function ConnectionBand() {
  return useDisconnected() ? <Cut /> : null;
}

function Cut() {
  const [cutAt, setCutAt] = useState<number | null>(null);
  useEffect(() => {
    const at = serverNow();
    const timer = setTimeout(() => setCutAt(at), SHOWN_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  if (cutAt === null) return null;
  return <Band isSticky text={sinceWords.notConnected(formatClock(cutAt, userZone))} />;
}

// The banner shown in safe mode.

let state: Boot["serviceState"] = boot.serviceState;
const listeners = new Set<() => void>();

/** After a confirmation, or a response of the server. */
export function setServiceState(next: Boot["serviceState"]): void {
  state = next;
  for (const listener of listeners) listener();
}

function listen(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function ServiceBand() {
  const shown = useSyncExternalStore(listen, () => state);
  if (shown === "normal" || boot.account === null) return null;
  const { text, act, admin } = words.safeMode;
  const isAdmin = boot.account.isAdmin;
  return (
    <Band text={isAdmin ? text : `${text} ${admin}`}>
      <LearnMore to="safeMode" />
      {isAdmin && (
        <Link className="link" href={pageHref("admin")}>
          {act}
        </Link>
      )}
    </Band>
  );
}

// The logo: a clock whose hand has passed the full hour.
function Brand({ size = 22 }: { size?: number }) {
  return (
    <svg viewBox="0 0 24 24" width={size} height={size} aria-hidden="true">
      <path
        d="M12 2.5a9.5 9.5 0 1 0 9.5 9.5"
        fill="none"
        stroke="currentColor"
        strokeWidth="2.4"
        strokeLinecap="round"
      />
      <path
        d="M12 7v5l3.2 2.2"
        fill="none"
        stroke="currentColor"
        strokeWidth="2.2"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
      <circle cx="18.6" cy="5.4" r="2.6" fill="var(--down-mark)" />
    </svg>
  );
}

// Shows an error in place of a page that throws, so that the navigation stays usable. React supports this only in
// classes.

export class PageGuard extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: unknown): { error: Error } {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <Empty
        title={words.broken.title}
        action={
          <Button kind="primary" onClick={() => location.reload()}>
            {words.broken.action}
          </Button>
        }
      >
        <p>{words.broken.text}</p>
        <pre className="broken-detail">{error.message}</pre>
      </Empty>
    );
  }
}
