// What can be done with the picked rows, in a bar at the foot of the screen. Everything but moving can be undone.
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, lazy, Suspense, useState } from "react";
import type { ChannelsPage } from "../../../../src/contract/web/channels.ts";
import type { CheckRow } from "../../../../src/contract/web/check-row.ts";
import type { ProjectHead } from "../../../../src/contract/web/boot.ts";
import { channelName } from "../../../../src/contract/web/list-words.ts";
import { get } from "../../../api/api.ts";
import { otherProjects } from "../../../boot/rights.ts";
import { Button, IconButton } from "../../../ui/button.tsx";
import { Icon } from "../../../ui/icon.tsx";
import { Menu, MenuHead, MenuItem } from "../../../ui/menu.tsx";
import { actionWords } from "../../../words/check-actions.ts";
import {
  connectChecks,
  copyChosenAsCode,
  deleteChecks,
  moveChecks,
  pauseChecks,
  resumeChecks,
  tagChecks,
} from "../actions.ts";

type Props = { project: ProjectHead; rows: readonly CheckRow[]; tags: readonly string[]; onDone: () => void };

export function BulkBar({ project, rows, tags, onDone }: Props) {
  const does = (deed: (project: string, rows: readonly CheckRow[]) => Promise<boolean>) => () =>
    void deed(project.id, rows).then((isDone) => isDone && onDone());
  const others = otherProjects(project.id);
  return (
    <div className="bulk" role="toolbar" aria-label={actionWords.selected(rows.length)}>
      <span className="bulk-count figures" role="status">
        {actionWords.selected(rows.length)}
      </span>
      {rows.some(({ state }) => state !== "paused") && (
        <Button kind="bare" keys="p" onClick={does(pauseChecks)}>
          {actionWords.pause}
        </Button>
      )}
      {rows.some(({ state }) => state === "paused") && (
        <Button kind="bare" onClick={does(resumeChecks)}>
          {actionWords.resume}
        </Button>
      )}
      <TagMenu project={project.id} rows={rows} tags={tags} />
      <ScheduleButton project={project.id} rows={rows} onDone={onDone} />
      <ChannelMenu project={project.id} rows={rows} />
      {others.length > 0 && (
        <Menu trigger={<Button kind="bare">{actionWords.move}</Button>}>
          {others.map((other) => (
            <MenuItem key={other.id} onPick={does((from, chosen) => moveChecks(from, chosen, other))}>
              {other.name}
            </MenuItem>
          ))}
        </Menu>
      )}
      <Button kind="bare" onClick={() => void copyChosenAsCode(rows)}>
        {actionWords.asCode}
      </Button>
      <Button kind="bare" className="bulk-delete" onClick={does(deleteChecks)}>
        {actionWords.delete}
      </Button>
      <IconButton label={actionWords.clear} keys="Escape" onClick={onDone}>
        <Icon name="cross" />
      </IconButton>
    </div>
  );
}

const ScheduleWindow = lazy(async () => ({
  default: (await import("./schedule-window.tsx")).ScheduleWindow,
}));

function ScheduleButton({ project, rows, onDone }: Pick<Props, "rows" | "onDone"> & { project: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button kind="bare" onClick={() => setOpen(true)}>
        {actionWords.schedule}
      </Button>
      {isOpen && (
        <Suspense>
          <ScheduleWindow project={project} rows={rows} onClose={() => setOpen(false)} onDone={onDone} />
        </Suspense>
      )}
    </>
  );
}

function TagMenu({
  project,
  rows,
  tags,
}: {
  project: string;
  rows: readonly CheckRow[];
  tags: readonly string[];
}) {
  const [text, setText] = useState("");
  const add = (event: FormEvent) => {
    event.preventDefault();
    const given = [...new Set(text.split(/\s+/).filter((tag) => tag !== ""))];
    if (given.length > 0) void tagChecks(project, rows, { tags: given, isOn: true });
    setText("");
  };
  const worn = [...new Set(rows.flatMap((row) => row.tags))];
  return (
    <Menu trigger={<Button kind="bare">{actionWords.tags}</Button>}>
      <form className="menu-form" onSubmit={add}>
        <input
          className="input menu-find"
          list="known-tags"
          aria-label={actionWords.newTag}
          placeholder={actionWords.addTag}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => event.key !== "Escape" && event.stopPropagation()}
        />
        <datalist id="known-tags">
          {tags.map((tag) => (
            <option key={tag} value={tag}>
              {tag}
            </option>
          ))}
        </datalist>
        <Button type="submit">{actionWords.add}</Button>
      </form>
      {worn.length > 0 && <MenuHead>{actionWords.removeTag}</MenuHead>}
      {worn.map((tag) => (
        <MenuItem key={tag} onPick={() => void tagChecks(project, rows, { tags: [tag], isOn: false })}>
          {tag}
        </MenuItem>
      ))}
    </Menu>
  );
}

function ChannelMenu({ project, rows }: { project: string; rows: readonly CheckRow[] }) {
  const { data } = useQuery({
    queryKey: ["channels", project],
    queryFn: () => get<ChannelsPage>(`/projects/${project}/channels`),
  });
  const channels = data?.channels ?? [];
  if (channels.length === 0) return null;
  const entry = (isOn: boolean) =>
    channels.map((channel) => {
      const name = channelName(channel);
      return (
        <MenuItem
          key={`${channel.id} ${isOn}`}
          onPick={() => void connectChecks(project, rows, { channel: channel.id, name, isOn })}
        >
          {name}
        </MenuItem>
      );
    });
  return (
    <Menu trigger={<Button kind="bare">{actionWords.channels}</Button>}>
      <MenuHead>{actionWords.addChannel}</MenuHead>
      {entry(true)}
      <MenuHead>{actionWords.removeChannel}</MenuHead>
      {entry(false)}
    </Menu>
  );
}
