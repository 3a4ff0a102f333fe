// Tidy rules about words in any text file: no note to come back later, no path of somebody's machine, no
// address of a package registry. The words are put together here so that this file does not contain them.
import type { Finding, SourceFile, Tree, Verdict } from "./tidy-tree.ts";

const LATER = [
  ["TO", "DO"],
  ["FIX", "ME"],
  ["X", "XX"],
]
  .map((halves) => halves.join(""))
  .join("|");

/** Home folders and workplaces: an absolute path to one of them works on one machine only. */
const MACHINE_PATH = new RegExp(`(?<![\\w.~-])/(${["work", "root", "home", "Users"].join("|")})/`);

const REGISTRY_HOSTS = [
  ["registry", "npmjs", "org"],
  ["registry", "yarnpkg", "com"],
  ["deb", "debian", "org"],
  ["pypi", "org"],
  ["pythonhosted", "org"],
  ["static", "crates", "io"],
  ["index", "crates", "io"],
  ["proxy", "golang", "org"],
  ["repo", "maven", "apache", "org"],
  ["repo1", "maven", "org"],
].map((labels) => labels.join("."));

/** What is unfinished is not in the main branch; in prose the word alone may be spoken of. */
export function checkNoNotes(tree: Tree): Verdict {
  const files = textFiles(tree);
  const findings = files.flatMap((file) => {
    const isProse = file.path.endsWith(".md");
    const note = new RegExp(`\\b(${LATER})${isProse ? ":" : "\\b"}`);
    return linesWith(file, note, "leaves a note for later; finish it, or write an issue");
  });
  return { looked: files.length, findings };
}

/** The repository is the same wherever it is cloned. */
export function checkMachinePaths(tree: Tree): Verdict {
  const files = textFiles(tree);
  const text = "names a path of one machine; use a path from the root of the repository";
  return { looked: files.length, findings: files.flatMap((file) => linesWith(file, MACHINE_PATH, text)) };
}

/** Packages are asked for by name; where they come from is a setting of the machine. */
export function checkRegistryHosts(tree: Tree): Verdict {
  const files = [
    ...textFiles(tree),
    ...[...tree.files.values()].filter(({ path }) => path === "package-lock.json"),
  ];
  const host = new RegExp(REGISTRY_HOSTS.map((name) => name.replaceAll(".", "\\.")).join("|"));
  const text = "names the address of a package registry";
  return { looked: files.length, findings: files.flatMap((file) => linesWith(file, host, text)) };
}

/** The lock file is npm's, and the vectors are data. */
function textFiles(tree: Tree): SourceFile[] {
  return [...tree.files.values()].filter(
    ({ path }) => path !== "package-lock.json" && !path.startsWith("test/vectors/"),
  );
}

function linesWith(file: SourceFile, wanted: RegExp, text: string): Finding[] {
  return file.text.split("\n").flatMap((line, index) => {
    return wanted.test(line) ? [{ path: file.path, line: index + 1, text }] : [];
  });
}
