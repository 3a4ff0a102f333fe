// The project that is shown, and the way to another one.
import type { ProjectHead } from "../../src/contract/web/boot.ts";
import { boot } from "../boot/boot.ts";
import { Icon } from "../ui/icon.tsx";
import { Menu, MenuLine, MenuLink } from "../ui/menu.tsx";
import { words } from "../words/shared.ts";
import { pageHref } from "./page-address.ts";

export function ProjectSwitcher({ project }: { project: ProjectHead | null }) {
  if (project === null) return null;
  return (
    <Menu
      label={words.nav.switchProject}
      trigger={
        <button type="button" className="project" aria-label={`${words.nav.switchProject}: ${project.name}`}>
          <span className="clip">{project.name}</span>
          <Icon name="down" size={14} />
        </button>
      }
    >
      {boot.projects.map((one) => (
        <MenuLink key={one.id} href={pageHref("checks", { project: one.id })}>
          {one.name}
        </MenuLink>
      ))}
      <MenuLine />
      <MenuLink href={pageHref("projects")}>{words.nav.projects}</MenuLink>
    </Menu>
  );
}
