// Requests as commands that can be pasted into a shell.

/** A quote inside single quotes ends them; this is how a shell escapes it. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Posts JSON with the API key of the project. */
export function postCommand(url: string, body: object): string {
  const json = quoted(JSON.stringify(body, null, 2));
  return `curl -fsS -m 10 -X POST -H "X-Api-Key: $API_KEY" \\\n  -H "Content-Type: application/json" \\\n  ${url} \\\n  -d ${json}`;
}
