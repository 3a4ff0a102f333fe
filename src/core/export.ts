// Checks in the form that the API of Healthchecks accepts: a way back, or to another installation.
import type { CheckSettings } from "./check.ts";

/** A request to create a check, or to update the one with the same slug or name. */
export type ExportedCheck = {
  name: string;
  slug: string;
  tags: string;
  desc: string;
  timeout?: number;
  schedule?: string;
  tz?: string;
  grace: number;
  manual_resume: boolean;
  methods: string;
  start_kw: string;
  success_kw: string;
  failure_kw: string;
  filter_subject: boolean;
  filter_body: boolean;
  filter_http_body: boolean;
  filter_default_fail: boolean;
  /** Names, separated by commas. */
  channels: string;
  unique: ("name" | "slug")[];
};

export type ToExport = { settings: CheckSettings; channelNames: readonly string[] };

export type Exported = {
  checks: ExportedCheck[];
  /** What does not fit, as sentences. */
  notes: string[];
};

/** The requests for checks of one project. */
export function exportChecks(checks: readonly ToExport[]): Exported {
  const slugs = countsOf(checks.map(({ settings }) => settings.slug));
  const names = countsOf(checks.map(({ settings }) => settings.name));
  const notes: string[] = [];
  const exported = checks.map(({ settings, channelNames }): ExportedCheck => {
    const { name, slug, kind, schedule, tz } = settings;
    const bySlug = slug !== "" && slugs.get(slug) === 1;
    const byName = name !== "" && names.get(name) === 1;
    if (!bySlug && !byName) {
      notes.push(
        `"${name || slug}" shares its name and slug with another check, so each export creates it again.`,
      );
    }
    const usable = channelNames.filter((one) => one !== "" && !one.includes(","));
    if (usable.length < channelNames.length) {
      notes.push(`"${name || slug}" uses channels without a name, or with a comma in it. They are left out.`);
    }
    if (settings.rules !== null) {
      notes.push(`"${name || slug}" has an alert policy, which Healthchecks does not have.`);
    }
    return {
      name,
      slug,
      tags: settings.tags,
      desc: settings.desc,
      ...(kind === "simple" ? { timeout: settings.timeoutSeconds } : { schedule, tz }),
      grace: settings.graceSeconds,
      manual_resume: settings.manualResume,
      methods: settings.methods,
      start_kw: settings.startKw,
      success_kw: settings.successKw,
      failure_kw: settings.failureKw,
      filter_subject: settings.filterSubject,
      filter_body: settings.filterBody,
      filter_http_body: settings.filterHttpBody,
      filter_default_fail: settings.filterDefaultFail,
      channels: [...new Set(usable)].join(","),
      unique: bySlug ? ["slug"] : byName ? ["name"] : [],
    };
  });
  return { checks: exported, notes };
}

function countsOf(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}

/** A request with those channels only that the other installation has exactly once; and the names of the others. */
export function withKnownChannels(
  check: ExportedCheck,
  known: readonly string[],
): { check: ExportedCheck; missing: string[] } {
  const counts = countsOf(known);
  const names = check.channels === "" ? [] : check.channels.split(",");
  const kept = names.filter((name) => counts.get(name) === 1);
  return {
    check: { ...check, channels: kept.join(",") },
    missing: names.filter((name) => counts.get(name) !== 1),
  };
}
