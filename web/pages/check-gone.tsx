// Shown when the check was deleted or moved while its page was open: who did it, and how to restore it.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, useSyncExternalStore } from "react";
import type { RemovedCheck } from "../../src/contract/api/overview.ts";
import type { CheckPage } from "../../src/contract/api/check-page.ts";
import { checkName } from "../../src/contract/api/words.ts";
import { call, refreshCheck } from "../api.ts";
import { boot, otherProjects, userZone } from "../boot.ts";
import { checksStore } from "../live/checks-store.ts";
import { useMinute } from "../live/clock.ts";
import { pageHref, usePageTitle, useShowProject } from "../page-location.ts";
import { Button, ButtonLink, Icon, IconButton } from "../ui/button.tsx";
import { Queried } from "../ui/page-state.tsx";
import { toast, toastError } from "../ui/toast.tsx";
import { goneSentence, goneWords as words } from "../words/check.ts";
import { actionWords } from "../words/checks.ts";
import { formatWhen } from "../words/format.ts";
import { words as shared } from "../words/shared.ts";

/** How a check left a project. Fetched each time: it may have been restored and deleted again. */
function useGone({ project, check }: { project: string; check: string }) {
  return useQuery({
    queryKey: ["gone", project, check],
    queryFn: () => call("getRemovedCheck", { project, id: check }),
    gcTime: 0,
  });
}

const useWhen = () => {
  const now = useMinute();
  return (at: number) => formatWhen(at, { now, zone: userZone });
};

/** Shown instead of the page when the check does not exist any more, or is not accessible. */
export function Gone({ page }: { page: CheckPage }) {
  const { projectId, row } = page;
  useShowProject(projectId);
  useComeBack(page);
  const query = useGone({ project: projectId, check: row.id });
  return <Queried query={query}>{(gone) => <GoneMessage page={page} gone={gone} />}</Queried>;
}

function GoneMessage({ page, gone }: { page: CheckPage; gone: RemovedCheck }) {
  const name = checkName(page.row);
  const when = useWhen();
  const { isBusy, takeBack } = useTakeBack(page);
  usePageTitle(words.tabs[gone.how](name));
  return (
    <>
      <h1 dir="auto">{name}</h1>
      <section className="panel check-gone">
        <div role="alert">
          <p>
            <b>{goneSentence(gone, when(gone.at))}</b>
          </p>
          <p>{outlook(gone, when)}</p>
        </div>
        <div className="check-gone-acts">
          {gone.mayRestore && (
            <Button kind="primary" isBusy={isBusy} onClick={() => void takeBack()}>
              {words.back}
            </Button>
          )}
          <ButtonLink href={pageHref("checks", { project: page.projectId })}>{words.checks}</ButtonLink>
        </div>
      </section>
    </>
  );
}

/** Shown in a form: the input is kept, and can be saved once the check is restored. */
export function GoneNote({ page }: { page: CheckPage }) {
  const query = useGone({ project: page.projectId, check: page.row.id });
  const when = useWhen();
  useComeBack(page);
  const { isBusy, takeBack } = useTakeBack(page);
  const { data: gone } = query;
  return (
    <section className="conflict">
      <div role="alert">
        <p>
          <b>{gone === undefined ? words.deletedUnknown : goneSentence(gone, when(gone.at))}</b>
        </p>
        <p>{words.unsavedChanges}</p>
      </div>
      {gone?.mayRestore === true && (
        <div className="form-acts">
          <Button kind="primary" isBusy={isBusy} onClick={() => void takeBack()}>
            {words.restore}
          </Button>
        </div>
      )}
    </section>
  );
}

function outlook({ how, expiresAt, mayRestore }: RemovedCheck, when: (at: number) => string): string {
  if (how === "moved") return words.elsewhere;
  if (expiresAt === null) return words.cannotRestore;
  return mayRestore ? words.kept(when(expiresAt)) : words.keptForOthers(when(expiresAt));
}

function useTakeBack({ projectId, row }: CheckPage) {
  const client = useQueryClient();
  const [isBusy, setBusy] = useState(false);
  const takeBack = async () => {
    setBusy(true);
    try {
      const back = await call("restoreCheck", { check: row.id });
      checksStore(projectId).applyRows({ rows: [back], removed: [] });
      toast({ text: actionWords.restored(checkName(back)) });
    } catch (error) {
      toastError(error);
    }
    // Also after a refusal: another user may have restored it.
    await refreshCheck(client, row.id);
    setBusy(false);
  };
  return { isBusy, takeBack };
}

/** If the check is restored elsewhere, the page returns, too. */
function useComeBack({ projectId, row }: CheckPage): void {
  const store = checksStore(projectId);
  const { rows } = useSyncExternalStore(store.watch, store.snapshot);
  const client = useQueryClient();
  const order = rows.get(row.id)?.readingOrder ?? null;
  // The stream may report the removal after the page: the known row does not mean that the check is back.
  const [stale] = useState(order);
  useEffect(() => {
    if (order !== null && order !== stale) void refreshCheck(client, row.id);
  }, [order, stale, client, row.id]);
}

type MovedProps = {
  page: CheckPage;
  from: string;
  mayEdit: boolean;
  onBack: () => void;
  onClose: () => void;
};

/** Shown above the page of a check that was moved while it was open, except to the user who moved it. */
export function MovedNote({ page, from, mayEdit, onBack, onClose }: MovedProps) {
  const { data: gone, isPending } = useGone({ project: from, check: page.row.id });
  const when = useWhen();
  if (isPending || gone?.by?.kind === "you") return null;
  const mayGoBack = mayEdit && otherProjects(page.projectId).some(({ id }) => id === from);
  return (
    <section className="panel check-gone is-note">
      <div role="alert">
        <p>
          <b>{gone === undefined ? words.movedUnknown : goneSentence(gone, when(gone.at))}</b>
        </p>
        <p>{words.here(projectName(from), projectName(page.projectId))}</p>
      </div>
      <div className="check-gone-acts">
        {mayGoBack && <Button onClick={onBack}>{words.moveBack}</Button>}
        <IconButton label={shared.close} onClick={onClose}>
          <Icon name="cross" />
        </IconButton>
      </div>
    </section>
  );
}

function projectName(project: string): string {
  return boot.projects.find(({ id }) => id === project)?.name ?? words.unknownProject;
}
