// The library's mail server by itself, in its own process: it accepts every message and discards it. Measures the cost
// of SMTP alone.
import { SMTPServer } from "smtp-server";

const server = new SMTPServer({
  authOptional: true,
  disabledCommands: ["AUTH", "STARTTLS"],
  disableReverseLookup: true,
  onData: (stream, _session, callback) => {
    stream.resume();
    stream.once("end", () => callback(null, "OK"));
  },
});
server.on("error", (error) => {
  // Disconnecting clients are normal; a port that is not available is fatal.
  if (!server.server.listening) throw error;
});
server.listen(Number(process.argv[2]), "127.0.0.1", () => console.log("ready"));
process.once("SIGTERM", () => process.exit(0));
