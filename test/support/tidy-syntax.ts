// Parses TypeScript for the tidy rules with the parser of the test runner: the TypeScript 7 package has no stable API.
import { parseAst } from "vitest/node";
import { lineAt, type SourceFile } from "./tidy-tree.ts";

export type SyntaxNode = { type: string; start: number; end: number; [field: string]: unknown };

/** Called for every node before its children, with the node it hangs on and the field it hangs in. */
export type Visit = (node: SyntaxNode, parent: SyntaxNode | null, field: string) => void;

type ImportForm = "static" | "type" | "re-export" | "dynamic" | "worker";

/** `specifier` is null when it is not a plain string. `names` are the exports that are imported by name. */
export type ImportUse = { specifier: string | null; line: number; form: ImportForm; names: string[] };

type Visited = { node: SyntaxNode; parent: SyntaxNode | null; field: string };

/** Each file is read and laid out flat once, however many rules ask. */
const laidOut = new WeakMap<SourceFile, readonly Visited[]>();

/** Calls `visit` for every node of a file, from the outside in. Throws when the file does not parse. */
export function walk(file: SourceFile, visit: Visit): void {
  let nodes = laidOut.get(file);
  if (nodes === undefined) {
    nodes = layOut(parse(file));
    laidOut.set(file, nodes);
  }
  for (const { node, parent, field } of nodes) visit(node, parent, field);
}

function parse(file: SourceFile): unknown {
  try {
    return parseAst(file.text, { lang: file.path.endsWith("x") ? "tsx" : "ts" });
  } catch (error) {
    throw new Error(`${file.path} does not parse`, { cause: error });
  }
}

function layOut(root: unknown): Visited[] {
  const nodes: Visited[] = [];
  const step = (node: SyntaxNode, parent: SyntaxNode | null, field: string): void => {
    nodes.push({ node, parent, field });
    for (const [name, value] of Object.entries(node)) {
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) step(child, node, name);
    }
  };
  if (isNode(root)) step(root, null, "");
  return nodes;
}

function isNode(value: unknown): value is SyntaxNode {
  return (
    typeof value === "object" && value !== null && typeof (value as { type?: unknown }).type === "string"
  );
}

/** The child in a field, when it is a node of the wanted type. */
export function childOf(node: SyntaxNode, field: string, type?: string): SyntaxNode | null {
  const child = node[field];
  return isNode(child) && (type === undefined || child.type === type) ? child : null;
}

export function childrenOf(node: SyntaxNode, field: string): SyntaxNode[] {
  const children = node[field];
  return Array.isArray(children) ? children.filter(isNode) : [];
}

/** The name of an identifier, or null. */
export function nameOf(node: SyntaxNode | null): string | null {
  return node?.type === "Identifier" && typeof node["name"] === "string" ? node["name"] : null;
}

/** The text of a string literal, or of a template without holes; null for anything else. */
function stringOf(node: SyntaxNode | null): string | null {
  if (node?.type === "Literal" && typeof node["value"] === "string") return node["value"];
  if (node?.type !== "TemplateLiteral" || childrenOf(node, "expressions").length > 0) return null;
  return templateText(node);
}

/** `a.b` and `a["b"]` alike: the name behind the dot, or null when it is computed. */
export function propertyOf(member: SyntaxNode): string | null {
  const property = childOf(member, "property");
  return member["computed"] === true ? stringOf(property) : nameOf(property);
}

/** Whether an identifier stands for a value that has to be looked up, not for a key, a label or a type. */
export function isReference(node: SyntaxNode, parent: SyntaxNode | null, field: string): boolean {
  if (node.type !== "Identifier" || parent === null) return false;
  if (field === "property" && parent.type === "MemberExpression") return parent["computed"] === true;
  if (field === "key") return parent["computed"] === true;
  if (field === "label" || field === "imported" || field === "exported") return false;
  return !["TSTypeReference", "TSQualifiedName", "TSTypeQuery", "TSInterfaceHeritage"].includes(parent.type);
}

/** Everything a file loads or names from another file or package, in the order it is written. */
export function importsOf(file: SourceFile): ImportUse[] {
  const uses: ImportUse[] = [];
  walk(file, (node) => {
    const use = importUse(node);
    if (use === null) return;
    const names = childrenOf(node, "specifiers").flatMap((one) => nameOf(childOf(one, "imported")) ?? []);
    uses.push({ ...use, names, line: lineAt(file.text, node.start) });
  });
  return uses;
}

function importUse(node: SyntaxNode): Omit<ImportUse, "line" | "names"> | null {
  const specifier = stringOf(childOf(node, "source"));
  switch (node.type) {
    case "ImportDeclaration":
      return { specifier, form: node["importKind"] === "type" ? "type" : "static" };
    case "ExportAllDeclaration":
      return { specifier, form: "re-export" };
    case "ExportNamedDeclaration":
      return childOf(node, "source") === null ? null : { specifier, form: "re-export" };
    case "TSImportType":
      return { specifier, form: "type" };
    case "ImportExpression":
      return { specifier, form: "dynamic" };
    case "CallExpression":
      return nameOf(childOf(node, "callee")) === "require" ? { specifier: null, form: "dynamic" } : null;
    case "NewExpression":
      return workerUse(node);
    default:
      return null;
  }
}

/** `new URL("./x.ts", import.meta.url)` is how a worker thread is named; it loads as an import does. */
function workerUse(node: SyntaxNode): Omit<ImportUse, "line" | "names"> | null {
  if (nameOf(childOf(node, "callee")) !== "URL") return null;
  const [path, base] = childrenOf(node, "arguments");
  if (base?.type !== "MemberExpression" || childOf(base, "object")?.type !== "MetaProperty") return null;
  const specifier = stringOf(path ?? null);
  return specifier !== null && /\.[cm]?[jt]sx?$/.test(specifier) ? { specifier, form: "worker" } : null;
}

/** Every string and template in a file; a hole in a template reads as `?`. */
export function stringsOf(file: SourceFile): { text: string; line: number }[] {
  const strings: { text: string; line: number }[] = [];
  walk(file, (node) => {
    const text = node.type === "TemplateLiteral" ? templateText(node) : stringOf(node);
    if (text !== null) strings.push({ text, line: lineAt(file.text, node.start) });
  });
  return strings;
}

function templateText(node: SyntaxNode): string {
  const quasis = childrenOf(node, "quasis").map(
    (quasi) => (quasi["value"] as { cooked?: string }).cooked ?? "",
  );
  return quasis.join("?");
}
