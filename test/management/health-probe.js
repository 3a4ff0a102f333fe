// Asks /healthz every 20 ms from a process of its own and prints how long the answers took, in ms, when it is told to end.
const [, , url] = process.argv;
const took = [];
const life = { isEnded: false };
process.stdin.on("data", () => {
  life.isEnded = true;
});
while (!life.isEnded) {
  const startedMs = performance.now();
  const response = await fetch(url);
  await response.arrayBuffer();
  if (response.status !== 200) throw new Error(`healthz answered ${response.status}`);
  took.push(Math.round(performance.now() - startedMs));
  await new Promise((resolve) => {
    setTimeout(resolve, 20);
  });
}
console.log(JSON.stringify(took));
process.exit(0);
