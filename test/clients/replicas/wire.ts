// Sends what a replica has to send: exactly these headers over a kept connection, besides those that HTTP needs, and
// reads the answer as the original would.
import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { caseClient } from "../../conformance/http-client.ts";
import type { Client, Scene } from "../client.ts";

export type Json = Record<string, unknown>;

/** An answer, unpacked. */
export class Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
  readonly #what: string;

  constructor(answer: {
    what: string;
    status: number;
    headers: Readonly<Record<string, string | undefined>>;
    body: Buffer;
  }) {
    const isPacked = answer.headers["content-encoding"] === "gzip";
    this.status = answer.status;
    this.headers = answer.headers;
    this.text = (isPacked ? gunzipSync(answer.body) : answer.body).toString("utf8");
    this.#what = answer.what;
  }

  /** Demands one of these codes. */
  expect(...codes: readonly number[]): this {
    const complaint = `${this.#what}: ${this.status} ${this.text.slice(0, 300)}, not ${codes.join(" or ")}`;
    assert.ok(codes.includes(this.status), complaint);
    return this;
  }

  /** The body as an object; every client of the Management API wants JSON, and some look at its type. */
  json(): Json {
    assert.match(this.headers["content-type"] ?? "", /^application\/json/, this.#what);
    return JSON.parse(this.text) as Json;
  }

  /** A list of objects in the body. */
  list(name: string): Json[] {
    const found = this.json()[name];
    assert.ok(
      Array.isArray(found),
      `${this.#what}: there is no list "${name}" in ${this.text.slice(0, 300)}`,
    );
    return found as Json[];
  }
}

export type Sending = { headers?: Readonly<Record<string, string>>; body?: string; json?: unknown };

/** A connection of one client; `headers` go with every request. */
export class Wire {
  readonly #client: ReturnType<typeof caseClient>;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #prefix: string;

  constructor(at: { site: string; headers?: Readonly<Record<string, string>>; prefix?: string }) {
    this.#client = caseClient(at.site);
    this.#headers = at.headers ?? {};
    this.#prefix = at.prefix ?? "";
  }

  async send(method: string, path: string, { headers = {}, body, json }: Sending = {}): Promise<Reply> {
    const text = json === undefined ? body : JSON.stringify(json);
    const target = path.startsWith("http") ? path : `${this.#prefix}${path}`;
    const answer = await this.#client.send({
      method,
      path: target,
      headers: { ...this.#headers, ...headers },
      body: text === undefined ? null : Buffer.from(text),
    });
    return new Reply({ what: `${method} ${target}`, ...answer });
  }

  close(): void {
    this.#client.close();
  }
}

/** A replica whose connections are closed when it is through. */
export function replica(
  about: Pick<Client, "name" | "version" | "note"> & { dialect?: Client["dialect"] },
  drive: (
    scene: Scene,
    open: (at: { headers?: Record<string, string>; prefix?: string }) => Wire,
  ) => Promise<void>,
): Client {
  return {
    dialect: "standard",
    ...about,
    kind: "replica",
    installs: null,
    drive: async (scene) => {
      const wires: Wire[] = [];
      const open = (at: { headers?: Record<string, string>; prefix?: string }) => {
        const wire = new Wire({ site: scene.site, ...at });
        wires.push(wire);
        return wire;
      };
      try {
        await drive(scene, open);
      } finally {
        for (const wire of wires) wire.close();
      }
    },
  };
}

/** The last part of an address: how clients find the identity of a check. */
export function lastSegment(address: unknown): string {
  return String(address).split("/").at(-1) ?? "";
}
