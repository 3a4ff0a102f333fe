// One channel: what it is, whether it works, and what can be done with it.
import { channelName } from "../../../src/contract/web/list-words.ts";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { ChannelCard, KindCard } from "../../../src/contract/web/channels.ts";
import { send } from "../../api/api.ts";
import { checksStore } from "../../live/checks-store.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Menu, MenuItem, MenuLine } from "../../ui/menu.tsx";
import { toast, toastTrouble } from "../../ui/toast.tsx";
import { Ago } from "../../ui/when.tsx";
import { channelsWords as words } from "../../words/channels.ts";
import { words as shared } from "../../words/shared.ts";
import { formatDuration } from "../../words/time.ts";

type Props = {
  channel: ChannelCard;
  kind: KindCard | undefined;
  mayEdit: boolean;
  project: string;
  onOpen: (what: "edit" | "test" | "log" | "checks") => void;
};

export function ChannelRow({ channel, kind, mayEdit, project, onOpen }: Props) {
  return (
    <tr className={channel.isEnabled ? undefined : "is-off"}>
      <td>
        <span className="channels-name">{channelName(channel)}</span>
        <span className="muted channels-kind">
          {kind?.title ?? channel.kind}
          {summaryOf(channel, kind)}
        </span>
      </td>
      <td className="channels-hears" data-label={words.columns.hears}>
        <button
          type="button"
          className="link"
          aria-label={words.hearsOf(channelName(channel), words.hears(channel.checkCount))}
          onClick={() => onOpen("checks")}
        >
          {words.hears(channel.checkCount)}
        </button>
      </td>
      <td>
        <Health channel={channel} />
        {[...new Set(channel.warnings.map(({ text }) => text))].map((text) => (
          <p key={text} className="warning">
            {text}
          </p>
        ))}
      </td>
      <td className="channels-acts">
        <Button onClick={() => onOpen("test")}>{words.test}</Button>
        <Button kind="bare" onClick={() => onOpen("log")}>
          {words.log}
        </Button>
        {mayEdit && <More channel={channel} project={project} onEdit={() => onOpen("edit")} />}
      </td>
    </tr>
  );
}

/** The first setting that tells where it goes, if it is no secret. */
function summaryOf(channel: ChannelCard, kind: KindCard | undefined): string {
  const shown = kind?.fields.find(
    ({ name, type, isSecret }) =>
      (type === "text" || type === "address") && !isSecret && (channel.config[name] ?? "") !== "",
  );
  const value = shown === undefined ? undefined : channel.config[shown.name];
  return typeof value === "string" && value !== channelName(channel) ? ` · ${value}` : "";
}

function Health({ channel }: { channel: ChannelCard }) {
  const { isEnabled, disabledReason, isVerified, lastNotifyAt, lastError, lastNotifyDurationMs } = channel;
  if (!isEnabled) return <span className="channels-bad">{words.off(disabledReason)}</span>;
  if (isVerified === false) return <span className="channels-waits">{words.unverified}</span>;
  if (lastNotifyAt === null) return <span className="muted">{words.neverUsed}</span>;
  return (
    <span>
      <Ago at={lastNotifyAt} />
      {lastError === null ? (
        <span className="muted">
          , {words.worked}
          {lastNotifyDurationMs !== null && ` ${words.took(formatDuration(lastNotifyDurationMs))}`}
        </span>
      ) : (
        <span className="channels-bad">, {words.failed(lastError)}</span>
      )}
    </span>
  );
}

function More({ channel, project, onEdit }: { channel: ChannelCard; project: string; onEdit: () => void }) {
  const client = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const again = () => {
    void client.invalidateQueries({ queryKey: ["channels", project] });
    checksStore(project).reload();
  };
  const act = (work: Promise<unknown>, text: string) => {
    work.then(() => toast({ text }), toastTrouble).finally(again);
  };
  const turn = () =>
    act(send("PATCH", `/channels/${channel.id}`, { isEnabled: !channel.isEnabled }), words.saved);
  return (
    <>
      <Menu
        align="end"
        trigger={
          <IconButton label={shared.nav.more}>
            <Icon name="more" />
          </IconButton>
        }
      >
        <MenuItem onPick={onEdit}>{words.edit}</MenuItem>
        <MenuItem onPick={turn}>{channel.isEnabled ? words.turnOff : words.turnOn}</MenuItem>
        <MenuLine />
        <MenuItem isDanger onPick={() => setAsking(true)}>
          {words.remove}
        </MenuItem>
      </Menu>
      <Dialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={words.removeTitle(channelName(channel))}
        description={words.removeText}
        footer={
          <>
            <Button onClick={() => setAsking(false)}>{shared.cancel}</Button>
            <Button
              kind="danger"
              onClick={() => {
                setAsking(false);
                act(send("DELETE", `/channels/${channel.id}`), words.removed);
              }}
            >
              {words.remove}
            </Button>
          </>
        }
      >
        {null}
      </Dialog>
    </>
  );
}
