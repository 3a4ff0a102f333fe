// What stands round every page: the rail with the project and its pages, on a phone a bar at the foot, and the
// footer that tells how fast alerts have been.
import { type ReactNode, useEffect } from "react";
import { Link } from "wouter";
import { STATE_WORDS } from "../../src/contract/web/list-words.ts";
import type { PageName } from "../../src/contract/web/page-paths.ts";
import { boot, browserZone, readerZone, siteUrl } from "../boot/boot.ts";
import { openHelp } from "../keys/open-windows.ts";
import { checksStore } from "../live/checks-store.ts";
import { countDownOf, useDownCount } from "../live/down-count.ts";
import { words } from "../words/shared.ts";
import { formatDuration } from "../words/time.ts";
import { AccountMenu } from "./account-menu.tsx";
import { Brand } from "./brand.tsx";
import { useCurrentProject, useShowProject } from "./current-project.ts";
import { pageHref, type PageProps, PROJECT_PAGES } from "./page-address.ts";
import { useFavicon } from "./page-title.ts";
import { ConnectionBand } from "./connection-band.tsx";
import { ServiceBand } from "./service-band.tsx";
import { ProjectSwitcher } from "./project-switcher.tsx";

/** A page opened from one of these belongs to it. */
const PARTS: Partial<Record<PageName, PageName>> = { check: "checks", run: "checks" };

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
 * Nothing is heard of a project that nobody listens to, and what goes down is told on all of its pages. The path of a
 * check does not name the project: that page listens itself, once it knows.
 */
function useWatchProject(project: string | undefined): void {
  useEffect(
    () => (project === undefined ? undefined : checksStore(project).watch(() => undefined)),
    [project],
  );
}

function RailLinks({ project, on }: { project: string; on: PageName | null }) {
  const down = useDownCount(project);
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
    </Link>
  ));
}

/** Whose clock the times on the page are, and the way to choose another. */
function ZoneShown() {
  const isChosen = boot.account !== null && boot.account.zone !== null;
  const title = isChosen ? words.zoneTitle(browserZone) : words.zoneOfBrowserTitle;
  return (
    <Link href={pageHref("profile")} title={title}>
      {isChosen ? words.zone(readerZone) : words.zoneOfBrowser(readerZone)}
    </Link>
  );
}

function Foot() {
  return (
    <div className="foot">
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
