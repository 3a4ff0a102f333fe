// A process that repeatedly searches for orphans in a folder and releases what it finds, for tests of files that are
// inspected while they are created. Argument: the folder.
import { adoptSpoolFile, spoolNames } from "../../../src/intake/spool-file.ts";

const [folder = ""] = process.argv.slice(2);
/** To it every file seems old, so that it does not skip files that are being created. */
const TOMORROW = Date.now() + 86_400_000;
process.stdout.write("looking\n");
for (;;) {
  for (const name of spoolNames(folder)) {
    const adoption = adoptSpoolFile({ folder, name, now: TOMORROW });
    if (adoption.kind === "adopted") adoption.file.close();
  }
}
