// The password of a PostgreSQL of our own: drawn once, kept in a file that only its owner can read, and asked for by
// the server, so that nobody else who runs as the server's user gets in by its socket.
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { newToken } from "../../lib/secrets/secret-token.ts";

/** What is in the file is one of these, or nothing of ours. */
const PASSWORD = /^[\w-]{40,100}$/;

/** Who gets in: by the socket, with the password. Written beside the socket at each start. */
export const PASSWORD_RULES = "local all all scram-sha-256";

export type PrivatePassword = {
  password: string;
  /** The server does not know it yet, unless it is told now. */
  isNew: boolean;
  /** Keeps it for the next start. Only now: a file that says what the server was never told would lock everybody out. */
  keep(): void;
};

/** The password in a file; a new one where there is none. */
export function passwordIn(path: string): PrivatePassword {
  const kept = readKept(path);
  if (kept !== null) return { password: kept, isNew: false, keep: () => {} };
  const password = newToken();
  return {
    password,
    isNew: true,
    keep: () => {
      const unfinished = `${path}.unfinished`;
      rmSync(unfinished, { force: true });
      writeFileSync(unfinished, `${password}\n`, { mode: 0o600, flag: "wx" });
      renameSync(unfinished, path);
    },
  };
}

function readKept(path: string): string | null {
  try {
    const text = readFileSync(path, "utf8").trim();
    return PASSWORD.test(text) ? text : null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
