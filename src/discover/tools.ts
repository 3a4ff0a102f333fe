// Runs the tools of the machine: crontab, systemctl, kubectl.
import { execFile } from "node:child_process";

const TIMEOUT_MS = 60_000;
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

export type ToolResult = { code: number; stdout: string; stderr: string };

/** The program does not exist, or did not end. */
export class ToolError extends Error {
  override readonly name = "ToolError";
}

/** Runs a program to its end, with text on standard input. Throws ToolError if that is not possible. */
export function runTool(
  name: string,
  args: readonly string[],
  given: { input?: string; environment?: Readonly<Record<string, string>> } = {},
): Promise<ToolResult> {
  return new Promise((resolve, reject) => {
    const { input = "", environment } = given;
    const options = {
      timeout: TIMEOUT_MS,
      maxBuffer: OUTPUT_BYTES_MAX,
      ...(environment && { env: environment }),
    };
    const child = execFile(name, args, options, (error, stdout, stderr) => {
      if (error === null) return resolve({ code: 0, stdout, stderr });
      if (typeof error.code === "number") return resolve({ code: error.code, stdout, stderr });
      const why = error.code === "ENOENT" ? "was not found" : `failed: ${error.message}`;
      reject(new ToolError(`The program ${name} ${why}.`));
    });
    // A program need not read its input.
    child.stdin?.on("error", () => {});
    child.stdin?.end(input);
  });
}
