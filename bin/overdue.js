#!/usr/bin/env node
// The command as npm installs it. Plain JavaScript that old versions of Node can read, so that they are told
// what is the matter instead of failing on a word they do not know. Everything else is in dist/main.js.
const OLDEST = [24, 18];

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
  process.stderr.write(
    `overdue: This is Node ${process.versions.node}, and Overdue needs ${OLDEST.join(".")} or later.\n` +
      "Install the current long-term release from https://nodejs.org, and run the command again.\n",
  );
  process.exitCode = 2;
} else {
  import("../dist/main.js").catch(function (error) {
    if (error.code !== "ERR_MODULE_NOT_FOUND" || !String(error.message).includes("dist/main.js")) throw error;
    process.stderr.write("overdue: This checkout has not been built. Run `npm run build` first.\n");
    process.exitCode = 2;
  });
}
