// A crowd of connections that bring nothing, in a process of its own: most are silent, some drip a byte at a time into a
// message that never ends. Each that is closed is opened again. It says how many it has opened, and stays until killed.
import { connect } from "node:net";

const [port = "0", wanted = "0"] = process.argv.slice(2);
const COUNT = Number(wanted);
/** So many come from one address of the loopback network. */
const PER_ADDRESS = 50;
/** So many are opened at a time, and no more, or the crowd would fight for the processor instead of for connections. */
const OPENED_AT_A_TIME = 200;
const OPEN_EVERY_MS = 50;
const DRIP_MS = 500;
const DRIP_EVERY = 10;
let opened = 0;
/** Those that are to be opened, for the first time or again. */
const waiting = Array.from({ length: COUNT }, (_, index) => index);

function open(index: number): void {
  const place = Math.floor(index / PER_ADDRESS);
  const localAddress = `127.1.${Math.floor(place / 250)}.${(place % 250) + 1}`;
  const socket = connect({ host: "127.0.0.1", port: Number(port), localAddress });
  let drip: NodeJS.Timeout | undefined;
  socket.on("connect", () => {
    opened += 1;
    if (index % DRIP_EVERY !== 0) return;
    setTimeout(() => socket.write("EHLO x\r\nMAIL FROM:<a@b.example>\r\n"), DRIP_MS);
    drip = setInterval(() => socket.write("N"), DRIP_MS);
  });
  socket.on("data", () => {});
  socket.on("error", () => {});
  socket.on("close", () => {
    clearInterval(drip);
    setTimeout(() => waiting.push(index), DRIP_MS);
  });
}

let isTold = false;
setInterval(() => {
  for (const index of waiting.splice(0, OPENED_AT_A_TIME)) open(index);
  if (isTold || opened < COUNT) return;
  isTold = true;
  process.stdout.write(`opened ${opened}\n`);
}, OPEN_EVERY_MS);
