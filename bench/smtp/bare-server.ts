// The library's mail server by itself, as a process of its own: it takes every message and throws it away. What it
// takes is SMTP alone.
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
  // Clients that go away are everyday; a port that cannot be had is the end.
  if (!server.server.listening) throw error;
});
server.listen(Number(process.argv[2]), "127.0.0.1", () => console.log("ready"));
process.once("SIGTERM", () => process.exit(0));
