// The page as a whole: shell, router, and what lies round them. Which page is drawn is decided by pages/page-table.ts.
import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode, Suspense } from "react";
import { createRoot } from "react-dom/client";
import { matchRoute, Router, useLocation, useRouter } from "wouter";
import { queryClient } from "./api/query-client.ts";
import { boot } from "./boot/boot.ts";
import { keepFocus } from "./keys/keep-focus.ts";
import { KeyboardHelp } from "./keys/keyboard-help.tsx";
import { Palette } from "./keys/palette.tsx";
import { fetchPage, PAGES } from "./pages/page-table.ts";
import { type PageProps, pathOf } from "./shell/page-address.ts";
import { FlipAnnouncer } from "./live/flip-announcer.tsx";
import { Shell } from "./shell/shell.tsx";
import { PageGuard } from "./shell/page-guard.tsx";
import { MissingPage } from "./shell/missing-page.tsx";
import { Loading } from "./ui/page-state.tsx";
import { Toasts } from "./ui/toast.tsx";
import { TipProvider } from "./ui/tooltip.tsx";
import { aroundNav } from "./ui/unsaved.tsx";

const TIP_DELAY_MS = 400;

/** Draws the app. What the server has drawn stays until the page can take its place. */
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
  for (const { names, Page } of PAGES) {
    for (const name of names) {
      const [isMatch, found] = matchRoute(parser, pathOf(name), location);
      if (!isMatch) continue;
      const params = found as PageProps["params"];
      // The key keeps a page in place while only what its path names changes, and starts a new one otherwise.
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
