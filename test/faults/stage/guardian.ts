// Ensures that nothing outlives a run, however it ends: a shell that has the IDs of the processes started here, and
// ends the remaining ones, by ID, when its standard input closes.
import { type ChildProcess, spawn } from "node:child_process";

/** IDs are added as "+id" and removed as "-id", because an ID may be reused. */
const SCRIPT = `
  while read -r line; do
    case "$line" in
      +*) ids="$ids \${line#+}" ;;
      -*) left=; for id in $ids; do [ "$id" = "\${line#-}" ] || left="$left $id"; done; ids=$left ;;
    esac
  done
  [ -z "$ids" ] || kill -9 $ids
  [ "$2" = keep ] && exit
  umount "$1/small-disk" 2>/dev/null
  rm -rf "$1"`;

export type Guardian = {
  /** The process is ended with this one, unless it ends before. */
  watch(child: ChildProcess): void;
  /** Ends remaining processes, deletes the folder, and waits for that. */
  dismiss(): Promise<void>;
};

/** Also deletes the folder at the end, unless it is to be kept. */
export function startGuardian({ folder, keep }: { folder: string; keep: boolean }): Guardian {
  const shell = spawn("sh", ["-c", SCRIPT, "guardian", folder, keep ? "keep" : "remove"], {
    cwd: "/",
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  shell.unref();
  (shell.stdin as unknown as { unref(): void }).unref();
  const tell = (line: string) => void (shell.stdin.writable && shell.stdin.write(`${line}\n`));
  return {
    watch: (child) => {
      const { pid } = child;
      if (pid === undefined) return;
      tell(`+${pid}`);
      child.once("exit", () => tell(`-${pid}`));
    },
    dismiss: async () => {
      shell.ref();
      const gone = new Promise((resolve) => shell.once("exit", resolve));
      shell.stdin.end();
      await gone;
    },
  };
}
