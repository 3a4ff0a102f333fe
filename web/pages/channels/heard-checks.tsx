// Of which checks a channel hears: every check of the project with a switch, found by typing. What is switched is done
// at once; the notice of it, with the way back, is reached when the window is closed.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useDeferredValue, useMemo, useState } from "react";
import type { ChannelCard, HeardChecks as Heard } from "../../../src/contract/web/channels.ts";
import type { CheckRow } from "../../../src/contract/web/check-row.ts";
import { channelName, checkName } from "../../../src/contract/web/list-words.ts";
import { get } from "../../api/api.ts";
import { useAllRows } from "../../live/use-all-rows.ts";
import { nameKey, searchText } from "../../live/row-keys.ts";
import { Button } from "../../ui/button.tsx";
import { Drawer } from "../../ui/dialog.tsx";
import { TextField, Toggle } from "../../ui/field.tsx";
import { Queried } from "../../ui/page-state.tsx";
import { heardWords as words } from "../../words/channels.ts";
import { connectChecks } from "../checks/actions.ts";

/** More than anybody reads; the others are found by typing. */
const SHOWN_MAX = 200;

type Props = { project: string; channel: ChannelCard; mayEdit: boolean; onClose: () => void };

export function HeardChecks({ project, channel, mayEdit, onClose }: Props) {
  const client = useQueryClient();
  const [text, setText] = useState("");
  const [isTurning, setTurning] = useState(false);
  const rows = useFound(project, useDeferredValue(text));
  const queryKey = ["heard", channel.id];
  const query = useQuery({ queryKey, queryFn: () => heardBy(channel.id), staleTime: 0 });
  const onChanged = () => {
    void client.invalidateQueries({ queryKey });
    void client.invalidateQueries({ queryKey: ["channels", project] });
  };
  const name = channelName(channel);
  const turn = async (chosen: readonly CheckRow[], isOn: boolean) => {
    setTurning(true);
    await connectChecks(project, chosen, { channel: channel.id, name, isOn, onChanged });
    setTurning(false);
  };
  const isBusy = isTurning || query.isFetching;
  return (
    <Drawer isOpen onClose={onClose} title={words.title(name)} description={words.about}>
      <TextField
        label={words.find}
        type="search"
        value={text}
        autoComplete="off"
        onChange={(change) => setText(change.target.value)}
      />
      <Queried query={query}>
        {(heard) => (
          <>
            {mayEdit && <Many {...{ rows, heard, isBusy }} onTurn={(isOn) => void turn(rows, isOn)} />}
            <ul className="channels-heard" aria-label={words.list}>
              {rows.slice(0, SHOWN_MAX).map((row) => (
                <li key={row.id}>
                  <Toggle
                    label={<bdi>{checkName(row)}</bdi>}
                    checked={heard.has(row.id)}
                    disabled={!mayEdit || isBusy}
                    onCheckedChange={(isOn) => void turn([row], isOn)}
                  />
                </li>
              ))}
            </ul>
            {rows.length === 0 && <p className="muted">{words.none}</p>}
            {rows.length > SHOWN_MAX && <p className="hint">{words.more(rows.length - SHOWN_MAX)}</p>}
          </>
        )}
      </Queried>
    </Drawer>
  );
}

type ManyProps = {
  rows: readonly CheckRow[];
  heard: ReadonlySet<string>;
  isBusy: boolean;
  onTurn: (isOn: boolean) => void;
};

/** All that are found at once, seen or not. */
function Many({ rows, heard, isBusy, onTurn }: ManyProps) {
  const on = rows.filter(({ id }) => heard.has(id)).length;
  return (
    <div className="channels-many">
      <span className="muted figures" role="status">
        {words.count(on, rows.length)}
      </span>
      <Button isBusy={isBusy} disabled={on === rows.length} onClick={() => onTurn(true)}>
        {words.all}
      </Button>
      <Button isBusy={isBusy} disabled={on === 0} onClick={() => onTurn(false)}>
        {words.nothing}
      </Button>
    </div>
  );
}

/** The checks of the project that have the text in them, by name. */
function useFound(project: string, text: string): readonly CheckRow[] {
  const all = useAllRows(project);
  const sorted = useMemo(() => all.toSorted((a, b) => (nameKey(a) < nameKey(b) ? -1 : 1)), [all]);
  const wanted = text.trim().toLowerCase();
  return useMemo(() => sorted.filter((row) => searchText(row).includes(wanted)), [sorted, wanted]);
}

async function heardBy(channel: string): Promise<ReadonlySet<string>> {
  const heard = new Set<string>();
  let from: number | null = null;
  do {
    const page: Heard = await get<Heard>(`/channels/${channel}/checks`, { from });
    for (const id of page.ids) heard.add(id);
    ({ from } = page);
  } while (from !== null);
  return heard;
}
