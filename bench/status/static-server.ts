// A minimal static file server in Node, in its own process: one file, read once, with the headers that a browser needs.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const [file = "", port = ""] = process.argv.slice(2);
const body = readFileSync(file);
const headers = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Encoding": "gzip",
  "Content-Length": body.length,
  "Cache-Control": "public, max-age=15",
  ETag: '"static"',
};
const server = createServer((request, response) => {
  if (request.url !== "/page") {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, headers);
  response.end(body);
});
server.listen(Number(port), "127.0.0.1", () => console.log("ready"));
process.once("SIGTERM", () => {
  server.close();
  server.closeAllConnections();
});
