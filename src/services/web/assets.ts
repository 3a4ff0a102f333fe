// The built browser files: kept in memory, compressed once, and named by content hash, so that browsers can cache them
// forever; only icons and the service worker have fixed names. A new build is picked up without a restart.
import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";

export type Asset = { type: string; bytes: Buffer; packed: Partial<Record<"br" | "gzip", Promise<Buffer>>> };

/** The files that a page has to load, by the names under which they are served. */
export type Entry = { script: string; styles: string[]; preloads: string[] };

export type Build = {
  /** Loaded by every page. */
  entry: Entry;
  /** Additional files by page name: preloading them saves a round trip. */
  pages: ReadonlyMap<string, Pick<Entry, "styles" | "preloads">>;
  files: ReadonlyMap<string, Asset>;
};

export type Assets = {
  /** The current build; null: there is none. */
  build(): Promise<Build | null>;
  /** A file of the build in an encoding; null: there is no such file. */
  read(
    name: string,
    encoding: "br" | "gzip" | null,
  ): Promise<{ asset: Asset; bytes: Buffer; encoding: string | null } | null>;
};

/** Total size of all files; our build is far smaller. */
const BUILD_BYTES_MAX = 64 * 1024 * 1024;
/** Smaller files gain nothing, and fonts and images are already compressed. */
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
    // A folder that is being written is read again with the next request.
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

/** Once per file, so it may take longer. */
function packed(bytes: Buffer, encoding: "br" | "gzip"): Promise<Buffer> {
  if (encoding === "gzip") return zip(bytes, { level: 9 });
  return brotli(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } });
}

type Chunk = {
  file: string;
  isEntry?: boolean;
  css?: string[];
  imports?: string[];
  /** Requested by the script itself, when needed. */
  dynamicImports?: string[];
};
type Manifest = Record<string, Chunk>;

/** The source path of a page's chunk, which is loaded when the page is opened. */
const PAGE_KEY = /^pages\/(?<name>[a-z-]+)\.tsx$/;

/** The files that the build lists for its entry and for each page: statically imported scripts are preloaded. */
function entryOf(manifest: Manifest): Pick<Build, "entry" | "pages"> {
  const first = "main.tsx";
  if (manifest[first]?.isEntry !== true) throw new Error("the dashboard build has no entry script");
  // The entry loads the rest after the first frame; these files are known now, so they are preloaded.
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

/** A part of the build and all its static imports, itself first. */
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
