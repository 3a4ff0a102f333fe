// Planted fault: commits are confirmed before they are on disk. Killing a process cannot reveal that, because the
// system still has the data; tracing system calls can.
import { rewriteQueries } from "./rewritten-query.ts";

rewriteQueries((query) =>
  query.text === "begin" ? { ...query, text: "begin; set local synchronous_commit = off" } : query,
);
