// Snippets for what runs jobs in containers and pipelines.
import { curl, type Facts, type Snippet } from "./snippet.ts";

const IMAGE = "registry.example/job:latest";
const NEW_ID = "$(cat /proc/sys/kernel/random/uuid)";

const docker: Snippet = {
  name: "docker",
  label: "Docker",
  texts: {
    success: (facts) => `docker run --rm ${IMAGE} && ${curl(facts, facts.url)}`,
    whole: (facts) =>
      [curl(facts, `${facts.url}/start`), `docker run --rm ${IMAGE}`, curl(facts, `${facts.url}/$?`)].join(
        "\n",
      ),
    rid: (facts) =>
      [
        `rid=${NEW_ID}`,
        curl(facts, `"${facts.url}/start?rid=$rid"`),
        `docker run --rm ${IMAGE}`,
        curl(facts, `"${facts.url}/$??rid=$rid"`),
      ].join("\n"),
  },
};

const cronJob = ({ cron }: Facts, lines: readonly string[]) =>
  [
    "apiVersion: batch/v1",
    "kind: CronJob",
    "metadata:",
    "  name: job",
    "spec:",
    `  schedule: "${cron}"`,
    "  jobTemplate:",
    "    spec:",
    "      backoffLimit: 0",
    "      template:",
    "        spec:",
    "          restartPolicy: Never",
    "          containers:",
    "            - name: job",
    `              image: ${IMAGE}`,
    "              command: [/bin/sh, -c]",
    "              args:",
    "                - |",
    ...lines.map((line) => `                  ${line}`),
  ].join("\n");

const kubernetes: Snippet = {
  name: "kubernetes",
  label: "Kubernetes",
  note: "The image needs curl. For BusyBox images, use the wget commands.",
  texts: {
    success: (facts) => cronJob(facts, [`/job && ${curl(facts, facts.url)}`]),
    whole: (facts) =>
      cronJob(facts, [
        curl(facts, `${facts.url}/start`),
        "/job; status=$?",
        curl(facts, `${facts.url}/$status`),
        "exit $status",
      ]),
    rid: (facts) =>
      cronJob(facts, [
        `rid=${NEW_ID}`,
        curl(facts, `"${facts.url}/start?rid=$rid"`),
        "/job; status=$?",
        curl(facts, `"${facts.url}/$status?rid=$rid"`),
        "exit $status",
      ]),
  },
};

/** A signal that cannot be sent must not keep the job from running, nor count as its failure. */
const tried = (facts: Facts, address: string) => `${curl(facts, address)} || true`;

const workflow = ({ cron }: Facts, steps: readonly string[]) =>
  [
    "on:",
    "  schedule:",
    `    - cron: "${cron}"`,
    "jobs:",
    "  job:",
    "    runs-on: ubuntu-latest",
    "    steps:",
    ...steps.map((step) => `      ${step}`),
  ].join("\n");

const github: Snippet = {
  name: "github",
  label: "GitHub Actions",
  note: "GitHub schedules run in UTC and are often late. Set a generous grace period for this check.",
  texts: {
    success: (facts) => workflow(facts, ["- run: ./job.sh", `- run: ${tried(facts, facts.url)}`]),
    whole: (facts) =>
      workflow(facts, [
        `- run: ${tried(facts, `${facts.url}/start`)}`,
        "- run: ./job.sh",
        `- run: ${tried(facts, facts.url)}`,
        "- if: failure()",
        `  run: ${tried(facts, `${facts.url}/fail`)}`,
      ]),
    rid: (facts) =>
      workflow(facts, [
        `- run: echo "RID=${NEW_ID}" >> "$GITHUB_ENV"`,
        `- run: ${tried(facts, `"${facts.url}/start?rid=$RID"`)}`,
        "- run: ./job.sh",
        `- run: ${tried(facts, `"${facts.url}?rid=$RID"`)}`,
        "- if: failure()",
        `  run: ${tried(facts, `"${facts.url}/fail?rid=$RID"`)}`,
      ]),
  },
};

const gitlab: Snippet = {
  name: "gitlab",
  label: "GitLab CI",
  note: "Set the schedule under Build → Pipeline schedules.",
  texts: {
    success: (facts) =>
      ["job:", "  script:", "    - ./job.sh", `    - ${tried(facts, facts.url)}`].join("\n"),
    whole: (facts) =>
      [
        "job:",
        "  before_script:",
        `    - ${tried(facts, `${facts.url}/start`)}`,
        "  script:",
        "    - ./job.sh",
        "  after_script:",
        '    - if [ "$CI_JOB_STATUS" = success ]; then s=0; else s=fail; fi',
        `    - ${tried(facts, `${facts.url}/$s`)}`,
      ].join("\n"),
    // The last part runs in a shell of its own, which sees files and no variables of the others.
    rid: (facts) =>
      [
        "job:",
        "  before_script:",
        "    - cat /proc/sys/kernel/random/uuid > .rid",
        `    - ${tried(facts, `"${facts.url}/start?rid=$(cat .rid)"`)}`,
        "  script:",
        "    - ./job.sh",
        "  after_script:",
        '    - if [ "$CI_JOB_STATUS" = success ]; then s=0; else s=fail; fi',
        `    - ${tried(facts, `"${facts.url}/$s?rid=$(cat .rid)"`)}`,
      ].join("\n"),
  },
};

const task = (name: string, url: string, indent: string) =>
  [
    `- name: ${name}`,
    "  ansible.builtin.uri:",
    `    url: ${url}`,
    "    method: POST",
    "    timeout: 10",
    "  register: ping",
    "  until: ping is succeeded",
    "  retries: 5",
    "  ignore_errors: true",
    "  delegate_to: localhost",
    "  run_once: true",
  ]
    .map((line) => indent + line)
    .join("\n");

const ansible: Snippet = {
  name: "ansible",
  label: "Ansible",
  texts: {
    success: ({ url }) =>
      ["- name: Run the job", "  ansible.builtin.command: ./job.sh", task("Report success", url, "")].join(
        "\n",
      ),
    whole: ({ url }) => ansibleWhole(url, ""),
    rid: ({ url }) =>
      [
        "- ansible.builtin.set_fact:",
        "    rid: \"{{ lookup('pipe', 'cat /proc/sys/kernel/random/uuid') }}\"",
        ansibleWhole(url, "?rid={{ rid }}"),
      ].join("\n"),
  },
};

function ansibleWhole(url: string, tail: string): string {
  const address = (path: string) => `"${url}${path}${tail}"`;
  return [
    task("Report start", address("/start"), ""),
    "- block:",
    "    - name: Run the job",
    "      ansible.builtin.command: ./job.sh",
    task("Report success", address(""), "    "),
    "  rescue:",
    task("Report failure", address("/fail"), "    "),
    "    - ansible.builtin.fail:",
  ].join("\n");
}

export const PLATFORM_SNIPPETS: readonly Snippet[] = [docker, kubernetes, github, gitlab, ansible];
