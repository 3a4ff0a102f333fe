// Tidy rules about code: names, exports, where the environment is read, and what the rules in core must not touch. Each takes the tree and returns what is wrong with it.
import { childOf, importsOf, isReference, nameOf, propertyOf, type SyntaxNode, walk } from "./tidy-syntax.ts";
import { type Finding, lineAt, type SourceFile, type Tree, type Verdict } from "./tidy-tree.ts";

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
