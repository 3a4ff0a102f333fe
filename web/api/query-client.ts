// The cache of answers: what was fetched stays shown while it is fetched again, and what failed because nobody
// answered is tried again, what was refused is not.
import { QueryClient } from "@tanstack/react-query";
import { Trouble } from "./api.ts";

const FRESH_MS = 15_000;
const TRIES_MAX = 3;
const SERVER_FAULT = 500;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: FRESH_MS,
      retry: (failures, error) =>
        failures < TRIES_MAX &&
        !(error instanceof Trouble && error.status > 0 && error.status < SERVER_FAULT),
    },
    mutations: { retry: false },
  },
});
