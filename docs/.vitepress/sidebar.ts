// The pages of the site, in the order of the sidebar.
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { DefaultTheme } from "vitepress";
import { readDecisions } from "../../scripts/render-decisions.ts";

type Item = DefaultTheme.SidebarItem;

/** Pages of a folder: file name and title; the index of a folder ends with a slash, because its links are relative. */
function pages(folder: string, titles: Readonly<Record<string, string>>): Item[] {
  return Object.entries(titles).map(([name, text]) => ({ text, link: `/${folder}/${name}` }));
}

/** The pages of the channel kinds by title, which is their first heading. */
function channelPages(): Item[] {
  const folder = join(import.meta.dirname, "..", "guide", "channels");
  const titles = readdirSync(folder)
    .filter((file) => file !== "index.md")
    .map((file): [string, string] => {
      const [, title = file] = /^# (.+)$/m.exec(readFileSync(join(folder, file), "utf8")) ?? [];
      return [basename(file, ".md"), title];
    });
  const sorted = titles.toSorted(([, a], [, b]) => a.localeCompare(b, "en"));
  return pages("guide/channels", Object.fromEntries(sorted));
}

const GUIDE: Item[] = [
  {
    text: "Get started",
    items: pages("guide", {
      "first-ping": "Your first ping",
      checks: "Checks",
      pings: "Pings",
      timeline: "Timeline",
    }),
  },
  {
    text: "When to alert",
    items: [
      ...pages("guide", {
        schedules: "Schedules",
        forecast: "Forecast",
        "run-limits": "Grace period and run limits",
        alerts: "Alerts",
        silences: "Silences",
        incidents: "Incidents",
        "near-misses": "Near misses",
        "fire-drills": "Fire drills",
        "status-pages": "Status pages",
      }),
      { text: "Channels", link: "/guide/channels/", collapsed: true, items: channelPages() },
    ],
  },
  {
    text: "Jobs",
    items: pages("guide", {
      jobs: "Run and report jobs",
      discovery: "Find jobs",
      cli: "Command line",
    }),
  },
  {
    text: "Recipes",
    collapsed: true,
    items: pages("guide/recipes", {
      crontab: "Crontab",
      systemd: "systemd timers",
      docker: "Docker",
      kubernetes: "Kubernetes CronJobs",
      "github-actions": "GitHub Actions",
      "gitlab-ci": "GitLab CI",
      ansible: "Ansible",
      restic: "restic",
      borgmatic: "borgmatic",
      postgresql: "PostgreSQL backups",
      windows: "Windows",
    }),
  },
  {
    text: "Team",
    items: pages("guide", {
      projects: "Projects and members",
      permissions: "Permissions",
      tokens: "Personal access tokens",
      account: "Your account",
      badges: "Badges",
      "wall-board": "Wall board",
      reports: "Reports",
    }),
  },
  {
    text: "APIs",
    items: pages("guide", { api: "The two APIs", "api-how-to": "How to…" }),
  },
  {
    text: "Migrate",
    items: pages("guide/migrate", {
      healthchecks: "From Healthchecks",
      cronitor: "From Cronitor",
      "uptime-kuma": "From Uptime Kuma",
    }),
  },
  {
    text: "Help",
    items: pages("guide", { troubleshooting: "Troubleshooting", faq: "FAQ", glossary: "Glossary" }),
  },
];

const OPERATE: Item[] = [
  {
    text: "Set up",
    items: pages("operate", {
      install: "Install",
      kubernetes: "Kubernetes",
      settings: "Settings",
      proxies: "Reverse proxies",
      email: "Email",
      "sign-in": "Sign-in",
    }),
  },
  {
    text: "Run",
    items: pages("operate", {
      operating: "Server and roles",
      pings: "Receiving pings",
      backup: "Back up and restore",
      upgrade: "Upgrade",
      monitoring: "Monitor Overdue",
      retention: "Data retention",
      troubleshooting: "Troubleshooting",
    }),
  },
  {
    text: "Grow",
    items: pages("operate", {
      "high-availability": "High availability",
      sizing: "Sizing",
      scaling: "Scaling",
      log: "Kafka as a log",
      cells: "Cells",
    }),
  },
  {
    text: "Trust",
    items: pages("operate", { security: "Security", guarantees: "Guarantees and tests" }),
  },
];

const CONTRIBUTE: Item[] = [
  {
    text: "Start",
    items: [
      ...pages("contribute", { "": "Contribute", architecture: "Architecture", tests: "Tests" }),
      { text: "Decisions", link: "/decisions/" },
    ],
  },
  {
    text: "How to",
    items: pages("contribute", {
      "add-a-channel": "Add a channel kind",
      "add-an-endpoint": "Add an endpoint",
      "add-a-setting": "Add a setting",
      "add-a-page": "Add a page",
      "add-anything-else": "Add anything else",
      documentation: "Write documentation",
    }),
  },
  {
    text: "Reference",
    items: pages("contribute", {
      spec: "Management API and pings",
      conformance: "Conformance",
      gaps: "Answers to gaps",
      "state-machine": "State machine",
      "import-rules": "Import rules",
      faults: "Fault tests",
      simulation: "Simulation",
      benchmarks: "Benchmarks",
      "design-review": "Design review",
      glossary: "Terms of the code",
    }),
  },
  {
    text: "Decisions",
    collapsed: true,
    items: readDecisions().map(({ name, title }) => ({ text: title, link: `/decisions/${name}` })),
  },
];

/** Pages that the server renders. */
const REFERENCE: Item[] = [
  { text: "Management API reference", link: "/api", target: "_self" },
  { text: "Overdue API reference", link: "/api/overdue", target: "_self" },
];

export function sidebar({ isServed }: { isServed: boolean }): DefaultTheme.SidebarMulti {
  const withReference = (group: Item) =>
    group.text === "APIs" ? { ...group, items: [...(group.items ?? []), ...REFERENCE] } : group;
  return {
    "/guide/": isServed ? GUIDE.map(withReference) : GUIDE,
    "/operate/": OPERATE,
    "/contribute/": CONTRIBUTE,
    "/decisions/": CONTRIBUTE,
  };
}
