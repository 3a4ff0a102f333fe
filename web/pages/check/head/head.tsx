// The head of the page: where it lies, the name with its state and tags, and what can be done.
import { checkName } from "../../../../src/contract/web/list-words.ts";
import { Link } from "wouter";
import type { CheckPage } from "../../../../src/contract/web/check-page.ts";
import { type CheckRow, drawnAt } from "../../../../src/contract/web/check-row.ts";
import { otherProjects } from "../../../boot/rights.ts";
import { useNow } from "../../../live/clock.ts";
import { pageHref } from "../../../shell/page-address.ts";
import { usePageTitle } from "../../../shell/page-title.ts";
import { Button, IconButton } from "../../../ui/button.tsx";
import { Icon } from "../../../ui/icon.tsx";
import { StateMark } from "../../../ui/marks/state-shape.tsx";
import { Menu, MenuItem, MenuLine, MenuLink } from "../../../ui/menu.tsx";
import { Tags } from "../../../ui/tag.tsx";
import { checkTitle, checkWords as words } from "../../../words/check/page.ts";
import type { CheckActions } from "../actions.ts";

const TAGS_SHOWN = 8;

/** What stands over the page at the moment. */
export type Over = "edit" | "explain" | "code" | "transfer" | "clear" | null;

type Props = {
  page: CheckPage;
  row: CheckRow;
  mayEdit: boolean;
  actions: CheckActions;
  onOver: (over: Over) => void;
};

export function Head({ page, row, mayEdit, actions, onOver }: Props) {
  const state = drawnAt(row, useNow());
  const name = checkName(row);
  usePageTitle(checkTitle(name, state));
  const [tag] = row.tags;
  const checks = pageHref("checks", { project: page.projectId });
  return (
    <>
      <nav className="crumb check-crumb" aria-label={words.crumbs}>
        <Link href={checks}>{words.checks}</Link>
        {tag !== undefined && (
          <>
            {" / "}
            <Link href={`${checks}?tag=${encodeURIComponent(tag)}`}>
              <bdi>{tag}</bdi>
            </Link>
          </>
        )}
        {" / "}
        <bdi>{name}</bdi>
      </nav>
      <header className="check-title">
        <StateMark state={state} size={20} />
        <h1 dir="auto" className={row.name === "" ? "muted" : undefined}>
          {name}
        </h1>
        <Tags names={row.tags} most={TAGS_SHOWN} />
        <div className="check-acts">
          {mayEdit && <PauseButton row={row} actions={actions} />}
          {mayEdit && (
            <Button keys="e" onClick={() => onOver("edit")}>
              {words.edit}
            </Button>
          )}
          <MoreMenu page={page} mayEdit={mayEdit} actions={actions} onOver={onOver} />
          {page.lastFlip !== null && (state === "down" || page.lastFlip.to === "down") && (
            <Button kind="primary" keys="w" onClick={() => onOver("explain")}>
              {words.explain}
            </Button>
          )}
        </div>
      </header>
    </>
  );
}

function PauseButton({ row, actions }: { row: CheckRow; actions: CheckActions }) {
  const isPaused = row.state === "paused";
  return (
    <Button keys="p" onClick={() => void (isPaused ? actions.resume() : actions.pause())}>
      {isPaused ? words.resume : words.pause}
    </Button>
  );
}

function MoreMenu({ page, mayEdit, actions, onOver }: Omit<Props, "row">) {
  return (
    <Menu
      align="end"
      label={words.more}
      trigger={
        <IconButton label={words.more} className="is-framed">
          <Icon name="more" />
        </IconButton>
      }
    >
      <MenuItem keys="u" onPick={() => void actions.copyUrl()}>
        {words.copyUrl}
      </MenuItem>
      <MenuItem keys="c" onPick={() => onOver("code")}>
        {words.asCode}
      </MenuItem>
      <MenuLink href={`${pageHref("badges", { project: page.projectId })}?check=${page.row.id}`}>
        {words.badge}
      </MenuLink>
      {mayEdit && (
        <>
          <MenuLine />
          <MenuItem onPick={() => void actions.ping()}>{words.ping}</MenuItem>
          <MenuItem onPick={() => void actions.copy()}>{words.copy}</MenuItem>
          {otherProjects(page.projectId).length > 0 && (
            <MenuItem onPick={() => onOver("transfer")}>{words.transfer}</MenuItem>
          )}
          <MenuLine />
          <MenuItem isDanger onPick={() => onOver("clear")}>
            {words.clear}
          </MenuItem>
          <MenuItem isDanger onPick={() => void actions.remove()}>
            {words.delete}
          </MenuItem>
        </>
      )}
    </Menu>
  );
}
