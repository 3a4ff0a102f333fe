// The channels of a project: who is told, whether that works, and what was sent.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useSearchParams } from "wouter";
import type { ChannelCard, ChannelsPage as Page } from "../../../src/contract/web/channels.ts";
import { get } from "../../api/api.ts";
import { mayIn } from "../../boot/rights.ts";
import { checksStore } from "../../live/checks-store.ts";
import type { PageProps } from "../../shell/page-address.ts";
import { usePageTitle } from "../../shell/page-title.ts";
import { Button } from "../../ui/button.tsx";
import { Empty, Queried } from "../../ui/page-state.tsx";
import { channelsWords as words } from "../../words/channels.ts";
import { ChannelForm } from "./channel-form.tsx";
import { ChannelRow } from "./channel-row.tsx";
import { DeliveryLog } from "./delivery-log.tsx";
import { Gallery } from "./gallery.tsx";
import { HeardChecks } from "./heard-checks.tsx";
import { TestDialog } from "./test-dialog.tsx";
import "./page.css";

/** What stands over the page at the moment. */
type Over =
  | { what: "gallery" }
  | { what: "new"; kind: string }
  | { what: "edit" | "test" | "log" | "checks"; channel: ChannelCard }
  | null;

export function ChannelsPage({ params }: PageProps) {
  const project = params.project ?? "";
  const query = useQuery({
    queryKey: ["channels", project],
    queryFn: () => get<Page>(`/projects/${project}/channels`),
  });
  const channels = query.data?.channels ?? [];
  const title = query.data === undefined ? words.tab : words.title(channels);
  usePageTitle(title);
  // The first steps lead straight to the gallery.
  const [search] = useSearchParams();
  const [over, setOver] = useState<Over>(search.get("open") === "gallery" ? { what: "gallery" } : null);
  const mayEdit = mayIn(project, "editChannels");
  const add = () => setOver({ what: "gallery" });
  return (
    <>
      <header className="top">
        <h1>{title}</h1>
        {mayEdit && channels.length > 0 && (
          <Button kind="primary" onClick={add}>
            {words.add}
          </Button>
        )}
      </header>
      <Queried query={query}>
        {(page) =>
          page.channels.length === 0 ? (
            <Empty
              title={words.none.title}
              action={
                mayEdit && (
                  <Button kind="primary" onClick={add}>
                    {words.add}
                  </Button>
                )
              }
            >
              {words.none.text}
            </Empty>
          ) : (
            <List page={page} mayEdit={mayEdit} project={project} onOver={setOver} />
          )
        }
      </Queried>
      {query.data !== undefined && (
        <Windows page={query.data} {...{ mayEdit, project, over }} onOver={setOver} />
      )}
    </>
  );
}

function List(props: { page: Page; mayEdit: boolean; project: string; onOver: (over: Over) => void }) {
  const { page, mayEdit, project, onOver } = props;
  return (
    <table className="table channels-table">
      <thead>
        <tr>
          <th scope="col">{words.columns.name}</th>
          <th scope="col">{words.columns.hears}</th>
          <th scope="col">{words.columns.last}</th>
          <th scope="col">
            <span className="sr">{words.columns.act}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {page.channels.map((channel) => (
          <ChannelRow
            key={channel.id}
            channel={channel}
            kind={page.kinds.find(({ name }) => name === channel.kind)}
            mayEdit={mayEdit}
            project={project}
            onOpen={(what) => onOver({ what, channel })}
          />
        ))}
      </tbody>
    </table>
  );
}

function Windows(props: {
  page: Page;
  mayEdit: boolean;
  project: string;
  over: Over;
  onOver: (over: Over) => void;
}) {
  const { page, mayEdit, project, over, onOver } = props;
  const mayEditChecks = mayIn(project, "editChecks");
  const client = useQueryClient();
  const close = () => onOver(null);
  const changed = () => {
    void client.invalidateQueries({ queryKey: ["channels", project] });
    // Who is told of a check stands in its row, and nothing else tells that row.
    checksStore(project).reload();
  };
  const reload = async (opened: Over) => {
    await client.refetchQueries({ queryKey: ["channels", project] });
    const channels = client.getQueryData<Page>(["channels", project])?.channels ?? [];
    const channel = opened?.what === "edit" ? channels.find(({ id }) => id === opened.channel.id) : undefined;
    onOver(channel === undefined ? null : { what: "edit", channel });
  };
  switch (over?.what) {
    case undefined:
      return null;
    case "gallery":
      return <Gallery kinds={page.kinds} onPick={(kind) => onOver({ what: "new", kind })} onClose={close} />;
    case "new":
    case "edit": {
      const name = over.what === "new" ? over.kind : over.channel.kind;
      const kind = page.kinds.find((one) => one.name === name);
      const channel = over.what === "edit" ? over.channel : null;
      if (kind === undefined) return null;
      return (
        <ChannelForm
          // Another version begins the form anew.
          key={channel?.version ?? "new"}
          {...{ kind, channel, project }}
          channels={page.channels}
          onDone={changed}
          onClose={close}
          onReload={() => void reload(over)}
        />
      );
    }
    case "test":
      return <TestDialog project={project} channel={over.channel} onClose={close} onDone={changed} />;
    case "checks":
      return <HeardChecks {...{ project, mayEdit: mayEditChecks }} channel={over.channel} onClose={close} />;
    case "log":
      return <DeliveryLog {...{ project, mayEdit }} channel={over.channel} onClose={close} />;
  }
}
