// A replica of the Terraform provider: ten at a time it makes each check and reads it back by listing all of them; a
// second plan lists all of them once more for each check and must find nothing to change.
import assert from "node:assert/strict";
import type { Client, Scene, Size } from "../client.ts";
import { type Json, lastSegment, replica, type Wire } from "./wire.ts";

const RESOURCES: Readonly<Record<Size, number>> = { full: 500, short: 30 };
/** Terraform's own default. */
const PARALLEL = 10;

type Resource = { id: string; wanted: Json };

/** What the provider sends; what is not set goes as its default, and channels and methods even when empty. */
function wantedOf(scene: Scene, { number, slug }: { number: number; slug: string | null }): Json {
  const name = `Terraform check ${number}`;
  const [channel] = scene.project.channels;
  const isCron = number % 5 === 0;
  return {
    channels: number % 2 === 0 ? (channel?.id ?? "") : "",
    desc: `resource ${number}`,
    grace: 60 + number,
    methods: number % 3 === 0 ? "POST" : "",
    name,
    slug: slug ?? name.toLowerCase().replaceAll(" ", "-"),
    tags: "terraform prod",
    ...(isCron ? { schedule: "0 4 * * *", tz: "Europe/Riga" } : { timeout: 3_600 + number }),
  };
}

/** The attributes of a resource as the list of all checks shows it; null when it is not in the list. */
async function read(wire: Wire, id: string): Promise<Json | null> {
  const checks = (await wire.send("GET", "/checks/")).expect(200).list("checks");
  return checks.find((check) => lastSegment(check["update_url"]) === id) ?? null;
}

/** Which attributes a plan would want to change. */
function difference(shown: Json | null, wanted: Json): string[] {
  if (shown === null) return ["everything"];
  return Object.keys(wanted).filter((name) => shown[name] !== wanted[name]);
}

async function inParallel<T>(
  wires: readonly Wire[],
  items: readonly T[],
  work: (wire: Wire, item: T) => Promise<void>,
) {
  const left = items.values();
  await Promise.all(
    wires.map(async (wire) => {
      for (const item of left) await work(wire, item);
    }),
  );
}

type Opening = Parameters<Parameters<typeof replica>[1]>[1];

async function driveTerraform(scene: Scene, open: Opening, slugOf: (number: number) => string | null) {
  const { project, effects } = scene;
  const headers = {
    "User-Agent": "Go-http-client/1.1",
    "Accept-Encoding": "gzip",
    "Content-Type": "application/json",
    "X-Api-Key": project.apiKey,
  };
  const wires = Array.from({ length: PARALLEL }, () => open({ headers, prefix: "/api/v1" }));
  const [first] = wires;
  assert.ok(first !== undefined);
  const channels = (await first.send("GET", "/channels/")).expect(200).list("channels");
  assert.deepEqual(new Set(channels.map(({ id }) => id)), new Set(project.channels.map(({ id }) => id)));

  const numbers = Array.from({ length: RESOURCES[scene.size] }, (_, index) => index + 1);
  const resources: Resource[] = [];
  await inParallel(wires, numbers, async (wire, number) => {
    const wanted = wantedOf(scene, { number, slug: slugOf(number) });
    const made = (await wire.send("POST", "/checks/", { json: wanted })).expect(201).json();
    const id = lastSegment(made["update_url"]);
    assert.deepEqual(difference(await read(wire, id), wanted), [], "what the apply reads back");
    resources.push({ id, wanted });
  });
  await inParallel(wires, resources, async (wire, { id, wanted }) => {
    assert.deepEqual(difference(await read(wire, id), wanted), [], "differences of the second plan");
  });
  assert.equal((await effects.checks()).length, numbers.length);
  await changeAndDestroy(scene, { wires, resources });
}

async function changeAndDestroy(
  scene: Scene,
  on: { wires: readonly Wire[]; resources: readonly Resource[] },
) {
  const [wire] = on.wires;
  const [changed, paused] = on.resources;
  assert.ok(wire !== undefined && changed !== undefined && paused !== undefined);
  const wanted = { ...changed.wanted, desc: "changed", tags: "" };
  (await wire.send("POST", `/checks/${changed.id}`, { json: wanted })).expect(200);
  assert.deepEqual(difference(await read(wire, changed.id), wanted), [], "differences after an update");
  assert.equal((await scene.effects.check(changed.id)).settings.desc, "changed");
  (await wire.send("POST", `/checks/${paused.id}/pause`, { body: "" })).expect(200);
  await scene.effects.expectStatus(paused.id, "paused");
  const refused = (await wire.send("POST", "/checks/", { json: { name: "x", timeout: 1 } })).expect(400);
  assert.equal(typeof refused.json()["error"], "string", "a reason that can be shown");
  await inParallel(on.wires, on.resources, async (each, { id }) => {
    (await each.send("DELETE", `/checks/${id}`)).expect(200);
  });
  assert.deepEqual(await scene.effects.checks(), []);
}

const about = { version: "2.3" };

export const TERRAFORM_CLIENTS: readonly Client[] = [
  replica(
    {
      ...about,
      name: "Terraform provider",
      note: "500 checks (30 with --short); slugs as made from the names",
    },
    (scene, open) => driveTerraform(scene, open, () => null),
  ),
  replica(
    {
      ...about,
      name: "Terraform provider (own slugs)",
      dialect: "healthchecks",
      note: "version 1 takes a slug in this dialect only (service description 9, D5)",
    },
    (scene, open) => driveTerraform(scene, open, (number) => `own-slug-${number}`),
  ),
];
