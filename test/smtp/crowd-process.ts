// A crowd of connections that bring nothing, in a process of its own: most are silent, some drip a byte at a time into a
// message that never ends. Each that is closed is opened again. It says how many it has opened, and stays until killed.
import { connect } from "node:net";

const [port = "0", wanted = "0"] = process.argv.slice(2);
const COUNT = Number(wanted);
/** So many come from one address of the loopback network. */
const PER_ADDRESS = 50;
const OPENED_AT_A_TIME = 200;
const DRIP_MS = 500;
const DRIP_EVERY = 10;
let opened = 0;

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
    setTimeout(() => open(index), DRIP_MS);
  });
}

let next = 0;
const timer = setInterval(() => {
  for (let at = 0; at < OPENED_AT_A_TIME && next < COUNT; at += 1) open(next++);
  if (next < COUNT || opened < COUNT) return;
  clearInterval(timer);
  process.stdout.write(`opened ${opened}\n`);
}, 50);
