// What can be done with one check, from its row. The menu itself is only made when it is asked for: there are many
// rows, and most are only passed by.
import { checkName } from "../../../../src/contract/web/list-words.ts";
import { useState } from "react";
import type { CheckRow } from "../../../../src/contract/web/check-row.ts";
import { useCurrentProject } from "../../../shell/current-project.ts";
import { pageHref } from "../../../shell/page-address.ts";
import { Icon } from "../../../ui/icon.tsx";
import { Menu, MenuItem, MenuLine, MenuLink } from "../../../ui/menu.tsx";
import { actionWords } from "../../../words/check-actions.ts";
import { checksWords } from "../../../words/checks.ts";
import { copyPingUrl, deleteChecks, pauseChecks, resumeChecks } from "../actions.ts";

export function RowMenu({ row }: { row: CheckRow }) {
  const [isMade, setMade] = useState(false);
  const label = checksWords.actions(checkName(row));
  const look = { className: "button is-bare is-icon row-more", "aria-label": label, title: label };
  if (!isMade) {
    return (
      <button type="button" {...look} aria-haspopup="menu" onClick={() => setMade(true)}>
        <Icon name="more" />
      </button>
    );
  }
  return (
    <Menu
      align="end"
      isOpenAtOnce
      trigger={
        <button type="button" {...look}>
          <Icon name="more" />
        </button>
      }
    >
      <RowActions row={row} />
    </Menu>
  );
}

function RowActions({ row }: { row: CheckRow }) {
  const project = useCurrentProject()?.id ?? "";
  return (
    <>
      <MenuLink href={pageHref("check", { check: row.id })}>{actionWords.open}</MenuLink>
      {row.state === "paused" ? (
        <MenuItem keys="p" onPick={() => void resumeChecks(project, [row])}>
          {actionWords.resume}
        </MenuItem>
      ) : (
        <MenuItem keys="p" onPick={() => void pauseChecks(project, [row])}>
          {actionWords.pause}
        </MenuItem>
      )}
      <MenuItem onPick={() => void copyPingUrl(row.id)}>{actionWords.copyUrl}</MenuItem>
      <MenuLine />
      <MenuItem isDanger onPick={() => void deleteChecks(project, [row])}>
        {actionWords.delete}
      </MenuItem>
    </>
  );
}
