// The body of a process that looks for orphans in a folder again and again and lets go of what it finds, for
// tests of what happens to a file that is looked at while it is made. Argument: the folder.
import { adoptSpoolFile, spoolNames } from "../../../src/intake/spool/folder.ts";

const [folder = ""] = process.argv.slice(2);
/** To it every file seems old, so that it does not spare the ones that are just being made. */
const TOMORROW = Date.now() + 86_400_000;
process.stdout.write("looking\n");
for (;;) {
  for (const name of spoolNames(folder)) {
    const adoption = adoptSpoolFile({ folder, name, now: TOMORROW });
    if (adoption.kind === "adopted") adoption.file.close();
  }
}
