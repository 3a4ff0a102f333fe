// Debian's cron in a mount namespace: with a spool, system crontabs and a mail program of its own. Needs root.
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const CRON = "/usr/sbin/cron";
export const SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/** Why tests with cron cannot run here; null if they can. */
export function cronObstacle(): string | null {
  if (!existsSync(CRON)) return "cron is not installed";
  const { status } = spawnSync("unshare", ["--mount", "true"]);
  return status === 0 ? null : "mount namespaces cannot be created";
}

export type Ran = { code: number; out: string; err: string };

export type CronRoom = {
  /** Runs a script in the namespace to its end, before cron or beside it. */
  run(script: string, environment?: Record<string, string>): Promise<Ran>;
  /** Starts cron. */
  start(): ChildProcess;
  /** What cron has mailed to a user, without the head; null if nothing. */
  mail(user: string): string | null;
};

/**
 * The spool and the system crontabs are in folders, so that every process of the room sees them. cron prints by mail;
 * with `MAILTO` each job has its own mailbox.
 */
export function cronRoom(folder: string): CronRoom {
  const programs = join(folder, "sbin");
  const mails = join(folder, "mail");
  for (const name of ["sbin", "mail", "spool/crontabs", "cron.d", "run"]) {
    mkdirSync(join(folder, name), { recursive: true });
  }
  writeFileSync(join(folder, "crontab"), "");
  copyFileSync(CRON, join(programs, "cron"));
  writeFileSync(
    join(programs, "sendmail"),
    `#!/bin/sh\nfor to; do :; done\ncat > "${mails}/.$to.$$"\nmv "${mails}/.$to.$$" "${mails}/$to"\n`,
  );
  chmodSync(join(programs, "sendmail"), 0o755);
  chmodSync(join(folder, "spool/crontabs"), 0o1730);
  const mounts = [
    ["spool", "/var/spool/cron"],
    ["cron.d", "/etc/cron.d"],
    ["run", "/run"],
    ["sbin", "/usr/sbin"],
    ["crontab", "/etc/crontab"],
  ]
    .map(([from = "", to = ""]) => `mount --bind "${join(folder, from)}" ${to}`)
    .join(" && ");
  return {
    run: (script, environment = {}) => runInNamespace(`${mounts} && ${script}`, environment),
    start: () =>
      spawn("unshare", ["--mount", "sh", "-c", `${mounts} && exec ${CRON} -f`], { stdio: "ignore" }),
    mail: (user) => {
      const path = join(mails, user);
      if (!existsSync(path)) return null;
      const text = readFileSync(path, "utf8");
      return text.slice(text.indexOf("\n\n") + 2);
    },
  };
}

/** Runs a script in a new mount namespace. */
export function runInNamespace(script: string, environment: Readonly<Record<string, string>>): Promise<Ran> {
  const env = { PATH: SYSTEM_PATH, HOME: "/root", ...environment };
  return new Promise((resolve) => {
    execFile("unshare", ["--mount", "sh", "-c", script], { env }, (error, out, err) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
      resolve({ code, out, err });
    });
  });
}
