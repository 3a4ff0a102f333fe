// The channels that hear of this check, each with its switch. What is switched is done at once, and can be undone.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import type { CheckChannel, CheckPage } from "../../../../src/contract/web/check-page.ts";
import { send } from "../../../api/api.ts";
import { pageHref } from "../../../shell/page-address.ts";
import { Toggle } from "../../../ui/field.tsx";
import { toast, toastTrouble } from "../../../ui/toast.tsx";
import { toldWords as words } from "../../../words/check/page.ts";
import { refreshCheck } from "../../../api/refresh-check.ts";

export function WhoIsTold({ page, mayEdit }: { page: CheckPage; mayEdit: boolean }) {
  const { channels, row, projectId } = page;
  const client = useQueryClient();
  const [busy, setBusy] = useState<string | null>(null);
  const tell = async (ids: readonly string[]) => {
    await send("PATCH", `/checks/${row.id}`, { channels: ids });
    await refreshCheck(client, row.id);
  };
  const turn = async ({ id, name }: CheckChannel, isOn: boolean) => {
    const before = channels.filter((one) => one.isOn).map((one) => one.id);
    setBusy(id);
    try {
      await tell(isOn ? [...before, id] : before.filter((one) => one !== id));
      const said = isOn ? words.on(name) : words.quiet(name);
      toast({ text: said, undo: () => tell(before) });
    } catch (error) {
      toastTrouble(error);
    } finally {
      setBusy(null);
    }
  };
  return (
    <section className="panel" aria-labelledby="check-told">
      <h2 id="check-told">{words.title}</h2>
      {channels.length === 0 ? (
        <p className="muted">
          {words.none}{" "}
          <Link className="link" href={pageHref("channels", { project: projectId })}>
            {words.add}
          </Link>
        </p>
      ) : (
        <ul className="check-told">
          {channels.map((channel) => (
            <li key={channel.id}>
              <Toggle
                label={<ChannelName channel={channel} />}
                checked={channel.isOn}
                disabled={!mayEdit || busy !== null}
                onCheckedChange={(isOn) => void turn(channel, isOn)}
              />
            </li>
          ))}
        </ul>
      )}
      {channels.length > 0 && !channels.some(({ isOn }) => isOn) && (
        <p className="check-note">{words.nobody}</p>
      )}
    </section>
  );
}

function ChannelName({ channel: { name, kind, disabledReason } }: { channel: CheckChannel }) {
  return (
    <>
      <bdi>{name}</bdi>
      {disabledReason === null ? (
        name !== kind && <span className="muted"> · {kind}</span>
      ) : (
        <span className="muted"> · {disabledReason || words.off}</span>
      )}
    </>
  );
}
