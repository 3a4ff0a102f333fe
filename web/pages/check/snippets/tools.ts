// Snippets for backup programs, routers and mail.
import { curl, type Facts, type Snippet } from "./snippet.ts";

const restic: Snippet = {
  name: "restic",
  label: "restic",
  texts: {
    success: (facts) => `restic backup /srv && ${curl(facts, facts.url)}`,
    whole: (facts) => backup(facts, ""),
    rid: (facts) => ["rid=$(cat /proc/sys/kernel/random/uuid)", backup(facts, "?rid=$rid")].join("\n"),
  },
};

function backup(facts: Facts, tail: string): string {
  return [
    curl(facts, `"${facts.url}/start${tail}"`),
    "output=$(restic backup /srv 2>&1)",
    "status=$?",
    'printf %s "$output" | tail -c 100000 |',
    `  curl -fsS -m 10 --retry 5 -o /dev/null --data-binary @- "${facts.url}/$status${tail}"`,
  ].join("\n");
}

const borgmatic: Snippet = {
  name: "borgmatic",
  label: "borgmatic",
  note: "borgmatic sends start, success and failure pings with its log automatically.",
  texts: {
    whole: ({ url }) =>
      ["# config.yaml", "healthchecks:", `    ping_url: ${url}`, "    create_slug: false"].join("\n"),
  },
};

const mikrotik: Snippet = {
  name: "mikrotik",
  label: "MikroTik",
  texts: {
    success: ({ url }) =>
      `/system scheduler add name=overdue interval=5m on-event="/tool fetch url=\\"${url}\\" http-method=post output=none duration=10"`,
  },
};

const mail: Snippet = {
  name: "mail",
  label: "Email",
  note: "Every email counts as a success. To detect failures, set keywords under Edit → Ping rules.",
  texts: {
    success: ({ mail: address, cron }) =>
      address === null
        ? null
        : [
            `# crontab: sends the output of the job`,
            `MAILTO=${address}`,
            `${cron} /usr/local/bin/job.sh`,
          ].join("\n"),
    whole: ({ mail: address }) =>
      address === null
        ? null
        : `{ /usr/local/bin/job.sh 2>&1; echo "exit code $?"; } | mail -s "Job finished" ${address}`,
  },
};

export const TOOL_SNIPPETS: readonly Snippet[] = [restic, borgmatic, mikrotik, mail];
