// A process that adds one known check, saves it and kills itself. Arguments: folder, UUID, instant.
import { openKnownChecks } from "../../../src/intake/known-checks.ts";

const [folder = "", uuid = "", now = "0"] = process.argv.slice(2);
const known = await openKnownChecks({ folder, now: Number(now) });
known.remember({ by: "uuid", uuid }, Number(now));
await known.save();
process.kill(process.pid, "SIGKILL");
