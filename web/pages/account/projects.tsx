// The projects of an account: leaving one, and answering whoever wants to hand one over.
import { useMutation } from "@tanstack/react-query";
import { Link } from "wouter";
import type { AccountPage } from "../../../src/contract/web/account.ts";
import { send } from "../../api/api.ts";
import { ConfirmButton } from "../../parts/confirm.tsx";
import { Notice, Row, Rows, Section } from "../../parts/section.tsx";
import { TransferAnswer } from "../../parts/transfer-answer.tsx";
import { pageHref } from "../../shell/page-address.ts";
import { accountWords } from "../../words/account.ts";
import { ROLE_WORDS } from "../../words/settings.ts";

const words = accountWords.projects;
type Project = AccountPage["projects"][number];
type Transfer = AccountPage["transfers"][number];

/** What the rail shows and what the person may do come with the page. */
function reload(): void {
  location.reload();
}

export function OwnProjects({ account }: { account: AccountPage }) {
  return (
    <Section title={words.title} about={words.about}>
      {account.transfers.map((transfer) => (
        <AskedFor key={transfer.uuid} transfer={transfer} />
      ))}
      <Rows label={words.list} none={words.none}>
        {account.projects.map((project) => (
          <Row
            key={project.uuid}
            name={
              <Link className="account-project" href={pageHref("checks", { project: project.uuid })}>
                {project.name}
              </Link>
            }
            mark={ROLE_WORDS[project.role]}
            acts={project.role === "owner" ? null : <Leave project={project} />}
          />
        ))}
      </Rows>
    </Section>
  );
}

function Leave({ project }: { project: Project }) {
  const left = useMutation({
    mutationFn: () => send("POST", `/projects/${project.uuid}/leave`, {}),
    onSuccess: reload,
  });
  return (
    <ConfirmButton
      label={words.leaveOf(project.name)}
      title={words.leaveTitle(project.name)}
      text={words.leaveText}
      act={words.leave}
      isBusy={left.isPending}
      error={left.error}
      onAct={() => left.mutate()}
    />
  );
}

function AskedFor({ transfer }: { transfer: Transfer }) {
  return (
    <Notice kind="asking" title={words.asked(transfer.from, transfer.name)}>
      <TransferAnswer project={transfer.uuid} onAnswered={reload} />
    </Notice>
  );
}
