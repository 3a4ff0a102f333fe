// The built browser files: kept in memory, compressed once, and named by content hash, so that browsers can cache them
// forever. A new build is picked up without a restart.
import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

export type Asset = { type: string; bytes: Buffer; packed: Partial<Record<"br" | "gzip", Promise<Buffer>>> };

/** What a page has to load, by the names under which it is served. */
export type Entry = { script: string; styles: string[]; preloads: string[] };

export type Build = {
  /** What every page loads. */
  entry: Entry;
  /** What a page loads besides, by the name of the page: asked for at once, it saves a round trip. */
  pages: ReadonlyMap<string, Pick<Entry, "styles" | "preloads">>;
  files: ReadonlyMap<string, Asset>;
};

export type Assets = {
  /** What is built now; null: nothing is. */
  build(): Promise<Build | null>;
  /** A file of the build in an encoding; null: there is no such file. */
  read(
    name: string,
    encoding: "br" | "gzip" | null,
  ): Promise<{ asset: Asset; bytes: Buffer; encoding: string | null } | null>;
};

/** All files together; a build of ours is far below. */
const BUILD_BYTES_MAX = 64 * 1024 * 1024;
/** Below this nothing is gained, and fonts and pictures are compressed already. */
const PACKED_BYTES_MIN = 1_000;
const PACKED_TYPES = new Set([".js", ".css", ".svg", ".json", ".webmanifest", ".map"]);

const TYPES: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".json": "application/json; charset=utf-8",
  ".webmanifest": "application/manifest+json",
  ".map": "application/json; charset=utf-8",
  ".woff2": "font/woff2",
  ".woff": "font/woff",
};

/** The build in a folder. */
export function folderAssets(folder: string): Assets {
  let known: { version: string; build: Build } | null = null;
  let loading: Promise<Build | null> | null = null;
  const load = async (): Promise<Build | null> => {
    const manifestPath = join(folder, ".vite", "manifest.json");
    const found = await stat(manifestPath).catch(() => null);
    if (found === null) return null;
    const version = `${found.mtimeMs}/${found.size}`;
    if (known?.version === version) return known.build;
    const manifest = JSON.parse(await readFile(manifestPath, "utf8")) as Manifest;
    const build = { ...entryOf(manifest), files: await readFiles(join(folder, "assets")) };
    known = { version, build };
    return build;
  };
  const build = () => {
    // A folder that is being written just now is read again with the next request.
    loading ??= load()
      .catch(() => null)
      .finally(() => (loading = null));
    return loading;
  };
  return {
    build,
    read: async (name, encoding) => {
      const asset = (known?.build ?? (await build()))?.files.get(name) ?? (await build())?.files.get(name);
      if (asset === undefined) return null;
      const isPacked =
        encoding !== null && PACKED_TYPES.has(extname(name)) && asset.bytes.length >= PACKED_BYTES_MIN;
      if (!isPacked) return { asset, bytes: asset.bytes, encoding: null };
      asset.packed[encoding] ??= packed(asset.bytes, encoding);
      return { asset, bytes: await asset.packed[encoding], encoding };
    },
  };
}

const brotli = promisify(brotliCompress);
const zip = promisify(gzip);

/** Once for each file, so it may take its time. */
function packed(bytes: Buffer, encoding: "br" | "gzip"): Promise<Buffer> {
  if (encoding === "gzip") return zip(bytes, { level: 9 });
  return brotli(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } });
}

type Chunk = {
  file: string;
  isEntry?: boolean;
  css?: string[];
  imports?: string[];
  /** Asked for by the script itself, when it needs them. */
  dynamicImports?: string[];
};
type Manifest = Record<string, Chunk>;

/** Where the part of a page lies that is loaded when it is opened. */
const PAGE_KEY = /^pages\/(?<name>[a-z-]+)\.tsx$/;

/** What the build says its beginning needs, and each page: scripts that are imported at once are asked for at once. */
function entryOf(manifest: Manifest): Pick<Build, "entry" | "pages"> {
  const first = Object.keys(manifest).find((key) => manifest[key]?.isEntry === true);
  if (first === undefined) throw new Error("the dashboard build has no entry script");
  // The beginning waits for the first frame and then asks for the rest: that is known now, and fetched meanwhile.
  const begun = new Set(
    [first, ...(manifest[first]?.dynamicImports ?? [])].flatMap((key) => [...reachedFrom(manifest, key)]),
  );
  const pages = new Map<string, Pick<Entry, "styles" | "preloads">>();
  for (const key of Object.keys(manifest)) {
    const name = PAGE_KEY.exec(key)?.groups?.["name"];
    if (name === undefined) continue;
    const more = [...reachedFrom(manifest, key)].filter((one) => !begun.has(one));
    pages.set(name, { styles: stylesOf(manifest, more), preloads: filesOf(manifest, more) });
  }
  const [script = "", ...preloads] = filesOf(manifest, [...begun]);
  return { entry: { script, styles: stylesOf(manifest, [...begun]), preloads }, pages };
}

/** A part of the build and everything that it imports at once, itself first. */
function reachedFrom(manifest: Manifest, first: string): Set<string> {
  const reached = new Set<string>();
  const walk = (key: string): void => {
    if (reached.has(key)) return;
    reached.add(key);
    manifest[key]?.imports?.forEach(walk);
  };
  walk(first);
  return reached;
}

function filesOf(manifest: Manifest, keys: readonly string[]): string[] {
  return keys.flatMap((key) => manifest[key] ?? []).map(({ file }) => nameOf(file));
}

function stylesOf(manifest: Manifest, keys: readonly string[]): string[] {
  return [...new Set(keys.flatMap((key) => manifest[key]?.css ?? []).map(nameOf))];
}

function nameOf(file: string): string {
  return file.replace(/^assets\//, "");
}

async function readFiles(folder: string): Promise<Map<string, Asset>> {
  const files = new Map<string, Asset>();
  let total = 0;
  for (const name of await readdir(folder)) {
    const bytes = await readFile(join(folder, name));
    total += bytes.length;
    if (total > BUILD_BYTES_MAX) throw new Error("the dashboard build is too large");
    files.set(name, { type: TYPES[extname(name)] ?? "application/octet-stream", bytes, packed: {} });
  }
  return files;
}
