// Who is signed in, and what belongs to them rather than to a project: account, theme, shortcuts, the way out.
import type { Theme } from "../../src/contract/web/boot.ts";
import { send } from "../api/api.ts";
import { boot, siteUrl } from "../boot/boot.ts";
import { showTheme, useTheme } from "../boot/theme.ts";
import { openHelp, openPalette } from "../keys/open-windows.ts";
import { Icon } from "../ui/icon.tsx";
import { Menu, MenuChoice, MenuHead, MenuItem, MenuLine, MenuLink } from "../ui/menu.tsx";
import { toastTrouble } from "../ui/toast.tsx";
import { words } from "../words/shared.ts";
import { useCurrentProject } from "./current-project.ts";
import { pageHref } from "./page-address.ts";

const THEMES = ["system", "light", "dark"] as const;

export function AccountMenu() {
  const theme = useTheme();
  const project = useCurrentProject();
  const { account } = boot;
  if (account === null) return null;
  return (
    <div className="account">
      <Menu
        label={words.nav.account}
        trigger={
          <button type="button" className="rail-link account-button">
            <span className="sr">{words.nav.account}</span>
            <span className="clip">{account.name === "" ? account.email : account.name}</span>
            <span className="account-more">{words.nav.more}</span>
            <Icon name="more" />
          </button>
        }
      >
        <MenuHead>{account.email}</MenuHead>
        <MenuLink href={pageHref("profile")}>{words.nav.account}</MenuLink>
        {account.isOperator && <MenuLink href={pageHref("admin")}>{words.nav.admin}</MenuLink>}
        <MenuLink href={pageHref("projects")}>{words.nav.projects}</MenuLink>
        {project !== null && (
          <MenuLink href={pageHref("settings", { project: project.id })} className="is-phone">
            {words.nav.settings}
          </MenuLink>
        )}
        <MenuLine />
        <MenuHead>{words.nav.theme}</MenuHead>
        {THEMES.map((one) => (
          <MenuChoice key={one} isChosen={theme === one} onPick={() => keepTheme(one)}>
            {words.nav.themes[one]}
          </MenuChoice>
        ))}
        <MenuLine />
        <MenuItem onPick={openPalette} keys="Control+k">
          {words.nav.search}
        </MenuItem>
        <MenuItem onPick={openHelp} keys="?">
          {words.nav.keys}
        </MenuItem>
        <MenuItem onPick={() => location.assign(siteUrl("/docs/api"))}>{words.nav.apiReference}</MenuItem>
        <MenuLine />
        <MenuItem onPick={signOut}>{words.nav.signOut}</MenuItem>
      </Menu>
    </div>
  );
}

/** Shown at once, and kept for the account; should that fail, it holds for this page. */
function keepTheme(theme: Theme): void {
  showTheme(theme);
  send("PATCH", "/account", { theme }).catch(toastTrouble);
}

/** By a form, because signing out changes something and answers with a page. */
function signOut(): void {
  const form = document.createElement("form");
  form.method = "post";
  form.action = siteUrl("/accounts/logout/");
  document.body.append(form);
  form.submit();
}
