// The page of all projects: one card each, failing ones first.
import "./projects.css";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useEffect, useState } from "react";
import { Link } from "wouter";
import type { ProjectCard } from "../../src/contract/api/boot.ts";
import type { DrawnState } from "../../src/contract/api/check-row.ts";
import { FIELD_LENGTHS } from "../../src/contract/api/limits.ts";
import { checkName, formatCount, STATE_WORDS } from "../../src/contract/api/words.ts";
import { call, errorText } from "../api.ts";
import { siteUrl, takeBootPage } from "../boot.ts";
import { setDownCount } from "../live/checks-store.ts";
import { pageHref, usePageTitle } from "../page-location.ts";
import { MonitoringGapBand } from "../parts/since-away.tsx";
import { Button } from "../ui/button.tsx";
import { Dialog, FormActions } from "../ui/dialog.tsx";
import { DocsLink } from "../ui/docs-link.tsx";
import { TextField } from "../ui/field.tsx";
import { StateShape } from "../ui/marks.tsx";
import { Empty, Queried } from "../ui/page-state.tsx";
import { Ago } from "../ui/when.tsx";
import { plural } from "../words/format.ts";

/** The title: the most important status across all projects. */
export function projectsTitle(cards: readonly ProjectCard[]): string {
  let down = 0;
  let late = 0;
  for (const { counts } of cards) {
    down += counts.down;
    late += counts.late;
  }
  if (cards.length === 0) return "Projects";
  if (down > 0) {
    const broken = cards.filter(({ counts }) => counts.down > 0).length;
    const jobs = `${plural(down, "job needs", "jobs need")} attention`;
    return broken > 1 ? `${jobs} in ${plural(broken, "project")}` : jobs;
  }
  if (late > 0) return `${plural(late, "job is", "jobs are")} late`;
  return cards.length === 1 ? "No problems" : `No problems in ${plural(cards.length, "project")}`;
}

export const projectsWords = {
  new: "New project",
  newAbout: "Each project has its own checks, channels, API keys and members.",
  name: "Name",
  create: "Create project",
  empty: "No checks yet",
  emptyNext: "Open the project to add the first check",
  noFlip: "No recent changes",
  wentDown: "went down",
  cameUp: "came up",
  roles: { owner: "owner", manager: "manager", member: "member", readOnly: "read-only" },
  none: {
    title: "No projects yet",
    text: "A project groups checks, channels, API keys and members. Create one, or ask for an invitation to an existing one.",
  },
} as const;

const REFRESH_MS = 10_000;
const SHOWN = ["down", "late", "running", "up", "paused", "new"] as const satisfies readonly DrawnState[];

export function ProjectsPage() {
  const query = useQuery({
    queryKey: ["projects"],
    queryFn: () => call("listProjects", {}),
    initialData: () => takeBootPage("projects") ?? undefined,
    refetchInterval: REFRESH_MS,
  });
  useEffect(() => {
    for (const { id, counts } of query.data?.projects ?? []) setDownCount(id, counts.down);
  }, [query.data]);
  const title = projectsTitle(query.data?.projects ?? []);
  usePageTitle(title);
  return (
    <>
      <header className="top">
        <h1>{title}</h1>
        <DocsLink to="projects" />
        <NewProject />
      </header>
      <Queried query={query} rows={3}>
        {({ projects: cards }) =>
          cards.length === 0 ? (
            <Empty title={projectsWords.none.title} docs="projects">
              <p>{projectsWords.none.text}</p>
            </Empty>
          ) : (
            <ul className="projects">
              {cards.toSorted(worstFirst).map((card) => (
                <Card key={card.id} card={card} />
              ))}
            </ul>
          )
        }
      </Queried>
      <MonitoringGapBand gap={query.data?.monitoringGap ?? null} />
    </>
  );
}

/** Projects with checks that are down come first, then late, then by name. */
function worstFirst(a: ProjectCard, b: ProjectCard): number {
  return (
    Number(b.counts.down > 0) - Number(a.counts.down > 0) ||
    Number(b.counts.late > 0) - Number(a.counts.late > 0) ||
    a.name.localeCompare(b.name, undefined, { sensitivity: "base", numeric: true })
  );
}

function Card({ card }: { card: ProjectCard }) {
  const { id, name, counts, total, worst, lastFlip, role } = card;
  return (
    <li className={`project-card is-${worst ?? "new"}`}>
      <div className="project-head">
        <StateShape state={worst ?? "new"} size={20} />
        <Link className="project-link clip" href={pageHref("checks", { project: id })} title={name}>
          {name}
        </Link>
        <span className="project-role">{projectsWords.roles[role]}</span>
      </div>
      <Share counts={counts} total={total} />
      <ul className="project-counts figures">
        {SHOWN.filter((state) => counts[state] > 0).map((state) => (
          <li key={state} className={`is-${state}`}>
            {formatCount(counts[state])} {STATE_WORDS[state]}
          </li>
        ))}
        {total === 0 && <li>{projectsWords.empty}</li>}
      </ul>
      <p className="project-flip">
        {total === 0 ? (
          projectsWords.emptyNext
        ) : lastFlip === null ? (
          projectsWords.noFlip
        ) : (
          <>
            <Link href={pageHref("check", { check: lastFlip.checkId })}>
              <b dir="auto">{checkName({ name: lastFlip.checkName })}</b>
            </Link>{" "}
            {lastFlip.to === "down" ? projectsWords.wentDown : projectsWords.cameUp} <Ago at={lastFlip.at} />
          </>
        )}
      </p>
    </li>
  );
}

/** One bar: the share of checks in each state. */
function Share({ counts, total }: Pick<ProjectCard, "counts" | "total">) {
  const parts = (["down", "late", "up", "paused", "new"] as const).filter((state) => counts[state] > 0);
  return (
    <span className="project-share" aria-hidden="true">
      {total === 0 && <i className="is-none" style={{ flexGrow: 1 }} />}
      {parts.map((state) => (
        <i key={state} className={`is-${state}`} style={{ flexGrow: counts[state] }} />
      ))}
    </span>
  );
}

// The form for a new project.

export function NewProject() {
  const [isOpen, setOpen] = useState(false);
  const [name, setName] = useState("");
  const [error, setError] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      const { id } = await call("createProject", { body: { name: name.trim() } });
      // Loads a new page, which has the new list of projects.
      location.assign(siteUrl(pageHref("checks", { project: id })));
    } catch (trouble) {
      setError(errorText(trouble));
      setBusy(false);
    }
  };
  return (
    <>
      <Button kind="primary" onClick={() => setOpen(true)}>
        {projectsWords.new}
      </Button>
      <Dialog
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        isUnsaved={name !== "" && !isBusy}
        title={projectsWords.new}
        description={projectsWords.newAbout}
      >
        <form className="form" onSubmit={(event) => void submit(event)}>
          <TextField
            label={projectsWords.name}
            value={name}
            onChange={(event) => setName(event.target.value)}
            maxLength={FIELD_LENGTHS.projectName}
            required
            dir="auto"
            autoComplete="off"
            error={error}
          />
          <FormActions act={projectsWords.create} onClose={() => setOpen(false)} isBusy={isBusy} />
        </form>
      </Dialog>
    </>
  );
}
