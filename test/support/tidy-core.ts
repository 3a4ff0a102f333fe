// The tidy rule for src/core: no clock, no chance, no input or output, and nothing that depends on the zone
// or language of the machine. (That core imports nothing is said by the import rule.)
import {
  childOf,
  childrenOf,
  isReference,
  nameOf,
  propertyOf,
  type SyntaxNode,
  walk,
} from "./tidy-syntax.ts";
import { type Finding, lineAt, type SourceFile, type Tree, type Verdict } from "./tidy-tree.ts";

const CLOCK = "reads a clock; time is an argument";
const OUTSIDE = "reaches outside; the rules only compute";
const CHANCE = "depends on chance; what is random is handed in";
const MACHINE = "depends on the zone or language of the machine";

/** Globals that core must not mention, with the reason. */
const FORBIDDEN_GLOBALS = new Map<string, string>([
  ["performance", CLOCK],
  ["setTimeout", CLOCK],
  ["setInterval", CLOCK],
  ["setImmediate", CLOCK],
  ["queueMicrotask", CLOCK],
  ["crypto", CHANCE],
  ["console", OUTSIDE],
  ["fetch", OUTSIDE],
  ["process", OUTSIDE],
  ["globalThis", OUTSIDE],
  ["global", OUTSIDE],
  ["navigator", OUTSIDE],
  ["WebSocket", OUTSIDE],
  ["Worker", OUTSIDE],
  ["eval", OUTSIDE],
  ["Function", OUTSIDE],
]);

/** Members of a global, as `object.property`. */
const FORBIDDEN_MEMBERS = new Map<string, string>([
  ["Date.now", CLOCK],
  ["Temporal.Now", CLOCK],
  ["Math.random", CHANCE],
]);

/** Methods whose answer depends on the machine however they are called. */
const LOCAL_METHODS =
  /^((get|set)(FullYear|Month|Date|Day|Hours|Minutes|Seconds|Milliseconds)|getTimezoneOffset|toLocale(Date|Time)String|toDateString|toTimeString)$/;

/** Methods that fall back to the machine's language when they are not told one: name and arguments needed. */
const LOCALE_ARGUMENTS = new Map([
  ["toLocaleString", 1],
  ["toLocaleLowerCase", 1],
  ["toLocaleUpperCase", 1],
  ["localeCompare", 2],
]);

/** Core computes: the same arguments give the same answer, on every machine, at every time. */
export function checkCorePurity(tree: Tree): Verdict {
  const files = [...tree.files.values()].filter(
    ({ path }) => /^src\/core\/.*\.ts$/.test(path) && !path.endsWith(".test.ts"),
  );
  return { looked: files.length, findings: files.flatMap(impurities) };
}

function impurities(file: SourceFile): Finding[] {
  const findings: Finding[] = [];
  walk(file, (node, parent, field) => {
    const complaint = judgeNode(node, parent, field);
    if (complaint !== null)
      findings.push({ path: file.path, line: lineAt(file.text, node.start), text: complaint });
  });
  return findings;
}

function judgeNode(node: SyntaxNode, parent: SyntaxNode | null, field: string): string | null {
  switch (node.type) {
    case "Identifier":
      return isReference(node, parent, field) ? judgeGlobal(node, parent, field) : null;
    case "MemberExpression":
      return judgeMember(node);
    case "CallExpression":
      return judgeCall(node);
    case "NewExpression":
      return judgeNew(node);
    default:
      return null;
  }
}

function judgeGlobal(node: SyntaxNode, parent: SyntaxNode | null, field: string): string | null {
  const name = nameOf(node) ?? "";
  const reason = FORBIDDEN_GLOBALS.get(name);
  if (reason !== undefined) return `mentions ${name}: ${reason}`;
  if (name !== "Date" && name !== "Math") return null;
  // As long as these two are only asked for members, called or constructed, the other checks see them.
  const isSeen =
    (parent?.type === "MemberExpression" && field === "object") ||
    field === "callee" ||
    (parent?.type === "BinaryExpression" && parent["operator"] === "instanceof");
  return isSeen ? null : `takes hold of ${name} as a whole: ${name === "Date" ? CLOCK : CHANCE}`;
}

function judgeMember(node: SyntaxNode): string | null {
  const object = nameOf(childOf(node, "object"));
  const property = propertyOf(node);
  const path = `${object}.${property}`;
  const reason = FORBIDDEN_MEMBERS.get(path);
  if (reason !== undefined) return `uses ${path}: ${reason}`;
  if ((object === "Date" || object === "Math") && property === null) {
    return `asks ${object} for a member whose name cannot be read: ${object === "Date" ? CLOCK : CHANCE}`;
  }
  return property !== null && LOCAL_METHODS.test(property) ? `uses ${property}: ${MACHINE}` : null;
}

function judgeCall(node: SyntaxNode): string | null {
  const callee = childOf(node, "callee");
  if (nameOf(callee) === "Date") return `calls Date as a function: ${CLOCK}`;
  if (callee?.type !== "MemberExpression") return null;
  const name = propertyOf(callee) ?? "";
  const given = childrenOf(node, "arguments").length;
  if (given === 0 && (name === "format" || name === "formatToParts")) {
    return `calls ${name}() without an instant: ${CLOCK}`;
  }
  if (given < (LOCALE_ARGUMENTS.get(name) ?? 0)) return `calls ${name} without a language: ${MACHINE}`;
  return isDateTimeFormat(callee) ? judgeDateTimeFormat(node) : null;
}

function judgeNew(node: SyntaxNode): string | null {
  const callee = childOf(node, "callee");
  if (callee?.type === "MemberExpression" && isDateTimeFormat(callee)) return judgeDateTimeFormat(node);
  if (nameOf(callee) !== "Date") return null;
  const given = childrenOf(node, "arguments");
  if (given.length === 0 || given[0]?.type === "SpreadElement")
    return `makes a Date of no argument: ${CLOCK}`;
  return given.length > 1 ? `makes a Date of several numbers: ${MACHINE}` : null;
}

function isDateTimeFormat(callee: SyntaxNode): boolean {
  return nameOf(childOf(callee, "object")) === "Intl" && propertyOf(callee) === "DateTimeFormat";
}

/** Without a language or a `timeZone` the formatter takes the machine's. */
function judgeDateTimeFormat(node: SyntaxNode): string | null {
  const [language, options] = childrenOf(node, "arguments");
  if (language === undefined || options === undefined || nameOf(language) === "undefined") {
    return `makes a DateTimeFormat without language and zone: ${MACHINE}`;
  }
  if (options.type !== "ObjectExpression") return null;
  const entries = childrenOf(options, "properties");
  const hasZone = entries.some(
    (entry) => entry.type === "SpreadElement" || nameOf(childOf(entry, "key")) === "timeZone",
  );
  return hasZone ? null : `makes a DateTimeFormat without a zone: ${MACHINE}`;
}
