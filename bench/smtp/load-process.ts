// The load, in its own process: connections that each send one message after the other, each message after the response
// to the one before it. Prints how many were accepted, and how many were not; a message without a response is an error.
import { readFileSync } from "node:fs";
import { mailClient } from "../../test/smtp/client.ts";

const [port = "0", connections = "1", seconds = "1", uuidsPath = "", domain = ""] = process.argv.slice(2);
const uuids = readFileSync(uuidsPath, "utf8").trim().split("\n");
const MESSAGE = Buffer.from(
  "From: root@web1.example.org (Cron Daemon)\r\nTo: root@web1.example.org\r\n" +
    "Subject: Cron <root@web1> /usr/local/bin/nightly\r\nMIME-Version: 1.0\r\n" +
    "Content-Type: text/plain; charset=UTF-8\r\nAuto-Submitted: auto-generated\r\n\r\n" +
    "rotated 14 logs, all of them completed\r\n".repeat(10),
);

/** Ten times the time that a busy machine needs. */
const ANSWER_MS_MAX = 30_000;

const clients = await Promise.all(
  Array.from({ length: Number(connections) }, () => mailClient({ port: Number(port) })),
);
const beganMs = performance.now();
const endMs = beganMs + Number(seconds) * 1_000;
const counts = { good: 0, other: 0 };
let lastResponseMs = beganMs;
const watch = setInterval(() => {
  if (performance.now() - lastResponseMs < ANSWER_MS_MAX) return;
  console.error(`no answer for ${ANSWER_MS_MAX / 1_000} s, after ${counts.good} good ones`);
  process.exit(1);
}, 1_000);
await Promise.all(
  clients.map(async (client, index) => {
    for (let turn = index; performance.now() < endMs; turn += clients.length) {
      const to = [`${uuids[turn % uuids.length]}@${domain}`];
      const answer = await client.send(MESSAGE, { to });
      lastResponseMs = performance.now();
      if (answer.startsWith("250")) counts.good += 1;
      else counts.other += 1;
    }
    client.close();
  }),
);
clearInterval(watch);
const tookSeconds = (performance.now() - beganMs) / 1_000;
console.log(JSON.stringify({ ...counts, perSecond: counts.good / tookSeconds }));
