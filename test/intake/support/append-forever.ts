// A process that appends to a spool and prints the number of every acknowledged batch, for tests that kill it.
// Arguments: folder, intake ID, batches at a time, and the total number.
import { SpoolError } from "../../../src/intake/spool.ts";
import { openSpool } from "../../../src/intake/spool.ts";
import { batchOf } from "./batches.ts";

const [folder = "", intakeId = "", lanes = "1", batchesMax = "Infinity"] = process.argv.slice(2);
const spool = await openSpool({ folder, intakeId, bytesMax: 1e9, freeDiskBytesMin: 0 });
process.stdout.write("open\n");
let lastSeq = 0;

async function appendOnAndOn(): Promise<void> {
  while (lastSeq < Number(batchesMax)) {
    lastSeq += 1;
    const seq = lastSeq;
    await spool.append(batchOf({ intakeId, seq, signalCount: 5, bodyBytes: 700 }));
    process.stdout.write(`${seq}\n`);
  }
}

try {
  await Promise.all(Array.from({ length: Number(lanes) }, appendOnAndOn));
} catch (error) {
  if (!(error instanceof SpoolError)) throw error;
  process.stdout.write(`refused ${error.reason} ${JSON.stringify(spool.state().failed)}\n`);
  const again = await spool
    .append(batchOf({ intakeId, seq: lastSeq + 1 }))
    .catch((second: unknown) => second);
  process.stdout.write(`again ${again instanceof SpoolError ? again.reason : "taken"}\n`);
  const oldest = await spool.oldest();
  process.stdout.write(`oldest ${oldest?.seq}\n`);
}
await spool.close();
