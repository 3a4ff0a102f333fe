// CronJobs as kubectl prints them, and their patches.
import { describe, expect, test } from "vitest";
import { cronJobSlug, patchText, readCronJobs } from "./cron-job.ts";

type Spec = Record<string, unknown>;
const item = (name: string, spec: Spec, container: Spec = {}, annotations: Spec = {}) => ({
  kind: "CronJob",
  metadata: { name, namespace: "shop", uid: "1", annotations },
  spec: {
    schedule: "0 3 * * *",
    ...spec,
    jobTemplate: {
      spec: {
        template: { spec: { containers: [{ name: "main", command: ["/bin/job", "-v"], ...container }] } },
      },
    },
  },
});
const read = (...items: object[]) => readCronJobs({ kind: "List", items });

describe("a CronJob", () => {
  test("has the zone of its spec or UTC, and its deadline", () => {
    const found = read(
      item("backup", { timeZone: "Europe/Riga", startingDeadlineSeconds: 600 }),
      item("report", { suspend: true }),
    );
    expect(found?.jobs).toMatchObject([
      {
        namespace: "shop",
        name: "backup",
        timing: { schedule: "0 3 * * *", tz: "Europe/Riga" },
        deadlineSeconds: 600,
        isPaused: false,
        container: "main",
        command: ["/bin/job", "-v"],
      },
      { name: "report", timing: { tz: "UTC" }, deadlineSeconds: 0, isPaused: true },
    ]);
  });

  test.each([
    ["@daily", { schedule: "0 0 * * *", tz: "UTC" }],
    ["@every 1h30m", { periodSeconds: 5_400 }],
    ["CRON_TZ=Europe/Riga 5 4 * * *", { schedule: "5 4 * * *", tz: "Europe/Riga" }],
    ["TZ=UTC  0 0 * * 0", { schedule: "0 0 * * 0", tz: "UTC" }],
  ])("with the schedule %s", (schedule, timing) => {
    expect(read(item("a", { schedule }))?.jobs[0]?.timing).toEqual(timing);
  });

  test.each([
    ["schedule", item("a", { schedule: "@every 5s" })],
    ["schedule", item("a", { timeZone: "Mars/Base" })],
    ["command", item("a", {}, { command: undefined })],
    ["ignored", item("a", {}, {}, { "overdue/ignore": "true" })],
  ])("is left out: %s", (why, one) => {
    expect(read(one)).toEqual({
      jobs: [],
      reporting: [],
      leftOut: [{ namespace: "shop", name: "a", why }],
    });
  });

  test("that runs overdue-run already reports", () => {
    const command = ["/overdue/overdue-run", "-uuid", "x", "--", "/bin/job"];
    expect(read(item("a", {}, { command }))?.reporting).toEqual([{ namespace: "shop", name: "a" }]);
  });

  test.each([null, 1, {}, { kind: "Pod" }, { kind: "List", items: 1 }])("%j is no list", (value) => {
    expect(readCronJobs(value)).toBeNull();
  });

  test.each([{}, { metadata: {}, spec: { jobTemplate: {} } }])("incomplete ones are left out: %j", (one) => {
    expect(read(one)?.leftOut).toHaveLength(1);
  });
});

test("a slug is made of namespace and name", () => {
  const taken = new Set<string>();
  expect(cronJobSlug({ namespace: "shop", name: "nightly.backup" }, taken)).toBe("shop-nightly-backup");
  expect(cronJobSlug({ namespace: "shop", name: "nightly-backup" }, taken)).toBe("shop-nightly-backup-2");
});

test("a patch names the container and keeps its command", () => {
  const [job] = read(item("backup", {}, { command: ["sh", "-c", 'echo "a: b"\n# c'] }))?.jobs ?? [];
  if (job === undefined) throw new Error("the job was not read");
  const text = patchText([{ job, base: "https://overdue.example.org/ping", uuid: "U" }]);
  expect(text).toContain(
    "#   kubectl create configmap overdue-run --namespace shop --from-file=overdue-run\n",
  );
  expect(text).toContain('                - "--"\n                - "sh"\n                - "-c"\n');
  expect(text).toContain('                - "echo \\"a: b\\"\\n# c"\n');
});
