// A process whose intake can acknowledge nothing while more signals wait than fit into a batch. Prints their
// outcomes. Argument: "no-spool" or "full-spool".
import { scripted, words } from "../scripted-ports.ts";

const spoolless = process.argv[2] === "no-spool";
const { intake, ping, database, spool } = scripted({ spoolless });
database.behaviour = "away";
spool.isFull = true;
const refused = await Promise.all(words(1, 1_200).map((word) => ping(word)));
console.log(`refused ${refused.filter((kind) => kind === "busy").length}`);
database.behaviour = "answers";
spool.isFull = false;
while (intake.state().isSpooling) await new Promise((resolve) => setTimeout(resolve, 10));
console.log(`then ${await ping("later")}`);
