// Runs scenarios one after the other and adds up their results. Prints only progress.
import { addTallies, type Figures, NO_TALLY, type Run, type Scenario, type Tally } from "./scenario.ts";

export type Report = {
  tally: Tally;
  /** By scenario, prefixed with its name and a dot. */
  figures: Figures;
  /** One sentence for each violation. */
  complaints: string[];
  /** Scenarios that could not be run, with the reason. */
  skipped: string[];
};

/** A scenario that throws is a complaint, and the others still run. */
export async function runScenarios(scenarios: readonly Scenario[], run: Run): Promise<Report> {
  const report: Report = { tally: NO_TALLY, figures: {}, complaints: [], skipped: [] };
  for (const scenario of scenarios) {
    const say = (text: string) => run.say(`${scenario.name}: ${text}`);
    say(scenario.about);
    const beganMs = performance.now();
    try {
      const result = await scenario.run({ ...run, say });
      if ("skipped" in result) {
        say(`skipped: ${result.skipped}`);
        report.skipped.push(`${scenario.name}: ${result.skipped}`);
        continue;
      }
      const seconds = Math.round((performance.now() - beganMs) / 1_000);
      Object.assign(report.figures, named(scenario.name, { ...result.tally, ...result.figures, seconds }));
      report.tally = addTallies(report.tally, result.tally);
      for (const complaint of result.complaints) {
        say(`VIOLATED: ${complaint}`);
        report.complaints.push(`${scenario.name}: ${complaint}`);
      }
      say(`${describeTally(result.tally)}; ${describeFigures(result.figures)}; ${seconds} s`);
    } catch (error) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      say(`FAILED: ${text}`);
      report.complaints.push(`${scenario.name}: failed: ${text.split("\n")[0]}`);
    }
  }
  return report;
}

export function describeTally(tally: Tally): string {
  return Object.entries(tally)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");
}

function describeFigures(figures: Figures): string {
  return Object.entries(figures)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");
}

function named(name: string, figures: Figures): Figures {
  return Object.fromEntries(Object.entries(figures).map(([key, value]) => [`${name}.${key}`, value]));
}
