// A receiver that keeps incidents by key, as services for on-call teams do.
import { type Answer, type Received, type Receiver, startReceiver } from "./receiver.ts";

export type IncidentReceiver = Receiver & {
  /** Open incidents by their keys, with their severities in the words of the service. */
  incidents: Map<string, string>;
  /** Keys of closing requests that named no open incident. */
  unmatched: string[];
};

/** What a request does. With problems it does nothing, and `refused` is the response. */
export type IncidentRequest = {
  key: string;
  action: "open" | "close";
  severity?: string;
  problems: readonly string[];
  accepted: Answer;
  refused: Answer;
};

/** `read` returns a response alone for requests that the service rejects before it reads them. */
export async function startIncidentReceiver(
  read: (request: Received) => IncidentRequest | Answer,
): Promise<IncidentReceiver> {
  const incidents: IncidentReceiver["incidents"] = new Map();
  const unmatched: string[] = [];
  const receiver = await startReceiver((request) => {
    const found = read(request);
    if (!("key" in found))
      return { answer: found, problems: [`${request.path} is answered ${found.status}`] };
    const { key, action, severity = "", accepted, refused } = found;
    const problems = [
      ...found.problems,
      ...(key === "" || key.length > 512 ? ["the key is not 1 to 512 characters"] : []),
    ];
    if (problems.length > 0) return { answer: refused, problems };
    if (action === "open") incidents.set(key, severity);
    else if (!incidents.delete(key)) unmatched.push(key);
    return { answer: accepted };
  });
  return { ...receiver, incidents, unmatched };
}
