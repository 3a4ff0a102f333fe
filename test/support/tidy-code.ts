// Tidy rules about code: readable size, names, head comments, exports, where the environment is read, and
// what the rules in core must not touch. Each takes the tree and returns what is wrong with it.
import { posix } from "node:path";
import {
  childOf,
  functionsOf,
  importsOf,
  isReference,
  nameOf,
  propertyOf,
  type SyntaxNode,
  walk,
} from "./tidy-syntax.ts";
import { countLines, type Finding, lineAt, type SourceFile, type Tree, type Verdict } from "./tidy-tree.ts";

const FUNCTION_LINES_MAX = 60;
const FILE_LINES_MAX = 300;
const TEST_FILE_LINES_MAX = 600;
const FOLDER_ENTRIES_MAX = 15;
const HEAD_COMMENT_LINES_MAX = 4;
const HEAD_COMMENT_CHARACTERS_MIN = 30;

const ROOT_FILES = /^[^/]+\.ts$/;

/** The TypeScript of the project: the product, its tests, its benchmarks and its scripts. */
function codeFiles(tree: Tree): SourceFile[] {
  return [...tree.files.values()].filter(
    ({ path }) => /^(src|web|test|bench|scripts)\/.*\.tsx?$/.test(path) || ROOT_FILES.test(path),
  );
}

function productFiles(tree: Tree): SourceFile[] {
  return codeFiles(tree).filter(({ path }) => isProduct(path) && !path.endsWith(".config.ts"));
}

function isProduct(path: string): boolean {
  return /^(src|web)\//.test(path) && !path.endsWith(".test.ts");
}

/** A function fits on a screen. Only the suite around tests is a container and may be longer. */
export function checkFunctionLength(tree: Tree): Verdict {
  const files = codeFiles(tree);
  const findings = files.flatMap((file) =>
    functionsOf(file)
      .filter((use) => !use.isSuite && use.lineCount > FUNCTION_LINES_MAX)
      .map((use) => ({
        path: file.path,
        line: use.line,
        text: `${use.name} has ${use.lineCount} lines; a function has at most ${FUNCTION_LINES_MAX}`,
      })),
  );
  return { looked: files.length, findings };
}

/** A file has one subject and a size that can be read in one go. */
export function checkFileLength(tree: Tree): Verdict {
  const files = codeFiles(tree);
  const exempt = new Set(tree.exemptions.longFiles.map(({ path }) => path));
  const findings: Finding[] = [];
  for (const { path, text } of files) {
    const most = isProduct(path) ? FILE_LINES_MAX : TEST_FILE_LINES_MAX;
    const lineCount = countLines(text);
    if (lineCount > most && !exempt.delete(path)) {
      findings.push({
        path,
        line: most + 1,
        text: `has ${lineCount} lines; a file of its kind has at most ${most}`,
      });
    }
  }
  return { looked: files.length, findings: [...findings, ...stale(exempt, "a long file")] };
}

/** A folder of src or web can be taken in at a glance. Unit tests stand beside their source and do not count. */
export function checkFolderSize(tree: Tree): Verdict {
  const folders = new Map<string, Set<string>>();
  for (const path of tree.files.keys()) {
    if (!isProduct(path)) continue;
    for (let entry = path; entry.includes("/"); entry = posix.dirname(entry)) {
      const folder = posix.dirname(entry);
      folders.set(folder, (folders.get(folder) ?? new Set()).add(entry));
    }
  }
  const exempt = new Set(tree.exemptions.fullFolders.map(({ path }) => path));
  const findings: Finding[] = [];
  for (const [path, entries] of folders) {
    // One file per kind of channel: a long list, but every entry is the same thing.
    if (entries.size <= FOLDER_ENTRIES_MAX || path === "src/channels/kinds" || exempt.delete(path)) continue;
    findings.push({
      path,
      line: 0,
      text: `has ${entries.size} entries; a folder has at most ${FOLDER_ENTRIES_MAX}`,
    });
  }
  return { looked: folders.size, findings: [...findings, ...stale(exempt, "a full folder")] };
}

const VAGUE_WORDS = new Set(["util", "utils", "helper", "helpers", "common", "misc"]);
const VAGUE_NAMES = new Set(["types", "base", "manager", "index"]);

/** Names say what is inside: kebab-case, no drawer for everything, no barrel. */
export function checkFileNames(tree: Tree): Verdict {
  const files = codeFiles(tree);
  const findings: Finding[] = [];
  for (const { path } of files) {
    for (const part of path.split("/")) {
      const name = part.replace(/((\.[a-z]+)?\.test|\.config)?\.tsx?$/, "");
      const complain = (text: string) => findings.push({ path, line: 0, text: `"${name}" ${text}` });
      if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) complain("is not in kebab-case");
      if (VAGUE_NAMES.has(name) || name.split("-").some((word) => VAGUE_WORDS.has(word))) {
        complain("says nothing about what is inside");
      }
    }
  }
  return { looked: files.length, findings };
}

/** Every file of code begins with what it is for. */
export function checkHeadComments(tree: Tree): Verdict {
  const sql = [...tree.files.values()].filter(({ path }) => /^migrations\/\d.*\.sql$/.test(path));
  const files = [...codeFiles(tree), ...sql];
  const findings = files.flatMap(({ path, text }) => {
    const complaint = judgeHead(text.replace(/^#!.*\n/, ""), path.endsWith(".sql") ? "--" : "//");
    return complaint === null ? [] : [{ path, line: 1, text: complaint }];
  });
  return { looked: files.length, findings };
}

function judgeHead(text: string, mark: string): string | null {
  const lines = text.split("\n");
  const end = lines.findIndex((line) => !line.startsWith(mark));
  const head = lines.slice(0, end === -1 ? lines.length : end);
  if (head.length === 0) return `does not begin with a head comment (${mark}) saying what it is for`;
  // A migration may explain itself at length; a source file that has to is two files.
  if (mark === "//" && head.length > HEAD_COMMENT_LINES_MAX) {
    return `has a head comment of ${head.length} lines; ${HEAD_COMMENT_LINES_MAX} are enough for one subject`;
  }
  const words = head.map((line) => line.slice(mark.length).trim()).join(" ");
  return words.length < HEAD_COMMENT_CHARACTERS_MIN ? "has a head comment that says nothing" : null;
}

/** A name is exported once, by the file it lives in. */
export function checkExports(tree: Tree): Verdict {
  const files = productFiles(tree);
  const findings = files.flatMap((file) => {
    const wrong: Finding[] = importsOf(file)
      .filter(({ form }) => form === "re-export")
      .map(({ line }) => ({
        path: file.path,
        line,
        text: "passes on another file's export, which hides the room it comes from",
      }));
    walk(file, (node) => {
      const renamed = node.type === "ExportSpecifier" && nameOf(childOf(node, "exported")) === "default";
      if (node.type !== "ExportDefaultDeclaration" && !renamed) return;
      const line = lineAt(file.text, node.start);
      wrong.push({ path: file.path, line, text: "has a default export; exports have names" });
    });
    return wrong;
  });
  return { looked: files.length, findings };
}

const ENVIRONMENT_HOME = "src/config.ts";

/** The environment is read in one file; everyone else is handed values. */
export function checkEnvironment(tree: Tree): Verdict {
  const files = codeFiles(tree).filter(({ path }) => path !== ENVIRONMENT_HOME);
  const exempt = new Set(tree.exemptions.environment.map(({ path }) => path));
  const findings = files.flatMap((file) => {
    const wrong = environmentReads(file);
    return wrong.length > 0 && exempt.delete(file.path) ? [] : wrong;
  });
  return { looked: files.length, findings: [...findings, ...stale(exempt, "a reader of the environment")] };
}

function environmentReads(file: SourceFile): Finding[] {
  const wrong: Finding[] = [];
  const complain = (node: SyntaxNode, text: string) =>
    wrong.push({ path: file.path, line: lineAt(file.text, node.start), text });
  walk(file, (node, parent, field) => {
    if (node.type === "MetaProperty" && parent?.type === "MemberExpression" && propertyOf(parent) === "env") {
      complain(node, `reads import.meta.env; only ${ENVIRONMENT_HOME} reads the environment`);
    }
    if (isProcess(node, parent, field)) {
      const name = parent?.type === "MemberExpression" && field === "object" ? propertyOf(parent) : null;
      if (name === "env" || name === "loadEnvFile") {
        complain(node, `reads process.${name}; only ${ENVIRONMENT_HOME} reads the environment`);
      } else if (name === null)
        complain(node, "takes hold of process as a whole, and with it of the environment");
    }
  });
  for (const { specifier, line } of importsOf(file)) {
    if (specifier !== "node:process" && specifier !== "process") continue;
    wrong.push({ path: file.path, line, text: "imports node:process; the global of that name is enough" });
  }
  return wrong;
}

/** `process` itself, or the same thing reached as `globalThis.process`. */
function isProcess(node: SyntaxNode, parent: SyntaxNode | null, field: string): boolean {
  if (node.type === "MemberExpression" && propertyOf(node) === "process") {
    return ["globalThis", "global"].includes(nameOf(childOf(node, "object")) ?? "");
  }
  return nameOf(node) === "process" && isReference(node, parent, field);
}

function stale(left: ReadonlySet<string>, what: string): Finding[] {
  return [...left].map((path) => ({
    path,
    line: 0,
    text: `is listed as ${what} in tidy-exemptions.ts, but is none`,
  }));
}
