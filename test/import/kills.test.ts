// A short import that is killed at steps and resumed. The full one is `npm run move`.
import { randomBytes } from "node:crypto";
import pg from "pg";
import { afterAll, expect, inject, test } from "vitest";
import { TEMPLATE_DATABASE } from "../support/set-up-postgres.ts";
import { digestOf, killSteps, runChild } from "./kills.ts";

const made: string[] = [];
const SIZE = { checkCount: 24, pingsPerCheck: 3, now: Date.now() };

async function onServer(work: (admin: pg.Client) => Promise<unknown>): Promise<void> {
  const admin = new pg.Client({ connectionString: inject("postgresUrl") });
  await admin.connect();
  try {
    await work(admin);
  } finally {
    await admin.end();
  }
}

async function newDatabase(): Promise<string> {
  const name = `test_${randomBytes(8).toString("hex")}`;
  made.push(name);
  await onServer((admin) => admin.query(`create database ${name} template ${TEMPLATE_DATABASE}`));
  return inject("postgresUrl").replace(/\/postgres$/, `/${name}`);
}

afterAll(() =>
  onServer(async (admin) => {
    for (const name of made) await admin.query(`drop database if exists ${name} with (force)`);
  }),
);

test("an import that is killed at any step and run again gives the same, and nothing is half there", async () => {
  const whole = await newDatabase();
  const result = await runChild("import", { url: whole, ...SIZE });
  const expected = await digestOf(whole);
  const url = await newDatabase();
  let killed = 0;
  for (const killAt of killSteps(result?.steps ?? 0, 3)) {
    if ((await runChild("import", { url, ...SIZE, killAt })) === null) killed += 1;
    // A project is there with all its checks, or not at all.
    const { checks = "", states = "" } = await digestOf(url);
    expect(Number(checks.split(" ")[0]) % 6).toBe(0);
    expect(states.split(" ")[0]).toBe(checks.split(" ")[0]);
  }
  expect(killed).toBeGreaterThan(2);
  await runChild("import", { url, ...SIZE });
  expect(await digestOf(url)).toEqual(expected);
  expect(await runChild("finish", { url, ...SIZE, killAt: 1 })).toBeNull();
  await runChild("finish", { url, ...SIZE });
  await runChild("finish", { url: whole, ...SIZE });
  expect(await digestOf(url)).toEqual(await digestOf(whole));
  await runChild("undo", { url, ...SIZE });
  expect((await digestOf(url))["checks"]?.split(" ")[0]).toBe("0");
});
