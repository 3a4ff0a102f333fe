// Who is told: the owner by mail with one press where mail leaves, or another way from the gallery. May be left for
// later, but what happens then is said.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ProjectHead } from "../../../src/contract/web/boot.ts";
import type { ChannelsPage, CreatedChannel } from "../../../src/contract/web/channels.ts";
import { channelName } from "../../../src/contract/web/list-words.ts";
import { get, send, troubleText } from "../../api/api.ts";
import { boot } from "../../boot/boot.ts";
import { useCurrentProject } from "../../shell/current-project.ts";
import { pageHref } from "../../shell/page-address.ts";
import { Button, ButtonLink } from "../../ui/button.tsx";
import { Queried } from "../../ui/page-state.tsx";
import { welcomeWords } from "../../words/welcome.ts";
import { Step } from "./step.tsx";

const words = welcomeWords.channel;

export function ChannelStep({ n, hasMail }: { n: number; hasMail: boolean }) {
  const project = useCurrentProject();
  if (project === null) {
    return (
      <Step n={n} state="open" title={words.title}>
        <p>{words.noProject}</p>
      </Step>
    );
  }
  return <InProject n={n} project={project} hasMail={hasMail} />;
}

function InProject({ n, project, hasMail }: { n: number; project: ProjectHead; hasMail: boolean }) {
  const query = useQuery({
    queryKey: ["channels", project.id],
    queryFn: () => get<ChannelsPage>(`/projects/${project.id}/channels`),
  });
  const hasAny = (query.data?.channels.length ?? 0) > 0;
  const isTold = (query.data?.told.length ?? 0) > 0;
  const mayEdit = project.may.includes("editChannels");
  return (
    <Step n={n} state={isTold ? "done" : hasAny ? "wrong" : "open"} title={words.title}>
      <Queried query={query} rows={2}>
        {({ channels, told }) =>
          isTold ? (
            <p>{words.told(channels.filter(({ id }) => told.includes(id)).map(channelName))}</p>
          ) : hasAny ? (
            <p>{words.toldNot(channels.map(channelName))}</p>
          ) : mayEdit ? (
            <Nobody project={project.id} hasMail={hasMail} />
          ) : (
            <p>{words.mayNot}</p>
          )
        }
      </Queried>
      {hasAny && (
        <ButtonLink href={pageHref("channels", { project: project.id })}>{words.toChannels}</ButtonLink>
      )}
    </Step>
  );
}

function Nobody({ project, hasMail }: { project: string; hasMail: boolean }) {
  const client = useQueryClient();
  const email = boot.account?.email ?? "";
  const made = useMutation({
    mutationFn: () =>
      send<CreatedChannel>("POST", `/projects/${project}/channels`, {
        kind: "email",
        name: "",
        config: { value: email },
        checks: "*",
      }),
    // The step before this one says whether anybody is told of what came.
    onSuccess: () =>
      Promise.all(
        [["channels", project], ["waiting"]].map((queryKey) => client.invalidateQueries({ queryKey })),
      ),
  });
  return (
    <>
      <p>{hasMail ? words.text : words.noMail}</p>
      <div className="section-acts">
        {hasMail && (
          <Button kind="primary" isBusy={made.isPending} onClick={() => made.mutate()}>
            {words.mail(email)}
          </Button>
        )}
        <ButtonLink href={`${pageHref("channels", { project })}?open=gallery`}>
          {hasMail ? words.other : words.choose}
        </ButtonLink>
      </div>
      {made.isError && (
        <p className="mistake" role="alert">
          {troubleText(made.error)}
        </p>
      )}
      <p className="hint">{words.skip}</p>
    </>
  );
}
