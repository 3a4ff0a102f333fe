// A browser without a screen: it keeps cookies, sends forms as pages do, and says where a request comes from.
import type { Reply } from "../management/cast.ts";

export type Asking = {
  method?: string;
  /** Fields of a form. */
  form?: Readonly<Record<string, string>>;
  json?: unknown;
  headers?: Readonly<Record<string, string>>;
};

export type Browser = {
  ask(path: string, given?: Asking): Promise<Reply>;
  post(path: string, form: Readonly<Record<string, string>>): Promise<Reply>;
  send(method: string, path: string, json?: unknown): Promise<Reply>;
  readonly cookies: Map<string, string>;
};

/** A browser at a site; `origin` is what it calls the site, which may be reached elsewhere. */
export function openBrowser(site: () => string, { origin }: { origin?: string } = {}): Browser {
  const cookies = new Map<string, string>();
  const ask = async (path: string, { method = "GET", form, json, headers = {} }: Asking = {}) => {
    const body = form === undefined ? (json === undefined ? null : JSON.stringify(json)) : encoded(form);
    const type = form === undefined ? "application/json" : "application/x-www-form-urlencoded";
    const response = await fetch(site() + path, {
      method,
      redirect: "manual",
      headers: {
        ...(method === "GET" ? {} : { Origin: origin ?? site() }),
        "Sec-Fetch-Site": "same-origin",
        "User-Agent": "test browser",
        ...(cookies.size > 0 && {
          Cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; "),
        }),
        ...(body !== null && { "Content-Type": type }),
        ...headers,
      },
      ...(body !== null && { body }),
    });
    for (const cookie of response.headers.getSetCookie()) keep(cookies, cookie);
    const bytes = Buffer.from(await response.arrayBuffer());
    const text = bytes.toString("utf8");
    return { status: response.status, headers: response.headers, bytes, text, json: parsed(text) };
  };
  return {
    ask,
    cookies,
    post: (path, form) => ask(path, { method: "POST", form }),
    send: (method, path, json) => ask(path, { method, ...(json !== undefined && { json }) }),
  };
}

function encoded(form: Readonly<Record<string, string>>): string {
  return new URLSearchParams(form).toString();
}

function keep(cookies: Map<string, string>, line: string): void {
  const [pair = "", ...attributes] = line.split("; ");
  const at = pair.indexOf("=");
  const name = pair.slice(0, at);
  if (attributes.includes("Max-Age=0")) cookies.delete(name);
  else cookies.set(name, pair.slice(at + 1));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Where an answer sends the browser. */
export function locationOf(reply: Reply): string {
  return reply.headers.get("location") ?? "";
}
