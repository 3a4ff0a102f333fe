// The app: router, shell, and the list of pages.
import { QueryClientProvider } from "@tanstack/react-query";
import { type ComponentType, lazy, type ReactNode, StrictMode, Suspense } from "react";
import { createRoot } from "react-dom/client";
import { matchRoute, Router, useLocation, useRouter, useSearchParams } from "wouter";
import type { PageName } from "../src/contract/api/boot.ts";
import { queryClient } from "./api.ts";
import { boot } from "./boot.ts";
import { FlipAnnouncer } from "./live/flips.tsx";
import { type PageProps, pathOf, usePageTitle } from "./page-location.ts";
import { KeyboardHelp, Palette } from "./palette.tsx";
import { PageGuard, Shell } from "./shell.tsx";
import { keepFocus } from "./shortcuts.ts";
import { ButtonLink, TipProvider } from "./ui/button.tsx";
import { aroundNav } from "./ui/dialog.tsx";
import { Empty, Loading } from "./ui/page-state.tsx";
import { Toasts } from "./ui/toast.tsx";
import { words } from "./words/shared.ts";

const TIP_DELAY_MS = 400;

/** Renders the app. The rows in the HTML stay until the page can replace them. */
export async function start(place: HTMLElement): Promise<void> {
  keepFocus();
  if (boot.page !== null) await fetchPage(boot.page.kind).catch(() => undefined);
  createRoot(place).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}

function App() {
  return (
    <QueryClientProvider client={queryClient}>
      <TipProvider delayDuration={TIP_DELAY_MS}>
        <Router base={boot.site.base} aroundNav={aroundNav}>
          <Routed />
          <Toasts />
          <FlipAnnouncer />
        </Router>
      </TipProvider>
    </QueryClientProvider>
  );
}

function Routed() {
  const { parser } = useRouter();
  const [location] = useLocation();
  const [search] = useSearchParams();
  const [isShared, shared] = matchRoute(parser, BOARD_PATH, location);
  if (isShared)
    return (
      <WholeScreen>
        <SharedBoard token={shared["token"] ?? ""} />
      </WholeScreen>
    );
  for (const { names, Page } of PAGES) {
    for (const name of names) {
      const [isMatch, found] = matchRoute(parser, pathOf(name), location);
      if (!isMatch) continue;
      const params = found as PageProps["params"];
      if (name === "checks" && search.has("board")) {
        return (
          <WholeScreen>
            <MemberBoard project={params.project ?? ""} />
          </WholeScreen>
        );
      }
      // The key keeps a page mounted while only its parameters change, and mounts a new one otherwise.
      const key = `${names[0]} ${params.project ?? params.check ?? ""}`;
      return (
        <Shell name={name} params={params}>
          <PageGuard key={key}>
            <Suspense fallback={<Loading />}>
              <Page params={params} />
            </Suspense>
          </PageGuard>
          <Palette />
          <KeyboardHelp />
        </Shell>
      );
    }
  }
  return (
    <Shell name={null} params={{}}>
      <MissingPage />
    </Shell>
  );
}

// The wall board fills the screen, without navigation. Its path with a share link is not in PAGE_PATHS: the token in it is
// the credential.

const BOARD_PATH = "/board/:token/";
const MemberBoard = lazy(async () => ({ default: (await import("./pages/board.tsx")).MemberBoard }));
const SharedBoard = lazy(async () => ({ default: (await import("./pages/board.tsx")).SharedBoard }));

function WholeScreen({ children }: { children: ReactNode }) {
  return (
    <PageGuard>
      <Suspense fallback={null}>{children}</Suspense>
    </PageGuard>
  );
}

// The pages by name, each loaded when it is first shown. PAGE_PATHS in src/contract/api/boot.ts has their paths.

type Page = {
  /** The first is the name of the page; the others are rendered by the same component, which stays mounted. */
  names: readonly [PageName, ...PageName[]];
  load: () => Promise<ComponentType<PageProps>>;
  /** Suspends until its file is loaded. */
  Page: ComponentType<PageProps>;
};

function page(names: Page["names"], load: Page["load"]): Page {
  return { names, load, Page: lazy(async () => ({ default: await load() })) };
}

export const PAGES: readonly Page[] = [
  page(["checks"], async () => (await import("./pages/checks.tsx")).ChecksPage),
  page(["timeline"], async () => (await import("./pages/timeline.tsx")).TimelinePage),
  page(["check", "run"], async () => (await import("./pages/check.tsx")).CheckScreen),
  page(["projects"], async () => (await import("./pages/projects.tsx")).ProjectsPage),
  page(["incidents"], async () => (await import("./pages/incidents.tsx")).IncidentsPage),
  page(["incident"], async () => (await import("./pages/incident.tsx")).IncidentPage),
  page(["near-misses"], async () => (await import("./pages/near-misses.tsx")).NearMissesPage),
  page(["forecast"], async () => (await import("./pages/forecast.tsx")).ForecastPage),
  page(["silences"], async () => (await import("./pages/silences.tsx")).SilencesPage),
  page(["events"], async () => (await import("./pages/events.tsx")).EventsPage),
  page(["reports"], async () => (await import("./pages/reports.tsx")).ReportsPage),
  page(["status-pages"], async () => (await import("./pages/status-pages.tsx")).StatusPagesPage),
  page(["badges"], async () => (await import("./pages/badges.tsx")).BadgesPage),
  page(["channels"], async () => (await import("./pages/channels.tsx")).ChannelsPage),
  page(["fire-drill"], async () => (await import("./pages/fire-drill.tsx")).FireDrillPage),
  page(["settings"], async () => (await import("./pages/settings.tsx")).SettingsPage),
  page(["profile"], async () => (await import("./pages/account.tsx")).AccountScreen),
  page(["admin"], async () => (await import("./pages/admin.tsx")).AdminPage),
  page(["welcome"], async () => (await import("./pages/welcome.tsx")).WelcomePage),
];

/** Loads the code of a page, so that it is rendered at once. Otherwise the page shows a loading state, or an error. */
async function fetchPage(name: PageName): Promise<void> {
  const wanted = PAGES.find(({ names }) => names.includes(name));
  if (wanted !== undefined) wanted.Page = await wanted.load();
}

// Shown for an unknown address, and by pages whose subject does not exist.

function MissingPage() {
  usePageTitle(words.pageMissing.title);
  return (
    <Empty
      title={words.pageMissing.title}
      action={<ButtonLink href="/">{words.pageMissing.action}</ButtonLink>}
    >
      <p>{words.pageMissing.text}</p>
    </Empty>
  );
}
