// The format of a log line, and that secrets are masked however they are logged.
import { expect, test } from "vitest";
import { createLog, limitedWarning, type LogOptions } from "./log.ts";
import { secretRemover } from "./secret-remover.ts";

/** A log that keeps its lines. */
function captured(options: Partial<LogOptions> = {}) {
  const lines: string[] = [];
  const log = createLog({ level: "info", ...options, destination: { write: (line) => lines.push(line) } });
  return { log, lines };
}

test("an event is one line of JSON with time, level, message and fields", () => {
  const { log, lines } = captured();
  log.child({ role: "sweeper" }).info({ count: 3 }, "swept");
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? "")).toEqual({
    level: "info",
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    role: "sweeper",
    count: 3,
    msg: "swept",
  });
});

test("events below the level are omitted", () => {
  const { log, lines } = captured({ level: "warn" });
  log.info("quiet");
  log.warn("loud");
  expect(lines).toHaveLength(1);
});

test.each([
  ["a field", { password: "hunter2hunter2" }],
  ["a field one level down", { account: { apiKey: "hunter2hunter2" } }],
  ["a field two levels down", { request: { headers: { authorization: "hunter2hunter2" } } }],
  ["a header with a hyphen", { request: { headers: { "x-api-key": "hunter2hunter2" } } }],
  ["a database address", { at: "postgres://overdue:hunter2hunter2@db:5432/overdue" }],
])("a secret in %s is masked", (_where, fields) => {
  const { log, lines } = captured();
  log.info(fields, "event");
  expect(lines.join()).toContain("********");
  expect(lines.join()).not.toContain("hunter2");
});

test("a known secret is masked in messages, error texts and children, also where JSON escapes it", () => {
  const secret = 'pass"word\\with quotes';
  const { log, lines } = captured({ secrets: [secret] });
  log.info(`connecting with ${secret}`);
  log.error({ err: new Error(`refused: ${secret}`) }, "failed");
  log.child({ note: secret }).info("child");
  expect(lines).toHaveLength(3);
  for (const line of lines) {
    expect(line).not.toContain("with quotes");
    expect(() => JSON.parse(line)).not.toThrow();
  }
});

test("a password that is a word of our own messages is masked in a URL only", () => {
  const clean = secretRemover({ secrets: ["secret", "overdue", "postgres", "password"] });
  const text = "overdue: The fields are url_down, body_notice, secret.";
  expect(clean(text)).toBe(text);
  expect(clean("cannot use postgres://overdue:secret@db/overdue")).toBe(
    "cannot use postgres://overdue:********@db/overdue",
  );
});

test("a text with the pattern of a secret is masked even if it is not listed", () => {
  const { log, lines } = captured({ secretPatterns: [/od[wr]_[A-Za-z0-9]{28}/g] });
  const key = `odw_${"a1B2".repeat(7)}`;
  log.info(`wrong key ${key}, twice ${key}`);
  expect(lines.join()).not.toContain("a1B2");
});

test("the URL around a masked password stays readable", () => {
  const { log, lines } = captured();
  log.info("trying postgres://overdue:hunter2hunter2@db:5432/overdue");
  expect(lines.join()).toContain("postgres://overdue:********@db:5432/overdue");
});

test("a rate-limited warning is logged immediately, and then at most once a second", () => {
  const { log, lines } = captured();
  let nowMs = 5;
  const warn = limitedWarning(log, () => nowMs);
  for (let request = 0; request < 100; request += 1) {
    warn({ request }, "the database is away");
    nowMs += 20;
  }
  expect(lines.map((line) => JSON.parse(line).request)).toEqual([0, 50]);
});
