// Planted fault: commits are confirmed before they are on disk. No kill of a process can show that, since the
// system still has them; only watching the system calls can.
import { rewriteQueries } from "./rewritten-query.ts";

rewriteQueries((query) =>
  query.text === "begin" ? { ...query, text: "begin; set local synchronous_commit = off" } : query,
);
