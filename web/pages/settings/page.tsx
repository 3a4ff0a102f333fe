// The settings of a project: name, people, keys, handing it over, and the record of what was changed by whom. Shows
// only what the person may do; the server has the last word.
import "./page.css";
import { useSearchParams } from "wouter";
import type { ProjectSettings } from "../../../src/contract/web/project-settings.ts";
import { RecordOfChanges } from "../../parts/record/record.tsx";
import type { PageProps } from "../../shell/page-address.ts";
import { usePageTitle } from "../../shell/page-title.ts";
import { Queried } from "../../ui/page-state.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { settingsWords as words } from "../../words/settings.ts";
import { ApiKeys } from "./api-keys.tsx";
import { Leaving, Removing } from "./ending.tsx";
import { Members } from "./members.tsx";
import { NameSection } from "./name-section.tsx";
import { PingKey } from "./ping-key.tsx";
import { Asked, HandOver } from "./transfer.tsx";
import { useSettings } from "./use-settings.ts";
import { ZoneSection } from "./zone-section.tsx";

export function SettingsPage({ params }: PageProps) {
  const project = params.project ?? "";
  const query = useSettings(project);
  usePageTitle(words.tab);
  return (
    <>
      <header className="top">
        <h1>{words.tab}</h1>
      </header>
      <Queried query={query}>
        {(settings) => (
          <>
            <Asked settings={settings} />
            {settings.may.manageMembers ? <InTabs settings={settings} /> : <Parts settings={settings} />}
          </>
        )}
      </Queried>
    </>
  );
}

/** The chosen tab is part of the address, so that a link to the record can be passed on. */
function InTabs({ settings }: { settings: ProjectSettings }) {
  const [params, setParams] = useSearchParams();
  const show = (name: string) => setParams(name === "record" ? { tab: name } : {}, { replace: true });
  return (
    <div className="settings-tabs">
      <Tabs
        label={words.tabs.label}
        value={params.get("tab") === "record" ? "record" : "settings"}
        onChange={show}
        tabs={[
          { name: "settings", label: words.tabs.settings, body: <Parts settings={settings} /> },
          {
            name: "record",
            label: words.tabs.record,
            body: <RecordOfChanges path={`/projects/${settings.uuid}/audit`} />,
          },
        ]}
      />
    </div>
  );
}

function Parts({ settings }: { settings: ProjectSettings }) {
  const { may } = settings;
  return (
    <div className="sections">
      {may.rename && <NameSection key={settings.name} settings={settings} />}
      {may.rename && <ZoneSection settings={settings} />}
      <Members settings={settings} />
      {may.manageKeys && <ApiKeys settings={settings} />}
      {may.manageKeys && <PingKey settings={settings} />}
      {may.transfer && <HandOver settings={settings} />}
      {may.leave && <Leaving settings={settings} />}
      {may.remove && <Removing settings={settings} />}
    </div>
  );
}
