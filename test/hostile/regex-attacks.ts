// Texts that make a regular expression slow if anything does: built from the expression itself, so that a new one is
// covered without being listed.
import { type AST, RegExpParser, visitRegExpAST } from "@eslint-community/regexpp";

/** How many different ways of choosing letters and alternatives are tried. */
const VARIANTS = 4;
/** Letters that a class is asked for, after those that the expression names itself. */
const LETTERS = ` a0-_/:.=<>"'\\\n\t\r,;?@#[({&%$ZÀ\u0100`;
/** What ends a run so that the whole does not match. */
const BREAKERS = ["", "\n!", "\u0000"];

export type Attack = { head: string; pump: string; tail: string };

export function textOf({ head, pump, tail }: Attack, length: number): string {
  return head + pump.repeat(Math.ceil(Math.max(0, length - head.length) / pump.length)) + tail;
}

/** Attacks on each part of an expression that repeats without a bound; none when no part does. */
export function attacksOn({ source, flags }: Pick<RegExp, "source" | "flags">): Attack[] {
  const isUnicode = flags.includes("u");
  const pattern = new RegExpParser().parsePattern(source, 0, source.length, {
    unicode: isUnicode,
    unicodeSets: flags.includes("v"),
  });
  const endless: AST.Quantifier[] = [];
  const named = new Set<string>();
  visitRegExpAST(pattern, {
    onQuantifierEnter: (node) => void (node.max === Infinity && endless.push(node)),
    onCharacterEnter: (node) => void named.add(String.fromCodePoint(node.value)),
  });
  const letters = [...named, ...Array.from(LETTERS)];
  const found = new Map<string, Attack>();
  const add = (attack: Attack) => {
    if (attack.pump !== "") found.set(JSON.stringify(attack), attack);
  };
  for (let variant = 0; variant < VARIANTS; variant += 1) {
    const write = writer({ letters, flags: isUnicode ? "iu" : "i", variant });
    for (const quantifier of endless) {
      const head = before(quantifier, write);
      const once = write(quantifier.element);
      for (const tail of BREAKERS) {
        add({ head, pump: once, tail });
        add({ head: "", pump: head + once, tail });
        add({ head: "", pump: head, tail });
        add({ head: "", pump: write(quantifier.element) + after(quantifier, write), tail });
        add({ head, pump: once + after(quantifier, write), tail });
      }
    }
  }
  return [...found.values()];
}

type Write = (node: AST.Element | AST.Alternative) => string;

function writer(options: { letters: readonly string[]; flags: string; variant: number }): Write {
  const { letters, flags, variant } = options;
  const cache = new Map<string, string>();
  const letterOf = (raw: string) => {
    const known = cache.get(raw);
    if (known !== undefined) return known;
    const one = new RegExp(`^(?:${raw})$`, flags.replace("i", "s"));
    const fitting = letters.filter((letter) => one.test(letter));
    const letter = fitting[variant % Math.max(1, fitting.length)] ?? "";
    cache.set(raw, letter);
    return letter;
  };
  const write: Write = (node) => {
    switch (node.type) {
      case "Alternative":
        return node.elements.map(write).join("");
      case "Group":
      case "CapturingGroup": {
        const chosen = node.alternatives[variant % node.alternatives.length];
        return chosen === undefined ? "" : write(chosen);
      }
      case "Character":
        return String.fromCodePoint(node.value);
      case "CharacterClass":
      case "CharacterSet":
        return letterOf(node.raw);
      case "Quantifier":
        return write(node.element).repeat(Math.max(node.min, variant % 2));
      case "Backreference": {
        const { resolved } = node;
        const [group] = Array.isArray(resolved) ? resolved : [resolved];
        return group === undefined ? "" : write(group);
      }
      case "Assertion":
      case "ExpressionCharacterClass":
        return "";
    }
  };
  return write;
}

/** A text for what stands in front of a part, from the beginning of the expression. */
function before(node: AST.Node, write: Write): string {
  return beside(node, write, (elements, at) => elements.slice(0, at));
}

/** A text for what stands behind a part within its own alternative. */
function after(node: AST.Quantifier, write: Write): string {
  const { parent } = node;
  if (parent.type !== "Alternative") return "";
  return parent.elements
    .slice(parent.elements.indexOf(node) + 1)
    .map(write)
    .join("");
}

function beside(
  node: AST.Node,
  write: Write,
  chosen: (elements: readonly AST.Element[], at: number) => readonly AST.Element[],
): string {
  const { parent } = node;
  if (parent === null) return "";
  const outer = beside(parent, write, chosen);
  if (parent.type !== "Alternative") return outer;
  return (
    outer +
    chosen(parent.elements, parent.elements.indexOf(node as AST.Element))
      .map(write)
      .join("")
  );
}
