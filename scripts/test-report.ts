// Reads the report that vitest writes, for `npm run check`: how many tests there were, which failed and how. It is
// strict on purpose: every problem without a failed test also counts as a failure.

export type Count = { passed: number; failed: number; skipped: number };

export const NO_TESTS: Count = { passed: 0, failed: 0, skipped: 0 };

type Report = { testResults: FileResult[] };
type FileResult = { name: string; status: string; message: string; assertionResults: TestResult[] };
type TestResult = { fullName: string; status: string; failureMessages: string[] };

/**
 * How many tests passed, failed and were skipped. At least one failure is counted when there is no report,
 * when no test ran, and when the runner ended badly although no test failed (a leak, a set-up that broke).
 */
export function countTests({ report, exitCode }: { report: string | null; exitCode: number }): Count {
  const count: Count = { ...NO_TESTS };
  for (const file of filesOf(report)) {
    for (const { status } of file.assertionResults) {
      if (status === "passed") count.passed += 1;
      else if (status === "failed") count.failed += 1;
      else count.skipped += 1;
    }
    // A file that cannot be loaded has no tests in the report, but it has failed.
    if (file.status === "failed" && !file.assertionResults.some(hasFailed)) count.failed += 1;
  }
  const ranNothing = count.passed + count.failed === 0;
  if (count.failed === 0 && (ranNothing || exitCode !== 0)) count.failed = 1;
  return count;
}

/** One line for each failure: file, test, and the first line of the error. */
export function failureLines(report: string | null): string[] {
  return filesOf(report)
    .filter(({ status }) => status === "failed")
    .flatMap((file) => {
      const failed = file.assertionResults.filter(hasFailed);
      if (failed.length === 0) return [`${file.name}: ${firstLine(file.message)}`];
      return failed.map(
        ({ fullName, failureMessages }) => `${file.name} > ${fullName}: ${firstLine(failureMessages[0])}`,
      );
    });
}

const filesOf = (report: string | null): FileResult[] =>
  report === null ? [] : (JSON.parse(report) as Report).testResults;

const hasFailed = ({ status }: TestResult): boolean => status === "failed";

const firstLine = (text: string | undefined): string => text?.split("\n", 1)[0] || "no reason in the report";
