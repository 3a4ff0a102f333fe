// `overdue discover systemd` with recorded output of systemctl, in a mount namespace, and `overdue discover kubernetes`
// with a list of CronJobs; against a server.
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { callOverdue } from "../cli/run-overdue.ts";
import { useCast } from "../management/cast.ts";
import { COMPILE_CACHE } from "../support/compile-cache.ts";
import { runInNamespace, SYSTEM_PATH } from "../support/cron.ts";

const cast = useCast({ roles: ["api"], settings: { OVERDUE_API_RATE_LIMIT: "0" } });
const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

let folder = "";
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "overdue-discover-"));
  await cast.db.pool.query("delete from checks");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const checks = async () => {
  const { rows } = await cast.db.pool.query<Record<string, unknown>>(
    `select c.uuid, c.name, c.slug, c.tags, c.kind, c.timeout_seconds, c.schedule, c.tz, c.grace_seconds, s.status
      from checks c join check_states s on s.check_id = c.id order by c.id`,
  );
  return rows;
};

// The output of systemctl 252.
const TIMERS = `Id=backup.timer
Description=Nightly backup
Unit=backup.service
TimersCalendar={ OnCalendar=*-*-* 02:30:00 ; next_elapse=Wed 2026-11-18 02:30:00 UTC }
RandomizedDelayUSec=30min
AccuracyUSec=1min

Id=clean.timer
Unit=clean.service
TimersMonotonic={ OnUnitActiveUSec=1d ; next_elapse=1d 15min }
TimersMonotonic={ OnBootUSec=15min ; next_elapse=15min }
AccuracyUSec=1min

Id=once.timer
Unit=once.service
TimersMonotonic={ OnBootUSec=15min ; next_elapse=15min }
`;
const SERVICES = ["backup", "clean", "once"]
  .map(
    (name) =>
      `Id=${name}.service\nDescription=The ${name} job\nLoadState=loaded\nDropInPaths=DROP_INS_OF_${name}`,
  )
  .join("\n\n");

describe.skipIf(spawnSync("unshare", ["--mount", "true"]).status !== 0)("timers of systemd", () => {
  const units = () => join(folder, "units");
  const overdue = (...args: string[]) => {
    mkdirSync(join(folder, "bin"), { recursive: true });
    mkdirSync(units(), { recursive: true });
    writeFileSync(join(folder, "timers"), TIMERS);
    writeFileSync(join(folder, "services"), SERVICES);
    const names = `[{"unit":"backup.timer"},{"unit":"clean.timer"},{"unit":"once.timer"}]`;
    const script = `#!/bin/sh
echo "$*" >> "${folder}/calls"
case $1 in
list-timers) echo '${names}' ;;
show) case $* in
  *.service*) for n in backup clean once; do
    set -- "$@" -e "s#DROP_INS_OF_$n#$(echo /etc/systemd/system/$n.service.d/*.conf)#"; done
    while [ "$1" != -e ]; do shift; done; sed "$@" "${folder}/services" ;;
  *) cat "${folder}/timers" ;;
  esac ;;
esac
`;
    writeFileSync(join(folder, "bin/systemctl"), script);
    chmodSync(join(folder, "bin/systemctl"), 0o755);
    const inside = `mount --bind "${units()}" /etc/systemd/system && exec "${process.execPath}" "${MAIN}" discover systemd ${args.join(" ")}`;
    return runInNamespace(inside, {
      ...COMPILE_CACHE,
      PATH: `${join(folder, "bin")}:${SYSTEM_PATH}`,
      OVERDUE_SITE_URL: cast.site,
      OVERDUE_API_KEY: cast.owner.rw,
      STATE_DIRECTORY: join(folder, "state"),
    });
  };

  test("are shown, and nothing changes", async () => {
    const { code, out, err } = await overdue("--host", "web1");
    expect(code).toBe(0);
    expect(out).toMatch(
      /^NAME .*\nbackup +\*-\*-\* 02:30:00 +\S+ +1 hour 31 minutes +web1-backup +backup\.timer\n/,
    );
    expect(out).toMatch(/\nclean +every 1 day +1 hour 1 minute +web1-clean +clean\.timer\n/);
    expect(out).toContain(
      "--- /dev/null\n+++ /etc/systemd/system/backup.service.d/50-overdue.conf\n@@ -0,0 +1,4 @@\n",
    );
    expect(err).toContain("once.timer: runs only after boot or activation, not on a schedule");
    expect(readdirSync(units())).toEqual([]);
    expect(await checks()).toEqual([]);
  });

  test("get checks and drop-ins, a second run finds nothing, and undo removes them", async () => {
    const { code, out, err } = await overdue("--write", "--host", "web1");
    expect([code, err.includes("--undo")]).toEqual([0, true]);
    const made = await checks();
    expect(made).toMatchObject([
      {
        name: "backup",
        slug: "web1-backup",
        kind: "oncalendar",
        schedule: "*-*-* 02:30:00",
        grace_seconds: 5_460,
      },
      { name: "clean", slug: "web1-clean", kind: "simple", timeout_seconds: 86_400, grace_seconds: 3_660 },
    ]);
    const path = join(units(), "clean.service.d/50-overdue.conf");
    expect(readFileSync(path, "utf8")).toContain(
      `"${cast.site}/ping/${String(made[1]?.["uuid"])}/start?rid=`,
    );
    expect(out).toContain(`${cast.site}/ping/${String(made[1]?.["uuid"])}`);
    expect(readFileSync(join(folder, "calls"), "utf8")).toMatch(/daemon-reload\n$/);

    const again = await overdue("--write", "--host", "web1");
    expect(again.err).toContain("No new timers found.\nAlready reporting:\n  backup.timer\n  clean.timer\n");
    expect(await checks()).toHaveLength(2);

    expect(await overdue("--undo")).toMatchObject({ code: 0 });
    expect(readdirSync(units())).toEqual([]);
    expect(readFileSync(join(folder, "calls"), "utf8")).toMatch(/daemon-reload\n$/);
  });

  test("a drop-in that was edited is not removed", async () => {
    await overdue("--write", "--host", "web1");
    const path = join(units(), "clean.service.d/50-overdue.conf");
    appendFileSync(path, "# mine\n");
    const { code, err } = await overdue("--undo");
    expect(code).toBe(1);
    expect(err).toContain("+# mine\n");
    expect(readdirSync(units())).toEqual(["clean.service.d"]);
  });
});

const LIST = {
  kind: "List",
  items: [
    {
      metadata: { name: "nightly", namespace: "shop" },
      spec: {
        schedule: "0 3 * * *",
        timeZone: "Europe/Riga",
        startingDeadlineSeconds: 600,
        jobTemplate: {
          spec: {
            template: { spec: { containers: [{ name: "main", command: ["/bin/backup"], args: ["--all"] }] } },
          },
        },
      },
    },
    {
      metadata: { name: "report", namespace: "shop" },
      spec: {
        schedule: "@hourly",
        suspend: true,
        jobTemplate: {
          spec: { template: { spec: { containers: [{ name: "main", command: ["/bin/r"] }] } } },
        },
      },
    },
    { metadata: { name: "image", namespace: "web" }, spec: { schedule: "@daily" } },
  ],
};

describe("CronJobs of Kubernetes", () => {
  const overdue = (...args: string[]) => {
    writeFileSync(join(folder, "list.json"), JSON.stringify(LIST));
    return callOverdue(["discover", "kubernetes", join(folder, "list.json"), ...args], {
      OVERDUE_SITE_URL: cast.site,
      OVERDUE_API_KEY: cast.owner.rw,
    });
  };

  test("are proposed with patches, and no check is created", async () => {
    const { code, out, err } = await overdue();
    expect(code).toBe(0);
    expect(err).toContain("web/image: has no command of its own");
    expect(err).toContain("report (paused)");
    expect(parseAllDocuments(out)).toHaveLength(2);
    expect(await checks()).toEqual([]);
  });

  test("get checks, and patches with their UUIDs", async () => {
    const { code, out } = await overdue("--write", "--tag", "prod");
    expect(code).toBe(0);
    const made = await checks();
    expect(made).toMatchObject([
      { name: "nightly", slug: "shop-nightly", tz: "Europe/Riga", grace_seconds: 4_200, status: "new" },
      { name: "report", slug: "shop-report", schedule: "0 * * * *", status: "paused" },
    ]);
    const [patch] = parseAllDocuments(out).map((document) => document.toJS() as Record<string, unknown>);
    expect(patch).toMatchObject({ kind: "CronJob", metadata: { name: "nightly", namespace: "shop" } });
    expect(JSON.stringify(patch)).toContain(
      `"command":["/overdue/overdue-run","-api-url","${cast.site}/ping","-uuid","${String(made[0]?.["uuid"])}","--","/bin/backup"]`,
    );
    // Once more: the same checks.
    await overdue("--write");
    expect(await checks()).toHaveLength(2);
  });

  test.skipIf(!existsSync("/usr/bin/kubectl"))("kubectl accepts a patch", async () => {
    const { out } = await overdue();
    const [head = "", first = ""] = out.split("---\n");
    expect(head).toMatch(/^#/);
    const object = { apiVersion: "batch/v1", kind: "CronJob", ...LIST.items[0] };
    writeFileSync(join(folder, "object.json"), JSON.stringify(object));
    writeFileSync(join(folder, "patch.yaml"), first);
    const args = ["patch", "--local", "-f", join(folder, "object.json"), "--type", "strategic"];
    const { status, stdout, stderr } = spawnSync(
      "kubectl",
      [...args, "--patch-file", join(folder, "patch.yaml"), "-o", "json"],
      { encoding: "utf8" },
    );
    expect([status, stderr]).toEqual([0, ""]);
    const patched = JSON.parse(stdout) as typeof object & { spec: { jobTemplate: unknown } };
    expect(patched.spec.jobTemplate).toMatchObject({
      spec: {
        template: {
          spec: {
            containers: [{ name: "main", args: ["--all"], volumeMounts: [{ mountPath: "/overdue" }] }],
            volumes: [{ name: "overdue-run", configMap: { defaultMode: 0o755 } }],
          },
        },
      },
    });
  });

  test("anything else is refused", async () => {
    writeFileSync(join(folder, "x"), "[]");
    const { code, err } = await callOverdue(["discover", "kubernetes", join(folder, "x")]);
    expect([code, err]).toEqual([
      1,
      "overdue: This is not a list of CronJobs. Use: kubectl get cronjobs -A -o json\n",
    ]);
  });
});
