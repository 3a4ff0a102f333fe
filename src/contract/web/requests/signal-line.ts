// How a job sends its signal from a shell. It imports nothing, so that the snippets of a page have the same line as the
// server.

/**
 * The line that sends a signal: curl fails on errors, gives up after 10 s, and tries again five times. Of a quiet one
 * the answer is not seen.
 */
export function curlLine(address: string, { onlyPost = false, isQuiet = false }): string {
  return `curl -fsS -m 10 --retry 5${isQuiet ? " -o /dev/null" : ""}${onlyPost ? " -X POST" : ""} ${address}`;
}
