// The page of all projects: one card for each, what is down first, with what changed last.
import type { DrawnState } from "../../../src/contract/web/check-row.ts";
import { STATE_WORDS, checkName, formatCount } from "../../../src/contract/web/list-words.ts";
import "./page.css";
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { Link } from "wouter";
import type { ProjectCard, ProjectsBoot } from "../../../src/contract/web/boot.ts";
import { get } from "../../api/api.ts";
import { takeBootPage } from "../../boot/boot.ts";
import { tellDown } from "../../live/down-count.ts";
import { pageHref } from "../../shell/page-address.ts";
import { usePageTitle } from "../../shell/page-title.ts";
import { StateShape } from "../../ui/marks/state-shape.tsx";
import { Empty, Queried } from "../../ui/page-state.tsx";
import { Ago } from "../../ui/when.tsx";
import { projectsTitle, projectsWords } from "../../words/projects.ts";
import { ReceivingBand } from "../checks/since-line.tsx";
import { NewProject } from "./new-project.tsx";

const REFRESH_MS = 10_000;
const SHOWN = ["down", "late", "running", "up", "paused", "new"] as const satisfies readonly DrawnState[];

export function ProjectsPage() {
  const query = useQuery({
    queryKey: ["projects"],
    queryFn: () => get<ProjectsBoot>("/projects"),
    initialData: () => takeBootPage("projects") ?? undefined,
    refetchInterval: REFRESH_MS,
  });
  useEffect(() => {
    for (const { id, counts } of query.data?.cards ?? []) tellDown(id, counts.down);
  }, [query.data]);
  const title = projectsTitle(query.data?.cards ?? []);
  usePageTitle(title);
  return (
    <>
      <header className="top">
        <h1>{title}</h1>
        <NewProject />
      </header>
      <ReceivingBand trouble={query.data?.receiving ?? null} place="above" />
      <Queried query={query} rows={3}>
        {({ cards }) =>
          cards.length === 0 ? (
            <Empty title={projectsWords.none.title}>
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
      <ReceivingBand trouble={query.data?.receiving ?? null} place="below" />
    </>
  );
}

/** What is down comes first, then what is late, then by name. */
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

/** One bar: how much of the project is in which state. */
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
