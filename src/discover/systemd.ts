// The timers of this machine as systemctl shows them, and the drop-ins of their services.
import { mkdir, mkdtemp, rm, rmdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DROP_IN, UNIT_PROPERTIES } from "../core/systemd-timer.ts";
import { runTool, ToolError } from "./tools.ts";

const UNIT_FOLDER = "/etc/systemd/system";
const TOOL_PATH = "/usr/bin:/bin";

/** The properties of all timers and of the services that they start. Throws ToolError. */
export async function showTimers(names: readonly string[]): Promise<string> {
  const timers = names.length > 0 ? names.map(withEnding) : await timerNames();
  if (timers.length === 0) return "";
  const shown = await show(timers);
  const services = [...shown.matchAll(/^Unit=(.+)$/gm)].map(([, unit = ""]) => unit);
  return services.length === 0 ? shown : `${shown}\n\n${await show([...new Set(services)])}`;
}

function withEnding(name: string): string {
  return name.endsWith(".timer") ? name : `${name}.timer`;
}

async function timerNames(): Promise<string[]> {
  const listed: unknown = JSON.parse(await systemctl(["list-timers", "--all", "--output", "json"]));
  return (Array.isArray(listed) ? listed : [])
    .map((row: { unit?: unknown }) => row.unit)
    .filter((unit) => typeof unit === "string" && unit !== "") as string[];
}

function show(units: readonly string[]): Promise<string> {
  return systemctl(["show", "--property", UNIT_PROPERTIES.join(","), "--", ...units]);
}

async function systemctl(args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runTool("systemctl", args);
  if (code !== 0) throw new ToolError(`systemctl ${args[0]} failed: ${stderr.trim()}`);
  return stdout.trim();
}

export function dropInPath(service: string): string {
  return join(UNIT_FOLDER, `${service}.d`, DROP_IN);
}

/** Creates the folder of a drop-in. */
export async function makeDropInFolder(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
}

/** Removes the folder of a drop-in if nothing else is in it. */
export async function removeDropInFolder(path: string): Promise<void> {
  await rmdir(dirname(path)).catch(() => {});
}

/** What systemd says about the drop-in of a service; null if it accepts it, or cannot be asked. */
export async function verifyProblem(service: string, dropIn: string): Promise<string | null> {
  const folder = await mkdtemp(join(tmpdir(), "overdue-units-"));
  try {
    const own = join(folder, `${service}.d`);
    await mkdir(own);
    await writeFile(join(own, DROP_IN), dropIn);
    // The colon at the end adds the folders of the system.
    const environment = { PATH: TOOL_PATH, SYSTEMD_UNIT_PATH: `${folder}:` };
    const { stderr } = await runTool("systemd-analyze", ["verify", service], { environment });
    const lines = stderr.split("\n").filter((line) => line.includes(folder));
    return lines.length === 0 ? null : lines.join("\n");
  } catch (error) {
    if (error instanceof ToolError) return null;
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Makes systemd read its units again. Throws ToolError. */
export async function reloadUnits(): Promise<void> {
  await systemctl(["daemon-reload"]);
}
