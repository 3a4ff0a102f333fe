// CronJobs of Kubernetes: reads their list, and writes patches in which overdue-run runs their containers.
import { proposedSlug, type ProposedTiming } from "./discovery.ts";
import { isPingCommand } from "./schedule/crontab.ts";
import { expandMacro } from "./schedule/cron.ts";
import { isValidSchedule } from "./schedule/schedule.ts";
import { zoneOf } from "./schedule/zone.ts";

export type FoundCronJob = {
  namespace: string;
  name: string;
  timing: ProposedTiming;
  /** How much later than planned the job may start; 0 if that is not limited. */
  deadlineSeconds: number;
  isPaused: boolean;
  container: string;
  command: readonly string[];
};

/** Why a CronJob is left out: its schedule cannot be read, its command is that of the image, or an annotation. */
export type CronJobReason = "schedule" | "command" | "ignored";

/** The end of a sentence that begins with the CronJob. */
export const CRON_JOB_REASONS: Readonly<Record<CronJobReason, string>> = {
  schedule: "has a schedule or time zone that Overdue does not support",
  command: "has no command of its own: set it to the entrypoint of the image",
  ignored: "is excluded by the annotation overdue/ignore",
};

export type CronJobs = {
  jobs: FoundCronJob[];
  reporting: { namespace: string; name: string }[];
  leftOut: { namespace: string; name: string; why: CronJobReason }[];
};

/** The output of `kubectl get cronjobs -o json`, as far as it is used. */
type Item = {
  metadata?: { name?: unknown; namespace?: unknown; annotations?: Readonly<Record<string, unknown>> };
  spec?: {
    schedule?: unknown;
    timeZone?: unknown;
    startingDeadlineSeconds?: unknown;
    suspend?: unknown;
    jobTemplate?: { spec?: { template?: { spec?: { containers?: readonly Container[] } } } };
  };
};
type Container = { name?: unknown; command?: unknown; args?: unknown };

const IGNORE = "overdue/ignore";

/** The CronJobs of a list, or of one object; null if the value is neither. */
export function readCronJobs(value: unknown): CronJobs | null {
  const items = itemsOf(value);
  if (items === null) return null;
  const found: CronJobs = { jobs: [], reporting: [], leftOut: [] };
  for (const { metadata = {}, spec = {} } of items) {
    const at = { namespace: text(metadata.namespace) || "default", name: text(metadata.name) };
    const containers = spec.jobTemplate?.spec?.template?.spec?.containers ?? [];
    const timing = timingOf(text(spec.schedule), text(spec.timeZone));
    const [first] = containers;
    const command = words(first?.command);
    if (text(metadata.annotations?.[IGNORE]) === "true") found.leftOut.push({ ...at, why: "ignored" });
    else if (containers.some(isReporting)) found.reporting.push(at);
    else if (timing === null) found.leftOut.push({ ...at, why: "schedule" });
    else if (command.length === 0) found.leftOut.push({ ...at, why: "command" });
    else {
      const deadline = spec.startingDeadlineSeconds;
      found.jobs.push({
        ...at,
        timing,
        deadlineSeconds: typeof deadline === "number" ? deadline : 0,
        isPaused: spec.suspend === true,
        container: text(first?.name),
        command,
      });
    }
  }
  return found;
}

function itemsOf(value: unknown): readonly Item[] | null {
  if (typeof value !== "object" || value === null || !("kind" in value)) return null;
  if (value.kind === "CronJob") return [value as Item];
  return "items" in value && Array.isArray(value.items) ? (value.items as Item[]) : null;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function words(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

function isReporting({ command, args }: Container): boolean {
  return isPingCommand([...words(command), ...words(args)].join(" "));
}

const ZONE = /^(?:CRON_)?TZ=(\S+)\s+(.*)$/;
const EVERY = /^@every\s+(?=\d)(?:(\d{1,5})h)?(?:(\d{1,6})m)?(?:(\d{1,7})s)?$/;

/** Kubernetes uses the zone of its controller, which is UTC unless someone has changed it. */
function timingOf(given: string, timeZone: string): ProposedTiming | null {
  const [, zone = timeZone, schedule = given] = ZONE.exec(given.trim()) ?? [];
  const every = EVERY.exec(schedule.trim());
  if (every !== null) {
    const [, hours = 0, minutes = 0, seconds = 0] = every;
    const periodSeconds = Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
    return periodSeconds < 60 ? null : { periodSeconds };
  }
  const tz = zone === "" ? "UTC" : zone;
  const cron = expandMacro(schedule) ?? schedule.trim().replaceAll(/\s+/g, " ");
  const isValid = zoneOf(tz) !== null && isValidSchedule(cron, { oncalendar: false });
  return isValid ? { schedule: cron, tz } : null;
}

/** From namespace and name, which stay when an object is created again. */
export function cronJobSlug(
  { namespace, name }: Pick<FoundCronJob, "namespace" | "name">,
  taken: Set<string>,
) {
  return proposedSlug([namespace, name], taken);
}

const FOLDER = "/overdue";

/** The patches as YAML documents, to be reviewed and applied by a person. */
export function patchText(patches: readonly { job: FoundCronJob; base: string; uuid: string }[]): string {
  const namespaces = [...new Set(patches.map(({ job }) => job.namespace))];
  const head = [
    "# Strategic merge patches: overdue-run runs each job and reports it. The image needs sh, mkfifo, tee, tail, and curl",
    "# or wget. Each namespace needs overdue-run, which you can download from your server, as a ConfigMap:",
    ...namespaces.map(
      (namespace) =>
        `#   kubectl create configmap overdue-run --namespace ${namespace} --from-file=overdue-run`,
    ),
    "# Then add the documents to your manifests, for example as patches of a kustomization.",
  ];
  return `${head.join("\n")}\n${patches.map(patchDocument).join("")}`;
}

function patchDocument({ job, base, uuid }: { job: FoundCronJob; base: string; uuid: string }): string {
  const command = [`${FOLDER}/overdue-run`, "-api-url", base, "-uuid", uuid, "--", ...job.command];
  // Strings of JSON are strings of YAML.
  const q = (value: string) => JSON.stringify(value);
  return [
    "---",
    "apiVersion: batch/v1",
    "kind: CronJob",
    "metadata:",
    `  name: ${q(job.name)}`,
    `  namespace: ${q(job.namespace)}`,
    "spec:",
    "  jobTemplate:",
    "    spec:",
    "      template:",
    "        spec:",
    "          containers:",
    `            - name: ${q(job.container)}`,
    "              command:",
    ...command.map((word) => `                - ${q(word)}`),
    "              volumeMounts:",
    `                - mountPath: ${FOLDER}`,
    "                  name: overdue-run",
    "                  readOnly: true",
    "          volumes:",
    "            - name: overdue-run",
    "              configMap:",
    "                name: overdue-run",
    "                defaultMode: 493 # 0755",
    "",
  ].join("\n");
}
