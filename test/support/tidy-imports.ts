// Holds every import of src and web against the table in import-rule.ts, and looks for cycles. Type imports count
// too: whoever knows a type knows the room it comes from. What cannot be read is reported, not skipped.
import { posix } from "node:path";
import { DOORS, NETWORK_MODULES, type Room, ROOMS, roomOf, TEST_PACKAGES } from "./import-rule.ts";
import { type ImportForm, type ImportUse, importsOf } from "./tidy-syntax.ts";
import type { Finding, SourceFile, Tree, Verdict } from "./tidy-tree.ts";

type Edge = { from: string; to: string; line: number };

/** Where an import leads: a file of the repository, a package, a part of node:, or nowhere we can tell. */
type Target =
  | { kind: "file"; path: string }
  | { kind: "package"; name: string }
  | { kind: "node"; name: string }
  | { kind: "unknown"; why: string };

/** Every import of src and web obeys the table. */
export function checkImports(tree: Tree): Verdict {
  const sources = sourceFiles(tree);
  const findings: Finding[] = [];
  for (const file of sources) {
    const room = roomOf(file.path);
    if (room === undefined) {
      const rooms = ROOMS.map(({ name }) => name).join(", ");
      findings.push({ path: file.path, line: 1, text: `stands in no room; the rooms are ${rooms}` });
      continue;
    }
    for (const use of importsOf(file)) {
      const complaint = judgeImport({ tree, file, room, use });
      if (complaint !== null) findings.push({ path: file.path, line: use.line, text: complaint });
    }
  }
  return { looked: sources.length, findings: [...findings, ...staleEntries(tree)] };
}

/** No file of src leads back to itself, however long the way round. */
export function checkCycles(tree: Tree): Verdict {
  const sources = sourceFiles(tree);
  const edges = new Map(sources.map((file) => [file.path, edgesOf(tree, file)]));
  const findings: Finding[] = [];
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    for (const edge of edges.get(path) ?? []) {
      const seenAt = trail.indexOf(edge.to);
      if (seenAt !== -1) {
        const circle = [...trail.slice(seenAt), edge.to].join(" → ");
        findings.push({ path, line: edge.line, text: `closes a circle of imports: ${circle}` });
      } else if (!done.has(edge.to)) visit(edge.to, [...trail, edge.to]);
    }
    done.add(path);
  };
  for (const { path } of sources) if (!done.has(path)) visit(path, [path]);
  return { looked: sources.length, findings };
}

function sourceFiles(tree: Tree): SourceFile[] {
  return [...tree.files.values()].filter(({ path }) => /^(src|web)\/.*\.[cm]?[jt]sx?$/.test(path));
}

function edgesOf(tree: Tree, file: SourceFile): Edge[] {
  return importsOf(file).flatMap((use) => {
    const target = targetOf(tree, file, use);
    return target.kind === "file" ? [{ from: file.path, to: target.path, line: use.line }] : [];
  });
}

function judgeImport(at: { tree: Tree; file: SourceFile; room: Room; use: ImportUse }): string | null {
  const { tree, file, room, use } = at;
  const isTest = file.path.endsWith(".test.ts");
  const target = targetOf(tree, file, use);
  switch (target.kind) {
    case "unknown":
      return target.why;
    case "node":
      return isTest || mayUseNode(room, target.name) ? null : refusal(room, `node:${target.name}`);
    case "package":
      if (room.packages.includes(target.name) || (isTest && TEST_PACKAGES.includes(target.name))) return null;
      return refusal(room, `the package ${target.name}`);
    case "file":
      return judgeFile({ room, to: target.path, from: file.path, form: use.form });
  }
}

function judgeFile(at: { room: Room; from: string; to: string; form: ImportForm }): string | null {
  const { room, from, to, form } = at;
  if (to.endsWith(".test.ts")) return `imports the test ${to}; what two tests share is a file of its own`;
  const door = DOORS.find(({ path }) => path === to);
  const besideIt = from === to.replace(/\.ts$/, ".test.ts");
  if (door !== undefined && !besideIt) {
    const isOpen =
      door.openTo.includes(room.name) || (form === "type" && door.typesOpenTo.includes(room.name));
    const open = door.openTo.length === 0 ? "nobody" : door.openTo.join(", ");
    if (!isOpen) return `${room.name} imports ${to}, which is open to ${open}. ${door.why}`;
  }
  const target = roomOf(to);
  if (target === undefined) return refusal(room, `${to}, which is no room`);
  const isOwn = target === room && serviceOf(from) === serviceOf(to);
  return isOwn || (target !== room && room.rooms.includes(target.name)) ? null : refusal(room, to);
}

/** Two services share a row of the table but not a room. */
function serviceOf(path: string): string | undefined {
  return /^src\/services\/([^/]+)\//.exec(path)?.[1];
}

function refusal(room: Room, what: string): string {
  return `${room.name} may not import ${what}. ${room.why}`;
}

function mayUseNode(room: Room, name: string): boolean {
  if (room.node === "none") return false;
  return room.node === "all" || !NETWORK_MODULES.includes(name);
}

function targetOf(tree: Tree, file: SourceFile, { specifier, form }: ImportUse): Target {
  if (specifier === null) {
    return { kind: "unknown", why: `loads something by a name that cannot be read off the source (${form})` };
  }
  if (specifier === "node:module" || specifier === "module") {
    return { kind: "unknown", why: "imports node:module, through which anything could be loaded unseen" };
  }
  if (specifier.startsWith("node:")) return { kind: "node", name: specifier.slice("node:".length) };
  if (!/^\.{1,2}\//.test(specifier)) {
    return /^(@[\w.-]+\/)?[\w.-]+(\/|$)/.test(specifier)
      ? { kind: "package", name: packageName(specifier) }
      : { kind: "unknown", why: `imports "${specifier}", which is neither a relative path nor a package` };
  }
  const path = posix.join(posix.dirname(file.path), specifier);
  if (tree.files.has(path)) return { kind: "file", path };
  return { kind: "unknown", why: `imports ${path}, which does not exist` };
}

function packageName(specifier: string): string {
  const parts = specifier.split("/");
  return parts.slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}

/** A row that names a room or package which is not there would be read as a promise. */
function staleEntries(tree: Tree): Finding[] {
  const manifest = tree.files.get("package.json");
  const { dependencies = {}, devDependencies = {} } = JSON.parse(manifest?.text ?? "{}") as {
    dependencies?: Record<string, string>;
    devDependencies?: Record<string, string>;
  };
  // What is built for the browser is needed for building only.
  const installed = { ...dependencies, ...devDependencies };
  const names = new Set(ROOMS.map(({ name }) => name));
  return ROOMS.flatMap((room) => {
    const rooms = room.rooms.filter((name) => !names.has(name));
    const packages = room.packages.filter((name) => !(name in installed));
    return [...rooms, ...packages].map((name) => ({
      path: "test/support/import-rule.ts",
      line: 1,
      text: `${room.name} may import ${name}, which is no room and no dependency in package.json`,
    }));
  });
}
