// Counts tests from the report that vitest writes, for the last line of `npm run check`. It is suspicious on
// purpose: whatever went wrong without a failed test still counts as a failure.

export type Count = { passed: number; failed: number; skipped: number };

export const NO_TESTS: Count = { passed: 0, failed: 0, skipped: 0 };

type Report = {
  testResults: { status: string; assertionResults: { status: string }[] }[];
};

/**
 * How many tests passed, failed and were skipped. At least one failure is counted when there is no report,
 * when no test ran, and when the runner ended badly although no test failed (a leak, a set-up that broke).
 */
export function countTests({ report, exitCode }: { report: string | null; exitCode: number }): Count {
  const count: Count = { ...NO_TESTS };
  const files = report === null ? [] : (JSON.parse(report) as Report).testResults;
  for (const file of files) {
    for (const { status } of file.assertionResults) {
      if (status === "passed") count.passed += 1;
      else if (status === "failed") count.failed += 1;
      else count.skipped += 1;
    }
    // A file that cannot be loaded has no tests in the report, but it has failed.
    const hasFailedTest = file.assertionResults.some(({ status }) => status === "failed");
    if (file.status === "failed" && !hasFailedTest) count.failed += 1;
  }
  const ranNothing = count.passed + count.failed === 0;
  if (count.failed === 0 && (ranNothing || exitCode !== 0)) count.failed = 1;
  return count;
}
