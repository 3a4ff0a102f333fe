// The settings of a project, fetched once for the whole page; every change answers with them anew.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ProjectSettings } from "../../../src/contract/web/project-settings.ts";
import { get, send } from "../../api/api.ts";
import { toast } from "../../ui/toast.tsx";

export function useSettings(project: string) {
  return useQuery({
    queryKey: ["settings", project],
    queryFn: () => get<ProjectSettings>(`/projects/${project}/settings`),
  });
}

/** Something to be changed: what is asked, and the sentence once it is done. */
export type Change = {
  method: "POST" | "PATCH" | "DELETE";
  /** Behind the address of the project: "/keys/7". */
  path: string;
  body?: unknown;
  says: string;
  undo?: Change;
};

/** Sends changes that answer with the settings. Each part of the page has its own, so that only its button waits. */
export function useChange(project: string) {
  const keep = useKeep(project);
  const ask = ({ method, path, body }: Change) =>
    send<ProjectSettings>(method, `/projects/${project}${path}`, body);
  return useMutation({
    mutationFn: ask,
    onSuccess: (settings, { says, undo }) => {
      keep(settings);
      const takeBack = undo === undefined ? {} : { undo: async () => keep(await ask(undo)) };
      toast({ text: says, ...takeBack });
    },
  });
}

/** Shows settings that came with another answer. */
export function useKeep(project: string): (settings: ProjectSettings) => void {
  const client = useQueryClient();
  return (settings) => {
    client.setQueryData(["settings", project], settings);
    void client.invalidateQueries({ queryKey: ["record"] });
  };
}
