import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { readTar, tarEnd, tarFile } from "./tar.ts";

const FILES = [
  { name: "header.json", bytes: Buffer.from("{}") },
  { name: "tables/a/000001.copy.zst", bytes: Buffer.alloc(1_000, 7) },
  { name: "empty", bytes: Buffer.alloc(0) },
  { name: "block", bytes: Buffer.alloc(512, 1) },
];
const ARCHIVE = Buffer.concat([
  ...FILES.map((file) => tarFile(file, { modifiedAt: 1_700_000_000_000 })),
  tarEnd(),
]);

async function read(archive: Buffer, chunkBytes = 100): Promise<{ name: string; bytes: Buffer }[]> {
  const chunks = async function* chunksOf() {
    for (let at = 0; at < archive.length; at += chunkBytes) yield archive.subarray(at, at + chunkBytes);
  };
  const found: { name: string; bytes: Buffer }[] = [];
  for await (const { name, bytes } of readTar(chunks(), { sizeMax: () => 2_000 }))
    found.push({ name, bytes });
  return found;
}

describe("An archive", () => {
  test("is read as it was written, however it is cut", async () => {
    for (const size of [1, 511, 513, 1_000_000]) expect(await read(ARCHIVE, size)).toEqual(FILES);
  });

  test("is one that tar can list", () => {
    const listed = execFileSync("tar", ["-t"], { input: ARCHIVE, encoding: "utf8" });
    expect(listed.trim().split("\n")).toEqual(FILES.map(({ name }) => name));
  });

  test("is refused if any byte outside of the contents differs", async () => {
    const contents = [
      [512, 2],
      [1_536, 1_000],
      [3_584, 512],
    ] as const;
    for (let at = 0; at < ARCHIVE.length; at += 1) {
      if (contents.some(([from, length]) => at >= from && at < from + length)) continue;
      const altered = Buffer.from(ARCHIVE);
      altered[at] = (altered[at] ?? 0) ^ 1;
      await expect(read(altered, 1_000_000), `byte ${at}`).rejects.toThrow(/./);
    }
  });

  test("is refused if it ends early, or has more than one end", async () => {
    for (const length of [0, 100, 512, 1_500, ARCHIVE.length - 512, ARCHIVE.length - 1]) {
      await expect(read(ARCHIVE.subarray(0, length))).rejects.toThrow("ends too early");
    }
    await expect(read(Buffer.concat([ARCHIVE, Buffer.alloc(1)]))).rejects.toThrow("after the end");
  });

  test("is refused if a file is larger than allowed, before it is read", async () => {
    const header = tarFile({ name: "large", bytes: Buffer.alloc(3_000) }, { modifiedAt: 0 }).subarray(0, 512);
    await expect(read(header)).rejects.toThrow("large is too large");
  });
});
