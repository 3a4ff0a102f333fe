// The installation, for whoever runs it: how it is doing, who has an account, and what was changed.
import "./page.css";
import { useQuery } from "@tanstack/react-query";
import { useSearchParams } from "wouter";
import type { AdminState } from "../../../src/contract/web/admin.ts";
import { get } from "../../api/api.ts";
import { RecordOfChanges } from "../../parts/record/record.tsx";
import { usePageTitle } from "../../shell/page-title.ts";
import { Queried } from "../../ui/page-state.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { adminWords as words } from "../../words/admin.ts";
import { Accounts } from "./accounts.tsx";
import { Instance } from "./instance.tsx";

const ASK_EVERY_MS = 5_000;
const TABS = ["state", "accounts", "record"] as const;

export function AdminPage() {
  const query = useQuery({
    queryKey: ["admin"],
    queryFn: () => get<AdminState>("/admin/state"),
    refetchInterval: ASK_EVERY_MS,
  });
  const [params, setParams] = useSearchParams();
  const title = query.data === undefined ? words.tab : words.title(query.data.needCount);
  usePageTitle(title);
  const tab = TABS.find((name) => name === params.get("tab")) ?? "state";
  return (
    <>
      <header className="top">
        <h1>{title}</h1>
      </header>
      <div className="admin-tabs">
        <Tabs
          label={words.tabs.label}
          value={tab}
          onChange={(name) => setParams(name === "state" ? {} : { tab: name }, { replace: true })}
          tabs={[
            {
              name: "state",
              label: words.tabs.state,
              body: <Queried query={query}>{(state) => <Instance state={state} />}</Queried>,
            },
            { name: "accounts", label: words.tabs.accounts, body: <Accounts /> },
            { name: "record", label: words.tabs.record, body: <RecordOfChanges path="/admin/audit" /> },
          ]}
        />
      </div>
    </>
  );
}
