/** Closes a run with `N passed, N failed, N skipped` on a line of its own, for whoever reads the log by machine. */
export default class SummaryReporter {
  onRunComplete(_contexts, results) {
    // A file that did not even load has no failed test in it, and is still a failure.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    const skipped = results.numPendingTests + results.numTodoTests;
    process.stdout.write(`\n${results.numPassedTests} passed, ${failed} failed, ${skipped} skipped\n`);
  }
}
