// The first check: a name, its line, and the signal seen when it comes.
import { checkName } from "../../../src/contract/web/list-words.ts";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import type { ChecksBoot, ProjectHead } from "../../../src/contract/web/boot.ts";
import type { CheckRow } from "../../../src/contract/web/check-row.ts";
import { get, send, troubleText } from "../../api/api.ts";
import { hasArrived, useWaiting, WaitingFor } from "../../parts/waiting/waiting.tsx";
import { pageHref } from "../../shell/page-address.ts";
import { useCurrentProject } from "../../shell/current-project.ts";
import { Button, ButtonLink } from "../../ui/button.tsx";
import { TextField } from "../../ui/field.tsx";
import { Queried } from "../../ui/page-state.tsx";
import { welcomeWords } from "../../words/welcome.ts";
import { Step } from "./step.tsx";

const words = welcomeWords.check;

export function CheckStep() {
  const project = useCurrentProject();
  if (project === null) {
    return (
      <Step n={4} state="open" title={words.title}>
        <p>{words.noProject}</p>
        <ButtonLink href={pageHref("projects")}>{words.projects}</ButtonLink>
      </Step>
    );
  }
  return <InProject project={project} />;
}

function InProject({ project }: { project: ProjectHead }) {
  const [made, setMade] = useState<CheckRow | null>(null);
  const query = useQuery({
    queryKey: ["set-up-checks", project.id],
    queryFn: () => get<ChecksBoot>(`/projects/${project.id}/overview`),
  });
  // One that was never heard of is the one to try.
  const silent = query.data?.rows.find(({ lastPingAt }) => lastPingAt === null) ?? null;
  const check = made ?? silent;
  if (check !== null) return <Awaited check={check} project={project} />;
  const total = query.data?.total ?? 0;
  return (
    <Step n={4} state={total > 0 ? "done" : "open"} title={words.title}>
      <Queried query={query} rows={2}>
        {() => (
          <>
            <p>{total > 0 ? words.watched(total) : words.text}</p>
            {project.may.includes("editChecks") ? (
              <NewCheck project={project.id} isMore={total > 0} onMade={setMade} />
            ) : (
              <p>{words.mayNot}</p>
            )}
            {total > 0 && (
              <ButtonLink href={pageHref("checks", { project: project.id })} kind="primary">
                {words.toChecks}
              </ButtonLink>
            )}
          </>
        )}
      </Queried>
    </Step>
  );
}

function NewCheck(props: { project: string; isMore: boolean; onMade: (check: CheckRow) => void }) {
  const [name, setName] = useState("");
  const made = useMutation({
    mutationFn: () => send<CheckRow>("POST", `/projects/${props.project}/checks`, { name: name.trim() }),
    onSuccess: props.onMade,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    made.mutate();
  };
  return (
    <form className="section-line" onSubmit={submit}>
      <TextField
        label={words.name}
        placeholder={words.placeholder}
        value={name}
        required
        autoComplete="off"
        dir="auto"
        onChange={(event) => setName(event.target.value)}
        error={made.isError ? troubleText(made.error) : null}
      />
      <Button kind={props.isMore ? "quiet" : "primary"} type="submit" isBusy={made.isPending}>
        {props.isMore ? words.another : words.create}
      </Button>
    </form>
  );
}

function Awaited({ check, project }: { check: CheckRow; project: ProjectHead }) {
  const { data } = useWaiting(check.id);
  const isHere = hasArrived(data);
  return (
    <Step n={4} state={isHere ? "done" : "open"} title={`${words.title}: ${checkName(check)}`}>
      <WaitingFor check={check.id} project={project.id} />
      {isHere && <ButtonLink href={pageHref("checks", { project: project.id })}>{words.toChecks}</ButtonLink>}
    </Step>
  );
}
