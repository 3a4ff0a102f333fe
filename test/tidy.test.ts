// The repository about itself: every tidy rule holds for the real tree, and every rule is shown to fail when
// a violation is planted. A rule that looked at nothing is a failure too.
import { dirname, relative } from "node:path/posix";
import { describe, expect, test } from "vitest";
import { roomOf } from "./support/import-rule.ts";
import type { Exemptions } from "./support/tidy-exemptions.ts";
import { checkImports } from "./support/tidy-imports.ts";
import { SMALL_HOUSE } from "./support/tidy-house.ts";
import { PLANTS } from "./support/tidy-plants.ts";
import { RULES } from "./support/tidy-rules.ts";
import { formatFinding, judge, overlay, readTree, type Rule, treeOf } from "./support/tidy-tree.ts";

const real = readTree(`${import.meta.dirname}/..`);

const NO_EXEMPTIONS: Exemptions = {
  environment: [],
  installScripts: [],
  licences: [{ name: /^css$/, licence: "MPL-2.0", reason: "for planting" }],
};

const house = treeOf(SMALL_HOUSE, NO_EXEMPTIONS);

function ruleNamed(name: string): Rule {
  const rule = RULES.find((one) => one.name === name);
  if (rule === undefined) throw new Error(`no rule is called ${name}`);
  return rule;
}

const placesOf = (rule: Rule, tree: typeof real) =>
  judge(rule, tree)
    .map(({ path, line }) => `${path}:${line}`)
    .toSorted();

describe("In this repository", () => {
  test.each(RULES.map((rule) => [rule.promise, rule] as const))("%s", (_promise, rule) => {
    expect(judge(rule, real).map(formatFinding)).toEqual([]);
  });
});

describe("A rule", () => {
  test.each(RULES.map((rule) => [rule.name, rule] as const))(
    "that looked at nothing fails: %s",
    (name, rule) => {
      const empty = treeOf({}, { ...NO_EXEMPTIONS, licences: [] });
      expect(judge(rule, empty).map(({ text }) => text)).toContain(`the rule "${name}" looked at nothing`);
    },
  );

  test.each(RULES.map((rule) => [rule.name, rule] as const))(
    "holds for the small house: %s",
    (_name, rule) => {
      expect(judge(rule, house).map(formatFinding)).toEqual([]);
    },
  );

  test.each(RULES.map(({ name }) => name))("has a plant that it must catch: %s", (name) => {
    expect(PLANTS.some((plant) => plant.rule === name && plant.caught.length > 0)).toBe(true);
  });

  test.each(RULES.map((rule) => [rule.name, rule] as const))(
    "catches a plant in the real tree as well: %s",
    (name, rule) => {
      const before = new Set(judge(rule, real).map(formatFinding));
      const isCaught = PLANTS.some((plant) => {
        if (plant.rule !== name || plant.caught.length === 0) return false;
        return judge(rule, overlay(real, plant.files)).some((finding) => !before.has(formatFinding(finding)));
      });
      expect(isCaught).toBe(true);
    },
  );
});

describe("Planted in the small house", () => {
  test.each(PLANTS.filter(({ caught }) => caught.length > 0))("$rule catches $what", (plant) => {
    expect(placesOf(ruleNamed(plant.rule), overlay(house, plant.files))).toEqual(
      [...plant.caught].toSorted(),
    );
  });

  test.each(PLANTS.filter(({ caught }) => caught.length === 0))("$rule lets pass $what", (plant) => {
    expect(placesOf(ruleNamed(plant.rule), overlay(house, plant.files))).toEqual([]);
  });
});

describe("An exemption", () => {
  const reason = "for planting";
  const cases: [string, Partial<Exemptions>][] = [
    ["environment", { environment: [{ path: "src/core/check.ts", reason }] }],
    ["scripts", { installScripts: [{ path: "pg", reason }] }],
    ["licences", { licences: [...NO_EXEMPTIONS.licences, { name: /^pg$/, licence: "GPL-3.0", reason }] }],
  ];

  test.each(cases)("that nothing needs is reported: %s", (name, exemptions) => {
    const tree = { ...house, exemptions: { ...NO_EXEMPTIONS, ...exemptions } };
    expect(judge(ruleNamed(name), tree)).toHaveLength(1);
  });

  test("lets pass what it names, and only that", () => {
    const text = SMALL_HOUSE["src/config.ts"] ?? "";
    const tree = overlay(house, { "scripts/one.ts": text, "scripts/two.ts": text });
    const environment = [{ path: "scripts/one.ts", reason }];
    const exempted = { ...tree, exemptions: { ...NO_EXEMPTIONS, environment } };
    expect(placesOf(ruleNamed("environment"), exempted)).toEqual(["scripts/two.ts:2"]);
  });
});

// The walls as a picture, written down apart from the table so that a slip in the table is seen: o may, . may not.
const COLUMNS = [
  "src/core/check.ts",
  "src/lib/log.ts",
  "src/contract/check.ts",
  "src/store/db.ts",
  "src/store/transaction.ts",
  "src/intake/intake.ts",
  "src/channels/channel.ts",
  "src/operations/record-signals.ts",
  "src/services/ping/server.ts",
  "src/services/api/app.ts",
  "src/services/web/app.ts",
  "src/client/client.ts",
  "src/config.ts",
  "src/cli/commands.ts",
  "src/roles.ts",
  "src/main.ts",
  "src/contract/web/row.ts",
  "web/main.tsx",
];

const WALLS: [string, string][] = [
  ["src/core/planted.ts", "o................."],
  ["src/lib/planted.ts", ".o................"],
  ["src/contract/planted.ts", "o.o..............."],
  ["src/store/planted.ts", "oo.o.............."],
  ["src/intake/planted.ts", "oo...o............"],
  ["src/channels/planted.ts", "oo....o..........."],
  ["src/operations/planted.ts", "oo.oo..o.........."],
  ["src/services/ping/planted.ts", "oo.o.o.oo........."],
  ["src/services/api/planted.ts", "oooo.ooo.o......o."],
  ["src/services/web/planted.ts", "oooo.ooo..o.....o."],
  ["src/client/planted.ts", "..o........o......"],
  ["src/config/planted.ts", "oo..........o....."],
  ["src/cli/planted.ts", "oooo.ooo...ooo..o."],
  ["src/roles.ts", "oooo.oooooo.o...o."],
  ["src/main.ts", "oooo.ooo....ooo.o."],
  ["src/contract/web/planted.ts", "o.o.............o."],
  ["web/planted.tsx", "................oo"],
];

describe("The walls", () => {
  test.each(WALLS)("of %s stand at %s", (from, picture) => {
    const seen = COLUMNS.map((to) => {
      const path = relative(dirname(from), to).replace(/^(?!\.)/, "./");
      const tree = overlay(house, { [from]: `// A planted file.\nimport { a } from "${path}";\n` });
      return checkImports(tree).findings.length === 0 ? "o" : ".";
    });
    expect(seen.join("")).toBe(picture);
  });

  test("are explained with every violation", () => {
    const tree = overlay(house, {
      "src/core/planted.ts": '// Planted.\nimport { log } from "../lib/log.ts";\n',
    });
    expect(judge(ruleNamed("imports"), tree).map(formatFinding)).toEqual([
      `src/core/planted.ts:2 core may not import src/lib/log.ts. ${roomOf("src/core/a.ts")?.why}`,
    ]);
  });
});
